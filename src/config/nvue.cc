// NVUE: both forms of a configuration, converted to commands.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nvue_reader.h"

namespace weft::config {
namespace nvue {

bool Command::is(std::size_t from, std::initializer_list<std::string_view> expected) const {
  for (const std::string_view word : expected) {
    if (at(from++) != word) return false;
  }
  return true;
}

Reader::Reader(const Sources& sources, FileId file, Diagnostics& diagnostics)
    : sources_(sources), file_(file), diagnostics_(diagnostics) {
  out_.dialect = Dialect::nvue;
  out_.file = file;
}

void Reader::warn(const SourceLocation& place, std::string message) { diagnostics_.warning(place, std::move(message)); }

// A profile that several ports name wrongly is read once per port; the error is reported once.
void Reader::error_once(const SourceLocation& place, std::string message) {
  if (reported_.insert(place).second) diagnostics_.error(place, std::move(message));
}

// Commands apply to ranges of interfaces and VLANs, so a hostile file could cause far more work than its size suggests.
bool Reader::spend(std::size_t work, const SourceLocation& place) {
  constexpr std::size_t kMaxWork = 20'000'000;
  if (work_ > kMaxWork) return false;
  work_ += work;
  if (work_ > kMaxWork) warn(place, "ranges in this file expand to too many items; the rest is ignored");
  return work_ <= kMaxWork;
}

bool Reader::is_on(std::string_view word) {
  return word.empty() || word == "on" || word == "enable" || word == "enabled" || word == "true" || word == "yes";
}

std::optional<std::int64_t> Reader::number(const Command& command, std::size_t word, std::int64_t low,
                                           std::int64_t high) {
  const auto value = parse_digits(command.at(word));
  if (value && *value >= low && *value <= high) return value;
  warn(command.place(word), fmt::format("{} is {}: expected a number between {} and {}",
                                        in_backticks(command.at(word - 1)), in_backticks(command.at(word)), low, high));
  return std::nullopt;
}

std::vector<int> Reader::list(const Command& command, std::size_t word, int low, int high) {
  auto numbers = parse_number_list(command.at(word), low, high);
  if (numbers) return std::move(*numbers);
  warn(command.place(word), fmt::format("{} is {}: expected numbers between {} and {}",
                                        in_backticks(command.at(word - 1)), in_backticks(command.at(word)), low, high));
  return {};
}

// "nv set ...", also after a prompt ("cumulus@leaf01:mgmt:~$ nv set ...").
bool Reader::read_commands() {
  lines_ = split_lines(sources_.text(file_), file_);
  bool any = false;
  for (ConfigLine& line : lines_) {
    if (line.text.front() == '#') continue;
    if (line.at(0) != "nv" && !line.at(0).empty() && (line.at(0).back() == '$' || line.at(0).back() == '#'))
      line.drop(1);
    if (line.at(0) != "nv") {
      out_.skipped += 1;
      continue;
    }
    if (line.at(1) != "set") continue;  // nv config apply, nv show
    any = true;
    Command command;
    for (std::size_t i = 2; i < line.size(); ++i) {
      if (line.words[i] == "#") break;
      command.words.push_back(line.words[i]);
      command.places.push_back(line.place(i));
    }
    take(command);
  }
  return any;
}

void Reader::flatten(const YamlNode& node, Command& path) {
  const auto with = [&](std::string_view word, const SourceLocation& place, const YamlNode* below) {
    path.words.push_back(word);
    path.places.push_back(place);
    if (below == nullptr) {
      take(path);
    } else {
      flatten(*below, path);
    }
    path.words.pop_back();
    path.places.pop_back();
  };
  if (node.kind == YamlNode::Kind::scalar) return with(node.scalar, node.place, nullptr);
  if (node.entries.empty() && node.items.empty()) return take(path);
  for (const YamlEntry& entry : node.entries) with(entry.key, entry.key_place, &entry.value);
  for (const YamlNode& item : node.items) flatten(item, path);
}

// - set:
//     system: {hostname: leaf01}
bool Reader::read_yaml() {
  auto root = parse_yaml(sources_, file_, diagnostics_);
  if (!root) return false;
  yaml_ = std::move(*root);
  bool any = false;
  const auto take_set = [&](const YamlNode& node) {
    const YamlNode* set = node.find("set");
    if (set == nullptr) return;
    any = true;
    Command path;
    flatten(*set, path);
  };
  take_set(yaml_);
  for (const YamlNode& item : yaml_.items) take_set(item);
  return any;
}

std::optional<SwitchConfig> Reader::read() {
  const std::string_view text = sources_.text(file_);
  const bool commands = text.find("nv set ") != std::string_view::npos;
  const std::size_t errors = diagnostics_.error_count();
  if (!(commands ? read_commands() : read_yaml()) || recognized_ == 0) {
    if (diagnostics_.error_count() == errors) {
      diagnostics_.error({file_, 0, 0}, "not an NVUE configuration: no `nv set` command and no `set` tree found");
    }
    return std::nullopt;
  }
  finish();
  return std::move(out_);
}

void Reader::take(const Command& command) {
  if (command.size() == 0) return;
  const std::uint32_t before = out_.skipped;
  const std::string_view first = command.at(0);
  if (first == "interface") {
    take_interface(command);
  } else if (first == "qos") {
    take_qos(command);
  } else if (first == "bridge") {
    take_bridge(command);
  } else if (first == "system") {
    take_system(command);
  } else if (first == "service") {
    take_service(command);
  } else if (first == "acl") {
    take_acl(command);
  } else if (first == "vrf") {
    take_vrf(command);
  } else if (first == "router" && command.at(1) == "bgp") {
    take_bgp(command, 2, {});
  } else if (first == "mlag") {
    take_mlag(command);
  } else {
    ++out_.skipped;
  }
  if (out_.skipped == before) ++recognized_;
}

void Reader::finish() {
  finish_interfaces();
  finish_acls();
  finish_bgp();
  finish_qos();
  for (const auto& [position, method] : order_) out_.management.aaa_methods.push_back(method);
  if (out_.management.aaa_methods.empty()) {
    out_.management.aaa_methods.push_back(
        vendor_default<std::string>("local", "Cumulus authenticates local users by default"));
  }
  if (!out_.management.lldp.known()) out_.management.lldp = vendor_default(true, "Cumulus runs lldpd by default");
  if (!out_.management.telnet.known()) out_.management.telnet = vendor_default(false, "Cumulus has no telnet server");
}

}  // namespace nvue

std::optional<SwitchConfig> read_nvue(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  return nvue::Reader(sources, file, diagnostics).read();
}

}  // namespace weft::config
