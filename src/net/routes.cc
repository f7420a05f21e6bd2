#include "net/flow_hash.h"
#include "net/route_tables.h"
#include "net/routing.h"

namespace weft::net {

namespace {

constexpr std::uint32_t kNotEndpoint = 0xFFFFFFFFU;

}  // namespace

struct Routes::Tables {
  Tables(const Network& net, const RoutingOptions& routing)
      : network(&net), options(routing), now(net, routing.up_down, routing.mode == RoutingMode::weighted) {
    const std::size_t count = net.nodes().size();
    seeds.reserve(count);
    for (std::size_t i = 0; i < count; ++i) seeds.push_back(seed_of(net, static_cast<NodeId>(i), routing));
    ordinal.assign(count, kNotEndpoint);
    for (std::size_t i = 0; i < net.endpoints().size(); ++i) {
      ordinal[index_of(net.endpoints()[i])] = static_cast<std::uint32_t>(i);
    }
    std::uint64_t product = 1;
    for (unsigned tier = 0; tier < divisors.size(); ++tier) {
      divisors[tier] = product;
      const std::uint64_t ups = now.graph().most_ups(tier);
      if (ups > 1 && product < (1ULL << 32U)) product *= ups;
    }
  }

  const Network* network;
  RoutingOptions options;
  RouteTables now;
  std::vector<std::uint64_t> seeds;           // by node
  std::vector<std::uint32_t> ordinal;         // by node: place among the endpoints
  std::array<std::uint64_t, 256> divisors{};  // by tier: product of the links up of the tiers below
  std::uint32_t epoch = 0;
};

Routes::Routes(const Network& network, RoutingOptions options) : tables_(new Tables(network, options)) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;
const RoutingOptions& Routes::options() const { return tables_->options; }
const Network& Routes::network() const { return *tables_->network; }

void Routes::prepare(std::span<const NodeId> destinations) {
  for (const NodeId destination : destinations) tables_->now.prepare(destination);
}

std::span<const LinkId> Routes::next_links(NodeId at, NodeId destination) const {
  return tables_->now.next_links(at, destination);
}

LinkId Routes::choose(NodeId at, LinkId ingress, const FlowKey& key) const {
  const std::span<const LinkId> links = next_links(at, key.destination);
  if (links.empty()) return kNone<LinkId>;
  if (links.size() == 1) return links.front();
  const Tables& t = *tables_;
  if (t.options.mode == RoutingMode::d_mod_k) {
    const std::uint64_t number = t.ordinal[index_of(key.destination)];
    return links[number / t.divisors[t.network->node(at).tier] % links.size()];
  }
  const std::uint32_t hash = flow_hash(key, t.options, t.seeds[index_of(at)], index_of(ingress));
  return links[hash % links.size()];
}

bool Routes::path(const FlowKey& key, std::vector<LinkId>& out) {
  out.clear();
  const std::size_t nodes = network().nodes().size();
  if (index_of(key.source) >= nodes || index_of(key.destination) >= nodes) return false;
  LinkId ingress = kNone<LinkId>;
  for (NodeId at = key.source; at != key.destination; at = network().link(ingress).to) {
    ingress = choose(at, ingress, key);
    if (ingress == kNone<LinkId> || out.size() > nodes) {
      out.clear();
      return false;
    }
    out.push_back(ingress);
  }
  return !out.empty();
}

void Routes::set_link(LinkId link, bool up) {
  if (tables_->now.set_link(link, up)) ++tables_->epoch;
}
bool Routes::is_up(LinkId link) const { return tables_->now.works(link); }
std::uint32_t Routes::epoch() const { return tables_->epoch; }

std::string_view to_text(RoutingMode mode) {
  switch (mode) {
    case RoutingMode::ecmp:
      return "ecmp";
    case RoutingMode::weighted:
      return "weighted";
    case RoutingMode::resilient:
      return "resilient";
    case RoutingMode::d_mod_k:
      return "d-mod-k";
    case RoutingMode::pinned:
      return "pinned";
    case RoutingMode::adaptive:
      return "adaptive";
    case RoutingMode::flowlet:
      return "flowlet";
    case RoutingMode::spray:
      return "spray";
  }
  return "?";
}

std::string_view to_text(HashFunction function) {
  switch (function) {
    case HashFunction::crc32:
      return "crc32";
    case HashFunction::crc16:
      return "crc16";
    case HashFunction::xor16:
      return "xor16";
    case HashFunction::toeplitz:
      return "toeplitz";
    case HashFunction::mix64:
      return "mix64";
  }
  return "?";
}

std::string_view to_text(HashSeeds seeds) {
  switch (seeds) {
    case HashSeeds::per_switch:
      return "per-switch";
    case HashSeeds::per_tier:
      return "per-tier";
    case HashSeeds::shared:
      return "shared";
  }
  return "?";
}

}  // namespace weft::net
