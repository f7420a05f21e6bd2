// htsim's topologies (.topo): two or three tiers of a fat tree, given by radices, speeds, latencies and bundles.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "netsim/readers/line_reader.h"
#include "netsim/readers/read_simulators.h"

namespace weft::netsim {

namespace {

constexpr std::int64_t kMaxRadix = 1'000'000;

using Key = std::size_t;  // index into kKeys
constexpr Key kSpeed = 0;
constexpr Key kRadixDown = 1;
constexpr Key kRadixUp = 2;
constexpr Key kLatency = 3;
constexpr Key kSwitchLatency = 4;
constexpr Key kOversubscribed = 5;
constexpr Key kBundle = 6;
constexpr Key kQueueUp = 7;
constexpr Key kQueueDown = 8;
constexpr std::size_t kTierKeys = 9;

struct TierKey {
  std::string_view name;  // in lower case, as htsim compares them
  std::string_view what;
  int scale;  // decimals kept
  std::int64_t least;
  std::int64_t most;
  std::int64_t fallback;
};
constexpr std::array<TierKey, kTierKeys> kKeys = {{
    {"downlink_speed_gbps", "the speed in Gb/s", 9, 1, 1'000'000'000'000'000, 0},
    {"radix_down", "the number of ports down", 0, 1, kMaxRadix, 0},
    {"radix_up", "the number of ports up", 0, 1, kMaxRadix, 0},
    {"downlink_latency_ns", "the latency of a link in nanoseconds", 3, 0, 1'000'000'000'000, 0},
    {"switch_latency_ns", "the latency of a switch in nanoseconds", 3, 0, 1'000'000'000'000, 0},
    {"oversubscribed", "the oversubscription, a whole number", 0, 1, kMaxRadix, 0},
    {"bundle", "the number of links in a bundle", 0, 1, kMaxRadix, 1},
    {"queue_up", "the size of a queue in bytes", 0, 1, 1'000'000'000'000, 0},
    {"queue_down", "the size of a queue in bytes", 0, 1, 1'000'000'000'000, 0},
}};

struct Tier {
  Word place;  // of its "Tier n"; line 0 if it is missing
  std::array<std::int64_t, kTierKeys> values{};
  std::array<Word, kTierKeys> places{};
  [[nodiscard]] std::int64_t operator[](Key key) const {
    return places[key].line > 0 ? values[key] : kKeys[key].fallback;
  }
  [[nodiscard]] bool has(Key key) const { return places[key].line > 0; }
};

class TopologyReader {
 public:
  TopologyReader(const Sources& sources, FileId file, Diagnostics& diagnostics)
      : lines_(sources, file, diagnostics, '#') {}

  std::optional<Network> read() {
    while (lines_.next_line()) read_line();
    if (!lines_.failed()) check();
    if (lines_.failed()) return std::nullopt;
    return build();
  }

 private:
  struct Header {
    std::string_view name;
    std::string_view what;
    std::int64_t most;
    std::int64_t value = 0;
    Word place;
  };

  void read_line() {
    const Word key = lines_.word();
    const std::string name = to_lower(key.text.substr(0, 64));
    const Word value = lines_.word();
    if (name == "tier") return begin_tier(key, value);
    const auto header = std::find_if(headers_.begin(), headers_.end(), [&](const Header& h) { return h.name == name; });
    if (header != headers_.end()) {
      if (!once(key, header->place)) return;
      const auto number = lines_.integer(value, header->what, 1, header->most);
      if (!number || !lines_.ends_here()) return;
      header->value = *number;
      header->place = value;
      return;
    }
    const auto found = std::find_if(kKeys.begin(), kKeys.end(), [&](const TierKey& k) { return k.name == name; });
    if (found == kKeys.end()) return unknown(key);
    if (tier_ == nullptr) return lines_.error(key, fmt::format("{} comes before the first `Tier`", quoted(key.text)));
    const auto index = static_cast<std::size_t>(found - kKeys.begin());
    if (!once(key, tier_->places[index])) return;
    const auto number = found->scale == 0 ? lines_.integer(value, found->what, found->least, found->most)
                                          : lines_.decimal(value, found->what, found->scale, found->most);
    if (!number || !lines_.ends_here()) return;
    if (*number < found->least) return lines_.error(value, fmt::format("{} must not be 0", found->what));
    tier_->values[index] = *number;
    tier_->places[index] = value;
  }

  void begin_tier(const Word& key, const Word& value) {
    const auto number = lines_.integer(value, "the number of the tier", 0, 2);
    if (!number || !lines_.ends_here()) return;
    Tier& tier = tiers_[static_cast<std::size_t>(*number)];
    if (!once(key, tier.place)) return;
    tier.place = key;
    tier_ = &tier;
  }

  bool once(const Word& key, const Word& before) {
    if (before.line == 0) return true;
    lines_.error(key, fmt::format("duplicate {}; first given on line {}", quoted(key.text), before.line));
    return false;
  }

  void unknown(const Word& key) {
    std::vector<std::string_view> names = {"nodes", "tiers", "podsize", "tier"};
    for (const TierKey& k : kKeys) names.push_back(k.name);
    lines_.error(key, fmt::format("unknown key {} of a topology", quoted(key.text)),
                 did_you_mean(to_lower(key.text.substr(0, 64)), names));
  }

  void check() {
    for (const Header& header : headers_) {
      if (header.place.line == 0) lines_.error({{}, 1, 1}, fmt::format("missing `{}`, {}", header.name, header.what));
    }
    if (lines_.failed()) return;
    count_ = static_cast<std::size_t>(headers_[kTiers].value);
    if (count_ == 1) return lines_.error(headers_[kTiers].place, "expected 2 or 3 tiers");
    for (std::size_t t = 0; t < count_; ++t) check_tier(t);
    if (!lines_.failed()) check_sizes();
  }

  void check_tier(std::size_t t) {
    const Tier& tier = tiers_[t];
    if (tier.place.line == 0) return lines_.error({{}, 1, 1}, fmt::format("missing `Tier {}`", t));
    const bool top = t + 1 == count_;
    for (const Key key : {kSpeed, kRadixDown, kRadixUp, kLatency}) {
      if (!tier.has(key) && !(top && key == kRadixUp)) {
        lines_.error(tier.place, fmt::format("tier {} has no `{}`, {}", t, kKeys[key].name, kKeys[key].what));
      }
    }
    if (top && tier.has(kRadixUp)) lines_.error(tier.places[kRadixUp], "the top tier cannot have uplinks");
  }

  // Sizes from the radices, tier by tier; every number that contradicts them is an error at its location.
  void check_sizes() {
    const Tier& tor = tiers_[0];
    const Tier& agg = tiers_[1];
    nodes_ = headers_[kNodes].value;
    const std::int64_t pod = headers_[kPodSize].value;
    if (nodes_ % pod != 0) return wrong(headers_[kPodSize].place, "Nodes is not a multiple of Podsize");
    pods_ = nodes_ / pod;
    if (count_ == 2 && pods_ > 1)
      return wrong(headers_[kPodSize].place, "with two tiers Podsize must be equal to Nodes");
    if (tor[kBundle] != 1) return wrong(tor.places[kBundle], "hosts have one link: the bundle of tier 0 must be 1");
    if (pod % tor[kRadixDown] != 0) return wrong(tor.places[kRadixDown], "Podsize is not a multiple of it");
    tors_ = pod / tor[kRadixDown];
    if (tor[kRadixUp] % agg[kBundle] != 0)
      return wrong(tor.places[kRadixUp], "it is not a multiple of the bundle above");
    aggs_ = tor[kRadixUp] / agg[kBundle];
    if (agg[kRadixDown] != tors_ * agg[kBundle]) {
      return wrong(agg.places[kRadixDown], fmt::format("expected {}: {} switches below with {} links each",
                                                       tors_ * agg[kBundle], tors_, agg[kBundle]));
    }
    if (!check_oversubscription(0)) return;
    if (count_ == 3 && !check_top()) return;
    const std::int64_t switches = pods_ * (tors_ + aggs_) + aggs_ * cores_;
    const std::int64_t links =
        nodes_ + pods_ * tors_ * tor[kRadixUp] + pods_ * aggs_ * (count_ == 3 ? agg[kRadixUp] : 0);
    if (nodes_ + switches > kMaxNodes || links > kMaxLinks) {
      wrong(headers_[kNodes].place, fmt::format("{} nodes and {} links exceed the maximum of {} and {}",
                                                nodes_ + switches, links, kMaxNodes, kMaxLinks));
    }
  }

  bool check_top() {
    const Tier& agg = tiers_[1];
    const Tier& core = tiers_[2];
    if (agg[kRadixUp] % core[kBundle] != 0) {
      wrong(agg.places[kRadixUp], "it is not a multiple of the bundle above");
      return false;
    }
    cores_ = agg[kRadixUp] / core[kBundle];
    if (core[kRadixDown] != pods_ * core[kBundle]) {
      wrong(core.places[kRadixDown],
            fmt::format("expected {}: {} pods below with {} links each", pods_ * core[kBundle], pods_, core[kBundle]));
      return false;
    }
    return check_oversubscription(1);
  }

  // Ratio of ports or of bandwidth, down to up: htsim means the first in tier 0 and the second in tier 1.
  bool check_oversubscription(std::size_t t) {
    const Tier& tier = tiers_[t];
    if (!tier.has(kOversubscribed)) return true;
    const std::int64_t said = tier[kOversubscribed];
    const bool ports = tier[kRadixDown] / tier[kRadixUp] == said;
    const auto down = static_cast<Uint128>(tier[kRadixDown]) * static_cast<Uint128>(tier[kSpeed]);
    const auto up = static_cast<Uint128>(tier[kRadixUp]) * static_cast<Uint128>(tiers_[t + 1][kSpeed]);
    if (ports || down == up * static_cast<Uint128>(said)) return true;
    wrong(tier.places[kOversubscribed],
          fmt::format("{} ports down and {} up are not {} to 1", tier[kRadixDown], tier[kRadixUp], said));
    return false;
  }

  void wrong(const Word& place, std::string message) { lines_.error(place, std::move(message)); }

  NodeId add_switch(std::size_t t, std::int64_t pod, std::string name) {
    const Tier& tier = tiers_[t];
    Node node;
    node.kind = NodeKind::network_switch;
    node.tier = static_cast<std::uint8_t>(t + 1);
    node.group = static_cast<std::uint32_t>(pod);
    const std::int64_t queues = tier[kQueueDown] * tier[kRadixDown] + tier[kQueueUp] * tier[kRadixUp];
    if (queues > 0) node.buffer = builder_.add_buffer({Bytes(queues), SwitchBuffer{}.cell});
    return builder_.add_node(node, std::move(name));
  }

  // Half of a switch's latency is added to each of its links, so every path through it has the whole.
  void connect(NodeId below, NodeId above, std::size_t t, std::int64_t links) {
    const Tier& tier = tiers_[t];
    const std::int64_t under = t > 0 ? tiers_[t - 1][kSwitchLatency] : 0;
    const SimTime delay = picoseconds(tier[kLatency] + (tier[kSwitchLatency] + under) / 2);
    for (std::int64_t i = 0; i < links; ++i) builder_.connect(below, above, BitRate(tier[kSpeed]), delay);
  }

  Network build() {
    builder_.add_buffer({});
    std::vector<NodeId> hosts;
    for (std::int64_t h = 0; h < nodes_; ++h) {
      Node node;
      node.group = static_cast<std::uint32_t>(h);
      hosts.push_back(builder_.add_node(node, fmt::format("host{}", h)));
    }
    const bool two = count_ == 2;
    std::vector<NodeId> tors;
    std::vector<NodeId> aggs;
    std::vector<NodeId> cores;
    for (std::int64_t t = 0; t < pods_ * tors_; ++t) {
      tors.push_back(add_switch(0, two ? t : t / tors_, fmt::format("{}{}", two ? "leaf" : "tor", t)));
    }
    for (std::int64_t a = 0; a < pods_ * aggs_; ++a) {
      aggs.push_back(add_switch(1, two ? tors_ : a / aggs_, fmt::format("{}{}", two ? "spine" : "agg", a)));
    }
    for (std::int64_t c = 0; c < aggs_ * cores_; ++c) cores.push_back(add_switch(2, pods_, fmt::format("core{}", c)));
    const auto at = [](const std::vector<NodeId>& nodes, std::int64_t i) { return nodes[static_cast<std::size_t>(i)]; };
    for (std::int64_t h = 0; h < nodes_; ++h) connect(at(hosts, h), at(tors, h / tiers_[0][kRadixDown]), 0, 1);
    for (std::int64_t t = 0; t < pods_ * tors_; ++t) {
      for (std::int64_t a = 0; a < aggs_; ++a) {
        connect(at(tors, t), at(aggs, t / tors_ * aggs_ + a), 1, tiers_[1][kBundle]);
      }
    }
    for (std::int64_t a = 0; a < pods_ * aggs_ && !two; ++a) {
      for (std::int64_t c = 0; c < cores_; ++c) {
        connect(at(aggs, a), at(cores, a % aggs_ * cores_ + c), 2, tiers_[2][kBundle]);
      }
    }
    return std::move(builder_).finish();
  }

  static constexpr std::size_t kNodes = 0;
  static constexpr std::size_t kTiers = 1;
  static constexpr std::size_t kPodSize = 2;

  LineReader lines_;
  std::array<Header, 3> headers_{{{"nodes", "the number of hosts", kMaxNodes, 0, {}},
                                  {"tiers", "the number of tiers", 3, 0, {}},
                                  {"podsize", "the number of hosts in a pod", kMaxNodes, 0, {}}}};
  std::array<Tier, 3> tiers_;
  Tier* tier_ = nullptr;
  std::size_t count_ = 0;  // of tiers
  std::int64_t nodes_ = 0;
  std::int64_t pods_ = 0;
  std::int64_t tors_ = 0;   // per pod
  std::int64_t aggs_ = 0;   // per pod
  std::int64_t cores_ = 0;  // per aggregation switch
  NetworkBuilder builder_;
};

}  // namespace

std::optional<Network> read_htsim_topology(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  return TopologyReader(sources, file, diagnostics).read();
}

}  // namespace weft::netsim
