#include "netsim/routing/link_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.h"
#include "netsim/routing/flow_hash.h"

namespace weft::netsim {

LinkChoice::LinkChoice(const Network& network, const RoutingOptions& options, const SwitchGraph& graph)
    : network_(&network), options_(options) {
  seeds_.reserve(network.nodes().size());
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    seeds_.push_back(seed_of(network, static_cast<NodeId>(i), options));
  }
  find_places(graph);
  std::uint64_t product = 1;
  for (unsigned tier = 0; tier < divisors_.size(); ++tier) {
    divisors_[tier] = product;
    const std::uint64_t ups = graph.most_ups(tier);
    if (ups > 1 && product <= network.endpoints().size()) product *= ups;
  }
}

void LinkChoice::find_places(const SwitchGraph& graph) {
  std::map<std::pair<std::uint8_t, std::uint32_t>, std::uint32_t> in_group;  // of switches: tier and group
  std::vector<std::uint32_t> leaf_place(graph.size());
  for (SwitchIndex s = 0; s < graph.size(); ++s) {
    const Node& node = network_->node(graph.node(s));
    leaf_place[s] = in_group[{node.tier, node.group}]++;
  }
  places_.resize(network_->nodes().size());
  std::vector<std::uint32_t> on_leaf(graph.size(), 0);
  std::uint32_t number = 0;
  for (const NodeId endpoint : network_->endpoints()) {
    EndpointPlace& place = places_[model::index_of(endpoint)];
    place.number = number++;
    for (const LinkId link : network_->out_links(endpoint)) {
      const SwitchIndex s = graph.index(network_->link(link).to);
      if (s == kNoSwitch) continue;
      place.on_leaf = on_leaf[s]++;
      place.leaf = leaf_place[s];
      break;
    }
  }
}

std::uint32_t LinkChoice::hash(NodeId at, LinkId ingress, const FlowKey& key) const {
  return flow_hash(key, options_, seeds_[model::index_of(at)], model::index_of(ingress));
}

LinkId LinkChoice::by_hash(std::span<const LinkId> links, NodeId at, LinkId ingress, const FlowKey& key) const {
  return links[hash(at, ingress, key) % links.size()];
}

LinkId LinkChoice::by_weight(std::span<const LinkId> links, NodeId at, LinkId ingress, const FlowKey& key,
                             const RouteTables& tables) const {
  thread_local std::vector<double> weights;
  weights.clear();
  for (const LinkId link : links) weights.push_back(tables.weight_of(link, key.destination));
  const double most = *std::max_element(weights.begin(), weights.end());
  if (!(most > 0)) return by_hash(links, at, ingress, key);
  const auto copies = [&](std::size_t i) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::lround(kMaxCopies * weights[i] / most)));
  };
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < links.size(); ++i) total += copies(i);
  std::uint64_t pick = hash(at, ingress, key) % total;
  std::size_t i = 0;
  for (; pick >= copies(i); ++i) pick -= copies(i);
  return links[i];
}

LinkId LinkChoice::by_bucket(std::span<const LinkId> links, std::span<const LinkId> before, NodeId at, LinkId ingress,
                             const FlowKey& key) const {
  const std::uint64_t bucket = hash(at, ingress, key) % std::max(options_.resilient_buckets, 1U);
  if (!before.empty()) {
    const LinkId owner = before[bucket % before.size()];
    if (std::binary_search(links.begin(), links.end(), owner)) return owner;
  }
  LinkId best = links.front();
  std::uint64_t best_rank = 0;
  for (const LinkId link : links) {
    std::uint64_t state = (bucket << 32U) | model::index_of(link);
    const std::uint64_t rank = detail::splitmix64(state);
    if (rank <= best_rank) continue;
    best_rank = rank;
    best = link;
  }
  return best;
}

LinkId LinkChoice::by_destination(std::span<const LinkId> links, NodeId at, const FlowKey& key) const {
  const std::uint64_t number = places_[model::index_of(key.destination)].number;
  return links[number / divisors_[network_->node(at).tier] % links.size()];
}

// Upwards, a leaf spreads its own endpoints, and the tiers above spread the leaves of a pod: without oversubscription
// every endpoint then has its own links up to the top. Downwards, parallel links are assigned by destination. Queue
// pairs of one endpoint take neighboring links.
LinkId LinkChoice::by_pin(std::span<const LinkId> links, NodeId at, const FlowKey& key) const {
  const EndpointPlace& source = places_[model::index_of(key.source)];
  const Node& here = network_->node(at);
  std::uint64_t place = 0;
  if (here.kind == NodeKind::network_switch) {
    const bool up = network_->node(network_->link(links.front()).to).tier > here.tier;
    if (!up) {
      place = places_[model::index_of(key.destination)].on_leaf;
    } else {
      place = here.tier <= 1 ? source.on_leaf : source.leaf;
    }
  }
  return links[(place + key.queue_pair) % links.size()];
}

}  // namespace weft::netsim
