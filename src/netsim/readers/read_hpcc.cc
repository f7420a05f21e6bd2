// HPCC's ns-3, and SimAI's, which is derived from it. Flows: the count, then "src dst pg dport size start_s". Topology:
// "nodes switches links" (SimAI: "nodes gpus_per_server nvswitches switches links gpu"), the ids of the switches, then
// "src dst rate delay error_rate".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "netsim/readers/flow_rows.h"
#include "netsim/readers/read_simulators.h"

namespace weft::netsim {

namespace {

constexpr std::int64_t kLatestStart = 1'000'000'000'000'000'000;  // picoseconds: 11 days
constexpr std::int64_t kLongestDelay = 1'000'000'000'000;         // picoseconds: 1 s
constexpr std::int64_t kHighestRate = 1'000'000'000'000'000;      // 1 Pb/s

struct Unit {
  std::string_view name;
  int scale;         // power of ten
  int multiply = 1;  // then times this
};
// As ns-3 spells them, longest first: "b/s" is also the end of "Gb/s".
constexpr std::array kRates = {Unit{"Gbps", 9},    Unit{"Gb/s", 9},    Unit{"Mbps", 6},    Unit{"Mb/s", 6},
                               Unit{"Kbps", 3},    Unit{"kbps", 3},    Unit{"Kb/s", 3},    Unit{"kb/s", 3},
                               Unit{"Tbps", 12},   Unit{"Tb/s", 12},   Unit{"GBps", 9, 8}, Unit{"GB/s", 9, 8},
                               Unit{"MBps", 6, 8}, Unit{"MB/s", 6, 8}, Unit{"bps", 0},     Unit{"b/s", 0}};
constexpr std::array kTimes = {Unit{"ms", 9}, Unit{"us", 6}, Unit{"ns", 3}, Unit{"ps", 0}, Unit{"s", 12}};

// A decimal number with a unit, in bits per second or picoseconds; nothing if it is neither.
template <class Units>
std::optional<std::int64_t> with_unit(std::string_view text, const Units& units, std::int64_t most) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto value = scaled_decimal(text.substr(0, text.size() - unit.name.size()), unit.scale);
    if (!value || *value > most / unit.multiply) return std::nullopt;
    return *value * unit.multiply;
  }
  return std::nullopt;
}

class FlowReader {
 public:
  FlowReader(const Sources& sources, FileId file, const Network& network, Diagnostics& diagnostics)
      : lines_(sources, file, diagnostics, '\0'), hosts_(lines_, network, true) {}

  std::optional<TransferGraph> read() {
    if (!lines_.next_line()) {
      if (!lines_.failed()) lines_.error({{}, 1, 1}, "the file has no flows");
      return std::nullopt;
    }
    const Word count_word = lines_.peek();
    const auto count = lines_.integer("the number of flows", 1, kMaxFlows);
    if (!count || !lines_.ends_here()) return std::nullopt;
    std::int64_t seen = 0;
    for (; seen < *count && lines_.next_line(); ++seen) read_flow();
    if (!lines_.failed() && seen < *count) {
      lines_.error(count_word, fmt::format("the file announces {} flows but has {}", *count, seen));
    }
    if (lines_.failed()) return std::nullopt;
    if (lines_.next_line())
      lines_.warning(lines_.peek(), fmt::format("ignored: the file announces only {} flows", *count));
    return std::move(graph_);
  }

 private:
  void read_flow() {
    Transfer transfer;
    if (!hosts_.read_pair(transfer)) return;
    if (!lines_.integer("the priority group", 0, 7)) return;
    if (!lines_.integer("the destination port", 0, 65'535)) return;
    const auto bytes = lines_.integer("the size in bytes", 1, kMaxFlowBytes);
    if (!bytes) return;
    const auto start = lines_.decimal(lines_.word(), "the start in seconds", 12, kLatestStart);
    if (!start || !lines_.ends_here()) return;
    transfer.bytes = Bytes(*bytes);
    transfer.start = picoseconds(*start);
    graph_.add(transfer);
  }

  LineReader lines_;
  HostColumns hosts_;
  TransferGraph graph_;
};

enum class Role : std::uint8_t { host, network_switch, nvswitch };

class TopologyFileReader {
 public:
  TopologyFileReader(const Sources& sources, FileId file, Diagnostics& diagnostics)
      : lines_(sources, file, diagnostics, '\0') {}

  std::optional<Network> read() {
    if (!lines_.next_line()) {
      if (!lines_.failed()) lines_.error({{}, 1, 1}, "the file is empty");
      return std::nullopt;
    }
    if (!read_header() || !read_switches() || !read_links()) return std::nullopt;
    return build();
  }

 private:
  struct Cable {
    std::uint32_t a;
    std::uint32_t b;
    std::int64_t rate;   // bits per second
    std::int64_t delay;  // picoseconds
  };

  bool read_header() {
    std::vector<Word> words;
    while (words.size() < 7 && !lines_.peek().text.empty()) words.push_back(lines_.word());
    const bool simai = words.size() == 6;
    if (words.size() != 3 && !simai) {
      lines_.error(words[0],
                   "expected `nodes switches links`, or `nodes gpus_per_server nvswitches switches links gpu`");
      return false;
    }
    const auto nodes = lines_.integer(words[0], "the number of nodes", 1, kMaxNodes);
    const auto per_server = simai ? lines_.integer(words[1], "the number of GPUs in a server", 1, kMaxNodes) : 1;
    const auto nvswitches = simai ? lines_.integer(words[2], "the number of NVSwitches", 0, kMaxNodes) : 0;
    const auto switches = lines_.integer(words[simai ? 3 : 1], "the number of switches", 0, kMaxNodes);
    const auto links = lines_.integer(words[simai ? 4 : 2], "the number of links", 0, kMaxLinks);
    if (!nodes || !per_server || !nvswitches || !switches || !links) return false;
    if (*switches + *nvswitches > *nodes) {
      lines_.error(words[0], fmt::format("{} nodes are fewer than the switches among them", *nodes));
      return false;
    }
    // This also bounds memory by the size of the file: every link is a line of it.
    if (*nodes > 2 * *links) {
      lines_.error(words[0], fmt::format("{} links cannot connect {} nodes", *links, *nodes));
      return false;
    }
    roles_.assign(static_cast<std::size_t>(*nodes), Role::host);
    per_server_ = *per_server;
    nvswitches_ = *nvswitches;
    switches_ = *switches;
    link_count_ = *links;
    count_place_ = words[simai ? 4 : 2];
    return true;
  }

  // NVSwitches first. The ids may span several lines.
  bool read_switches() {
    for (std::int64_t i = 0; i < nvswitches_ + switches_; ++i) {
      while (lines_.peek().text.empty()) {
        if (lines_.next_line()) continue;
        if (!lines_.failed()) lines_.expected("the id of another switch", lines_.line_end());
        return false;
      }
      const Word word = lines_.word();
      const auto id = node(word, "the id of a switch");
      if (!id) return false;
      if (roles_[*id] != Role::host) {
        lines_.error(word, fmt::format("node {} is already listed as a switch", *id));
        return false;
      }
      roles_[*id] = i < nvswitches_ ? Role::nvswitch : Role::network_switch;
    }
    return lines_.ends_here();
  }

  bool read_links() {
    std::int64_t seen = 0;
    for (; seen < link_count_ && lines_.next_line(); ++seen) read_link();
    if (!lines_.failed() && seen < link_count_) {
      lines_.error(count_place_, fmt::format("the file announces {} links but has {}", link_count_, seen));
    }
    if (lines_.failed()) return false;
    if (lines_.next_line()) {
      lines_.warning(lines_.peek(), fmt::format("ignored: the file announces only {} links", link_count_));
    }
    return true;
  }

  void read_link() {
    const auto a = node(lines_.word(), "a node's id");
    if (!a) return;
    const Word second = lines_.word();
    const auto b = node(second, "a node's id");
    if (!b) return;
    if (*a == *b) return lines_.error(second, fmt::format("a link from node {} to itself", *a));
    const Word rate_word = lines_.word();
    const auto rate = with_unit(rate_word.text, kRates, kHighestRate);
    if (!rate || *rate == 0) return lines_.expected("a rate such as `100Gbps`, at most 1 Pb/s", rate_word);
    const Word delay_word = lines_.word();
    const auto delay = with_unit(delay_word.text, kTimes, kLongestDelay);
    if (!delay) return lines_.expected("a delay such as `1us` or `0.001ms`, at most 1 s", delay_word);
    const Word error_word = lines_.word();
    const auto errors = lines_.decimal(error_word, "the error rate", 12, 1'000'000'000'000);
    if (!errors || !lines_.ends_here()) return;
    if (*errors > 0 && !warned_) {
      lines_.warning(error_word, "error rates in topology files are not supported", "set link errors with --errors");
      warned_ = true;
    }
    cables_.push_back({*a, *b, *rate, *delay});
  }

  std::optional<std::uint32_t> node(const Word& word, std::string_view what) {
    const auto id = lines_.integer(word, what, 0, static_cast<std::int64_t>(roles_.size()) - 1);
    return id ? std::optional(static_cast<std::uint32_t>(*id)) : std::nullopt;
  }

  // Switches next to hosts are tier 1, those next to them tier 2, and so on; an NVSwitch is tier 1.
  [[nodiscard]] std::vector<std::uint8_t> tiers() const {
    std::vector<std::uint32_t> offsets(roles_.size() + 1, 0);
    for (const Cable& cable : cables_) {
      ++offsets[cable.a + 1];
      ++offsets[cable.b + 1];
    }
    for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
    std::vector<std::uint32_t> neighbors(2 * cables_.size());
    std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
    for (const Cable& cable : cables_) {
      neighbors[next[cable.a]++] = cable.b;
      neighbors[next[cable.b]++] = cable.a;
    }
    constexpr std::uint8_t kUnknown = UINT8_MAX;
    std::vector<std::uint8_t> tier(roles_.size(), kUnknown);
    std::vector<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i] == Role::host) tier[i] = 0;
      if (roles_[i] == Role::nvswitch) tier[i] = 1;
      if (roles_[i] == Role::host) seen.push_back(i);
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      for (std::uint32_t at = offsets[seen[i]]; at < offsets[seen[i] + 1]; ++at) {
        const std::uint32_t other = neighbors[at];
        if (tier[other] != kUnknown) continue;
        tier[other] = static_cast<std::uint8_t>(std::min(tier[seen[i]] + 1, 254));
        seen.push_back(other);
      }
    }
    std::replace(tier.begin(), tier.end(), kUnknown, std::uint8_t{1});  // no host can reach it
    return tier;
  }

  // Nodes keep their ids, so that flow files that use them match: node n is NodeId n, "node17".
  Network build() {
    const std::vector<std::uint8_t> tier = tiers();
    const auto leaves = static_cast<std::uint32_t>(std::count(tier.begin(), tier.end(), std::uint8_t{1}));
    NetworkBuilder builder;
    std::uint32_t hosts = 0;
    std::uint32_t leaf = 0;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      Node node;
      node.tier = tier[i];
      node.scale_up = roles_[i] == Role::nvswitch;
      if (roles_[i] == Role::host) {
        node.group = static_cast<std::uint32_t>(hosts++ / per_server_);
      } else {
        node.kind = NodeKind::network_switch;
        node.group = tier[i] == 1 ? leaf++ : leaves;
      }
      builder.add_node(node, fmt::format("node{}", i));
    }
    for (const Cable& cable : cables_) {
      builder.connect(static_cast<NodeId>(cable.a), static_cast<NodeId>(cable.b), BitRate(cable.rate),
                      picoseconds(cable.delay));
    }
    return std::move(builder).finish();
  }

  LineReader lines_;
  std::vector<Role> roles_;
  std::vector<Cable> cables_;
  std::int64_t per_server_ = 1;
  std::int64_t nvswitches_ = 0;
  std::int64_t switches_ = 0;
  std::int64_t link_count_ = 0;
  Word count_place_;
  bool warned_ = false;
};

}  // namespace

std::optional<TransferGraph> read_hpcc_flows(const Sources& sources, FileId file, const Network& network,
                                             Diagnostics& diagnostics) {
  return FlowReader(sources, file, network, diagnostics).read();
}

std::optional<Network> read_hpcc_topology(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  return TopologyFileReader(sources, file, diagnostics).read();
}

}  // namespace weft::netsim
