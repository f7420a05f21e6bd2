#include "netsim/flow/paths.h"

#include <algorithm>

#include "base/check.h"

namespace weft::netsim {

namespace {

// Source, destination and queue pair as one sortable number; there are fewer than 2^28 endpoints.
std::uint64_t key_of(const Transfer& transfer, std::uint32_t queue_pair) {
  return std::uint64_t{model::index_of(transfer.source)} << 36U |
         std::uint64_t{model::index_of(transfer.destination)} << 8U | queue_pair;
}

struct Part {
  NodeId node;
  double share;
  SimTime delay;     // of the slowest path to here
  std::uint32_t by;  // index of the last link of that path among the parts' links
};

}  // namespace

FlowPaths::FlowPaths(Routes& routes, const TransferGraph& transfers)
    : routes_(&routes),
      spreads_(routes.options().mode == RoutingMode::spray || routes.options().mode == RoutingMode::adaptive) {
  CHECK(routes.network().nodes().size() < (1U << 28U), "more nodes than a simulation can have");
  const std::span<const Transfer> all = transfers.transfers();
  const bool single = std::all_of(all.begin(), all.end(), [](const Transfer& t) { return t.queue_pairs == 1; });
  std::vector<std::uint64_t> keys;
  keys.reserve(all.size());
  for (const Transfer& t : all) {
    if (!single) offsets_.push_back(static_cast<std::uint32_t>(keys.size()));
    for (std::uint32_t q = 0; q < t.queue_pairs; ++q) keys.push_back(key_of(t, q));
  }
  std::vector<std::uint64_t> different = keys;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  std::vector<std::uint32_t> found;
  found.reserve(different.size());
  for (const std::uint64_t key : different) {
    const Origin origin{static_cast<NodeId>(key >> 36U), static_cast<NodeId>(key >> 8U & 0xFFFFFFFU),
                        static_cast<std::uint32_t>(key & 0xFFU), routes.epoch(), kNoWay};
    const std::uint32_t path = find(origin);
    CHECK(path != kNoWay && path == origins_.size(), "a transfer without a way reached an engine");
    origins_.push_back(origin);
    origins_.back().current = path;
    found.push_back(path);
  }
  connection_paths_.reserve(keys.size());
  for (const std::uint64_t key : keys) {
    const auto at = std::lower_bound(different.begin(), different.end(), key) - different.begin();
    connection_paths_.push_back(found[static_cast<std::size_t>(at)]);
  }
}

std::uint32_t FlowPaths::find(const Origin& origin) {
  Path path;
  path.first_link = static_cast<std::uint32_t>(way_links_.size());
  path.first_spread = static_cast<std::uint32_t>(spread_.size());
  if (spreads_) {
    if (!find_spread(origin, path)) return kNoWay;
  } else {
    const FlowKey key =
        flow_key(routes_->network(), origin.source, origin.destination, origin.queue_pair, routes_->options().seed);
    scratch_.clear();
    if (!routes_->path(key, scratch_)) return kNoWay;
    way_links_.insert(way_links_.end(), scratch_.begin(), scratch_.end());
  }
  path.link_count = static_cast<std::uint32_t>(way_links_.size()) - path.first_link;
  paths_.push_back(path);
  return static_cast<std::uint32_t>(paths_.size() - 1);
}

// Breadth first from the source: equal-cost links lead to nodes that are one hop nearer to the destination, so all
// parts of a node are known when it is visited.
bool FlowPaths::find_spread(const Origin& origin, Path& path) {
  const Network& network = routes_->network();
  struct Step {
    LinkId link;
    std::uint32_t before;  // index of the previous step on the slowest path
  };
  std::vector<Step> steps;
  constexpr std::uint32_t kStart = 0xFFFFFFFFU;
  std::vector<Part> parts{{origin.source, 1.0, SimTime(), kStart}};
  std::vector<Part> next;
  routes_->prepare(std::span(&origin.destination, 1));
  while (!(parts.size() == 1 && parts[0].node == origin.destination)) {
    next.clear();
    for (const Part& part : parts) {
      if (part.node == origin.destination) {
        next.push_back(part);
        continue;
      }
      const std::span<const LinkId> links = routes_->next_links(part.node, origin.destination);
      if (links.empty()) return false;
      const double share = part.share / static_cast<double>(links.size());
      for (const LinkId id : links) {
        spread_.push_back({model::index_of(id), share});
        steps.push_back({id, part.by});
        next.push_back({network.link(id).to, share, part.delay + network.link(id).delay,
                        static_cast<std::uint32_t>(steps.size() - 1)});
      }
    }
    std::stable_sort(next.begin(), next.end(), [](const Part& a, const Part& b) { return a.node < b.node; });
    parts.clear();
    for (const Part& part : next) {
      if (parts.empty() || parts.back().node != part.node) {
        parts.push_back(part);
        continue;
      }
      Part& same = parts.back();
      same.share += part.share;
      if (part.delay > same.delay) {
        same.delay = part.delay;
        same.by = part.by;
      }
    }
  }
  for (std::uint32_t at = parts[0].by; at != kStart; at = steps[at].before) way_links_.push_back(steps[at].link);
  std::reverse(way_links_.begin() + path.first_link, way_links_.end());
  path.spread_count = static_cast<std::uint32_t>(spread_.size()) - path.first_spread;
  return true;
}

std::uint32_t FlowPaths::current(std::uint32_t first_path) {
  Origin& origin = origins_[first_path];
  if (origin.epoch == routes_->epoch()) return origin.current;
  origin.epoch = routes_->epoch();
  const std::size_t links = way_links_.size();
  const std::size_t spread = spread_.size();
  const std::uint32_t found = find(origin);
  // If it equals one of the two known paths, keep that number, so that no flow is moved.
  for (const std::uint32_t known : {origin.current, first_path}) {
    if (found == kNoWay || known == kNoWay || !same(known, way(found))) continue;
    if (paths_[known].spread_count != paths_[found].spread_count) continue;
    if (!std::equal(spread_.begin() + static_cast<std::ptrdiff_t>(spread), spread_.end(),
                    spread_.begin() + paths_[known].first_spread,
                    [](const LaneShare& a, const LaneShare& b) { return a.lane == b.lane && a.share == b.share; })) {
      continue;
    }
    paths_.pop_back();
    way_links_.resize(links);
    spread_.resize(spread);
    return origin.current = known;
  }
  if (found == kNoWay) {
    way_links_.resize(links);
    spread_.resize(spread);
  }
  return origin.current = found;
}

bool FlowPaths::same(std::uint32_t path, std::span<const LinkId> other) const {
  const std::span<const LinkId> mine = way(path);
  return std::equal(mine.begin(), mine.end(), other.begin(), other.end());
}

NodeId FlowPaths::parting(std::uint32_t before, std::uint32_t after) const {
  const std::span<const LinkId> a = way(before);
  const std::span<const LinkId> b = way(after);
  const Network& network = routes_->network();
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] != b[i]) return network.link(a[i]).from;
  }
  return model::kNone<NodeId>;
}

}  // namespace weft::netsim
