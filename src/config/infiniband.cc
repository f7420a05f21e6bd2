// Readers for infiniband-diags output: ibnetdiscover and iblinkinfo (either form).
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "config/live_facts.h"
#include "config/live_text.h"

namespace weft::config {
namespace {

using live_text::Line;
using live_text::number_of;

constexpr int kMaxPort = 254;  // IBTA: port numbers are 8 bits, 255 is reserved

// The text between the first two quotation marks at or after `from`; advances `from` past it.
std::optional<std::string_view> quoted(std::string_view text, std::size_t& from) {
  const std::size_t first = text.find('"', from);
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t last = text.find('"', first + 1);
  if (last == std::string_view::npos) return std::nullopt;
  from = last + 1;
  return text.substr(first + 1, last - first - 1);
}

// "[12]" at `from`; advances `from` past it.
std::optional<int> bracketed(std::string_view text, std::size_t& from) {
  if (from >= text.size() || text[from] != '[') return std::nullopt;
  const std::size_t end = text.find(']', from);
  if (end == std::string_view::npos) return std::nullopt;
  const auto port = number_of<int>(trim(text.substr(from + 1, end - from - 1)));
  if (!port || *port < 0 || *port > kMaxPort) return std::nullopt;
  from = end + 1;
  return port;
}

// "4xNDR", the last word of an ibnetdiscover line.
void split_rate(std::string_view word, IbLink& link) {
  const std::size_t cross = word.find('x');
  if (cross == std::string_view::npos || !number_of<int>(word.substr(0, cross))) return;
  link.width = std::string(word.substr(0, cross + 1));
  link.speed = std::string(word.substr(cross + 1));
}

// Reads node by node; every link is listed at both ends and kept once.
class NetDiscover {
 public:
  explicit NetDiscover(IbFabric& fabric) : fabric_(fabric) {}

  void read(const std::vector<Line>& lines) {
    for (const Line& line : lines) read_header(line);
    current_ = IbEnd{};
    for (const Line& line : lines) {
      if (read_header(line)) continue;
      if (line.text.starts_with("[")) read_port(line);
    }
  }
  [[nodiscard]] bool any() const { return !names_.empty(); }

 private:
  // Switch	64 "S-0002"		# "be-leaf1" enhanced port 0 lid 2 lmc 0
  bool read_header(const Line& line) {
    const bool is_switch = line.text.starts_with("Switch");
    if (!is_switch && !line.text.starts_with("Ca\t") && !line.text.starts_with("Ca ") && !line.text.starts_with("Rt")) {
      return false;
    }
    std::size_t at = 0;
    const auto id = quoted(line.text, at);
    if (!id) return false;
    const auto name = quoted(line.text, at);
    current_ = IbEnd{std::string(name.value_or(std::string_view())), std::string(*id), is_switch, 0};
    names_.insert_or_assign(current_.guid, current_.node);
    return true;
  }

  // [1]	"H-0001"[1](100001) 		# "train001 mlx5_0" lid 1 4xNDR
  void read_port(const Line& line) {
    std::size_t at = 0;
    const auto port = bracketed(line.text, at);
    const auto far = quoted(line.text, at);
    if (!port || !far || current_.guid.empty()) return;
    const auto far_port = bracketed(line.text, at);
    if (!far_port) return;
    IbLink link;
    link.place = line.place;
    link.a = current_;
    link.a.port = *port;
    link.b = IbEnd{"", std::string(*far), far->starts_with("S-"), *far_port};
    const auto known = names_.find(link.b.guid);
    if (known != names_.end()) {
      link.b.node = known->second;
    } else if (const auto name = quoted(line.text, at)) {
      link.b.node = std::string(*name);
    }
    const auto words = split_at_spaces(line.text, kTabsAndSpaces);
    split_rate(words.back(), link);
    const auto key_a = std::pair(link.a.guid, link.a.port);
    const auto key_b = std::pair(link.b.guid, link.b.port);
    if (seen_.insert(std::minmax(key_a, key_b)).second) fabric_.links.push_back(std::move(link));
  }

  using Key = std::pair<std::string, int>;
  IbFabric& fabric_;
  IbEnd current_;
  std::map<std::string, std::string, std::less<>> names_;
  std::set<std::pair<Key, Key>> seen_;
};

// Name of the speed with this lane signaling rate in Gb/s, as printed by iblinkinfo.
std::string speed_name(std::string_view number) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kSpeeds = {{{"2.5", "SDR"},
                                                                                             {"5.0", "DDR"},
                                                                                             {"10.0", "QDR"},
                                                                                             {"10.3125", "FDR10"},
                                                                                             {"14.0625", "FDR"},
                                                                                             {"25.78125", "EDR"},
                                                                                             {"53.125", "HDR"},
                                                                                             {"106.25", "NDR"},
                                                                                             {"212.5", "XDR"},
                                                                                             {"200.0", "XDR"}}};
  for (const auto& [printed, name] : kSpeeds) {
    if (printed == number) return std::string(name);
  }
  return std::string(number);
}

// The part before or after the arrow: "0x0002 2 63[  ]"; GUID and LID may be missing.
struct LinkInfoEnd {
  std::string guid;
  std::int64_t lid = 0;
  int port = 0;
};

LinkInfoEnd read_end(std::string_view text) {
  LinkInfoEnd end;
  const std::size_t bracket = text.find('[');
  const auto words = split_at_spaces(text.substr(0, bracket), kTabsAndSpaces);
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : words) {
    if (word.starts_with("0x")) {
      end.guid = std::string(word);
    } else if (const auto number = number_of(word)) {
      numbers.push_back(*number);
    }
  }
  if (numbers.size() >= 2) end.lid = numbers[numbers.size() - 2];
  if (!numbers.empty() && numbers.back() >= 0 && numbers.back() <= kMaxPort)
    end.port = static_cast<int>(numbers.back());
  return end;
}

class LinkInfo {
 public:
  explicit LinkInfo(IbFabric& fabric) : fabric_(fabric) {}

  void read(const std::vector<Line>& lines) {
    for (const Line& line : lines) {
      if (!read_header(line)) read_row(line);
    }
    for (IbLink& link : fabric_.links) {
      link.a.is_switch = link.a.is_switch || is_switch(link.a);
      link.b.is_switch = is_switch(link.b);
    }
    for (IbEnd& end : fabric_.down) end.is_switch = end.is_switch || is_switch(end);
  }
  [[nodiscard]] bool any() const { return rows_ > 0; }

 private:
  // "Switch: 0x0002 be-leaf1:" or "CA: train001 mlx5_0:"
  bool read_header(const Line& line) {
    const bool is_switch = line.text.starts_with("Switch:");
    if (!is_switch && !line.text.starts_with("CA:") && !line.text.starts_with("Router:")) return false;
    std::string_view name = trim(line.text.substr(line.text.find(':') + 1));
    if (name.ends_with(":")) name.remove_suffix(1);
    current_ = IbEnd{};
    if (name.starts_with("0x")) {
      const std::size_t blank = name.find(' ');
      current_.guid = std::string(name.substr(0, blank));
      name = blank == std::string_view::npos ? std::string_view() : trim(name.substr(blank));
    }
    current_.node = std::string(name);
    current_.is_switch = is_switch;
    if (is_switch) switches_.insert(current_.node);
    return true;
  }

  void read_row(const Line& line) {
    const std::size_t open = line.text.find("==(");
    const std::size_t close = line.text.find(")==>");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
    ++rows_;
    IbLink link;
    link.place = line.place;
    std::string_view near = line.text.substr(0, open);
    link.a = current_;
    std::size_t at = 0;
    if (const auto name = quoted(near, at)) {  // --line: the name is in the row
      link.a = IbEnd{std::string(trim(*name)), std::string(trim(near.substr(0, near.find('"')))), false, 0};
      near.remove_prefix(at);
    }
    const LinkInfoEnd own = read_end(near);
    if (link.a.guid.empty()) link.a.guid = own.guid;
    link.a.port = own.port;
    read_state(line.text.substr(open + 3, close - open - 3), link);
    const std::string_view behind = line.text.substr(close + 4);
    at = 0;
    const auto far_name = quoted(behind, at);
    if (!link.up || !far_name || far_name->empty()) {
      fabric_.down.push_back(std::move(link.a));
      return;
    }
    const LinkInfoEnd far = read_end(behind);
    link.b = IbEnd{std::string(*far_name), far.guid, false, far.port};
    keep(std::move(link), own.lid, far.lid);
  }

  // " 4X  106.25 Gbps Active/  LinkUp" or "  Down/ Polling"
  static void read_state(std::string_view text, IbLink& link) {
    const auto words = split_at_spaces(text, kTabsAndSpaces);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (word.starts_with("Down")) link.up = false;
      if ((word.ends_with("X") || word.ends_with("x")) && number_of<int>(word.substr(0, word.size() - 1))) {
        link.width = std::string(word.substr(0, word.size() - 1)) + "x";
      }
      if (word == "Gbps" && i > 0) link.speed = speed_name(words[i - 1]);
    }
  }

  // LIDs are unique in a subnet, names need not be; before a subnet manager has run, all LIDs are 0.
  void keep(IbLink link, std::int64_t lid_a, std::int64_t lid_b) {
    const bool lids = lid_a > 0 && lid_b > 0;
    const auto key_a = std::tuple(lids ? lid_a : 0, lids ? std::string() : link.a.node, link.a.port);
    const auto key_b = std::tuple(lids ? lid_b : 0, lids ? std::string() : link.b.node, link.b.port);
    if (seen_.insert(std::minmax(key_a, key_b)).second) fabric_.links.push_back(std::move(link));
  }

  // With one line per link, only an adapter's name distinguishes it from a switch: it ends in a device name ("mlx5_0",
  // "HCA-1").
  [[nodiscard]] bool is_switch(const IbEnd& end) const {
    if (!switches_.empty()) return switches_.count(end.node) > 0;
    const auto words = split_at_spaces(end.node, kTabsAndSpaces);
    if (words.size() < 2) return true;
    return !words.back().starts_with("mlx") && !words.back().starts_with("HCA") && !words.back().starts_with("ib");
  }

  using Key = std::tuple<std::int64_t, std::string, int>;
  IbFabric& fabric_;
  IbEnd current_;
  std::size_t rows_ = 0;
  std::set<std::string, std::less<>> switches_;
  std::set<std::pair<Key, Key>> seen_;
};

}  // namespace

std::optional<IbFabric> read_ibnetdiscover(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  IbFabric fabric;
  fabric.file = file;
  fabric.format = "ibnetdiscover";
  NetDiscover reader(fabric);
  reader.read(live_text::lines_of(sources, file));
  if (reader.any()) return fabric;
  diagnostics.error(SourceLocation{file, 1, 1}, "no InfiniBand nodes found; expected output of `ibnetdiscover`");
  return std::nullopt;
}

std::optional<IbFabric> read_iblinkinfo(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  IbFabric fabric;
  fabric.file = file;
  fabric.format = "iblinkinfo";
  LinkInfo reader(fabric);
  reader.read(live_text::lines_of(sources, file));
  if (reader.any()) return fabric;
  diagnostics.error(SourceLocation{file, 1, 1}, "no InfiniBand ports found; expected output of `iblinkinfo`");
  return std::nullopt;
}

std::int64_t ib_rate_mbps(std::string_view width, std::string_view speed) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> kLane = {{{"SDR", 2'500},
                                                                                      {"DDR", 5'000},
                                                                                      {"QDR", 10'000},
                                                                                      {"FDR10", 10'000},
                                                                                      {"FDR", 14'000},
                                                                                      {"EDR", 25'000},
                                                                                      {"HDR", 50'000},
                                                                                      {"NDR", 100'000},
                                                                                      {"XDR", 200'000}}};
  const auto lanes = number_of(width.substr(0, width.find('x')));
  if (!lanes || *lanes < 1 || *lanes > 12) return 0;
  for (const auto& [name, rate] : kLane) {
    if (name == speed) return rate * *lanes;
  }
  return 0;
}

}  // namespace weft::config
