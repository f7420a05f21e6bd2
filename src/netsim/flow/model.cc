#include "netsim/flow/model.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/random.h"

namespace weft::netsim {

namespace {

constexpr double kRounding = 1e-9;
constexpr std::uint32_t kEmpty = 0xFFFFFFFFU;

bool links_fail(const SimOptions& options) {
  return std::any_of(options.link_events.begin(), options.link_events.end(), [](const LinkEvent& event) {
    return event.kind == LinkEvent::Kind::down || event.kind == LinkEvent::Kind::up;
  });
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t state = hash ^ value;
  return detail::splitmix64(state);
}

}  // namespace

FlowModel::FlowModel(Routes& routes, const TransferGraph& transfers, const SimOptions& options)
    : network_(&routes.network()),
      options_(&options),
      paths_(routes, transfers),
      acknowledged_(network_->links().size(), 0.0),
      contended_(network_->links().size(), false),
      users_(network_->links().size(), 0),
      users_weight_(network_->links().size(), 0.0),
      down_(network_->links().size(), false),
      solver_(0) {
  for (const TrafficClassOptions& c : options.classes) classes_.emplace_back(c, options.switches);
  note_classes(transfers);
  solver_ = MaxMinSolver(network_->links().size() * lane_classes_ + 1);  // the last lane belongs to no link
  uses_.resize(paths_.size() * classes_.size());
  note_acknowledgements(transfers);
  note_losses(transfers);
  if (links_fail(options)) {
    contended_.assign(contended_.size(), true);
  } else {
    find_contended(transfers);
  }
  for (std::size_t i = 0; i < contended_.size(); ++i) {
    if (contended_[i]) set_lanes(static_cast<LinkId>(i));
  }
}

void FlowModel::note_classes(const TransferGraph& transfers) {
  std::vector<bool> used(classes_.size(), false);
  for (const Transfer& t : transfers.transfers()) used[t.traffic_class] = true;
  lane_class_.assign(classes_.size(), 0);
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (!used[c]) continue;
    lane_class_[c] = static_cast<std::uint32_t>(used_classes_.size());
    used_classes_.push_back(static_cast<ClassIndex>(c));
  }
  if (used_classes_.empty()) used_classes_.push_back(0);
  lane_classes_ = static_cast<std::uint32_t>(used_classes_.size());
}

// Acknowledgments use capacity of the reverse direction of every link that data crosses. How much depends on the rate
// of that data; if both directions carry data, both are full in the cases that matter, and c / (1 + share) is exact.
void FlowModel::note_acknowledgements(const TransferGraph& transfers) {
  std::vector<bool> seen(uses_.size(), false);
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    const Transfer& transfer = transfers.transfers()[t];
    const double share = classes_[transfer.traffic_class].acknowledged_share();
    for (std::uint32_t q = 0; q < transfer.queue_pairs; ++q) {
      const std::uint32_t path = paths_.first_path(t, q);
      const std::size_t use = path * classes_.size() + transfer.traffic_class;
      if (seen[use] || share == 0) continue;
      seen[use] = true;
      paths_.for_each_link(path, [&](LinkId link, double) {
        const LinkId back = network_->link(link).reverse;
        if (back != model::kNone<LinkId>)
          acknowledged_[model::index_of(back)] = std::max(acknowledged_[model::index_of(back)], share);
      });
    }
  }
}

// Links that lose packets deliver less. Loss counts from the start of the run, and a link's last probability is used.
void FlowModel::note_losses(const TransferGraph& transfers) {
  std::vector<double> loss(network_->links().size(), 0);
  bool any = false;
  for (const LinkEvent& event : options_->link_events) {
    if (event.kind != LinkEvent::Kind::errors) continue;
    const LinkId back = network_->link(event.link).reverse;
    loss[model::index_of(event.link)] = event.loss;
    if (back != model::kNone<LinkId>) loss[model::index_of(back)] = event.loss;
    any = true;
  }
  if (!any) return;
  delivered_.assign(loss.size() * classes_.size(), 1);
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    const Transfer& transfer = transfers.transfers()[t];
    const FlowClass& traffic = classes_[transfer.traffic_class];
    for (std::uint32_t q = 0; q < transfer.queue_pairs; ++q) {
      const std::uint32_t path = paths_.first_path(t, q);
      paths_.for_each_link(path, [&](LinkId link, double) {
        if (loss[model::index_of(link)] <= 0) return;
        double& part = delivered_[model::index_of(link) * classes_.size() + transfer.traffic_class];
        const auto rate = static_cast<double>(network_->link(link).rate.count());
        part = std::min(part, traffic.delivered_share(*network_, paths_.way(path), loss[model::index_of(link)], rate));
      });
    }
  }
}

// A link cannot be contended if all connections that ever use it fit on it at once at their limits.
void FlowModel::find_contended(const TransferGraph& transfers) {
  std::vector<std::uint32_t> connections(uses_.size(), 0);
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    const Transfer& transfer = transfers.transfers()[t];
    for (std::uint32_t q = 0; q < transfer.queue_pairs; ++q) {
      ++connections[paths_.first_path(t, q) * classes_.size() + transfer.traffic_class];
    }
  }
  std::vector<double> demand(contended_.size(), 0);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    if (connections[i] == 0) continue;
    const auto path = static_cast<std::uint32_t>(i / classes_.size());
    const auto c = static_cast<ClassIndex>(i % classes_.size());
    const double limit = limit_of(path, c);
    uses_[i].limit = limit;
    const double weight = classes_[c].weight(*network_, paths_.way(path));
    paths_.for_each_link(path, [&](LinkId link, double share) {
      demand[model::index_of(link)] += share * limit * connections[i];
      users_[model::index_of(link)] += connections[i];
      users_weight_[model::index_of(link)] += share * weight * connections[i];
    });
  }
  for (std::size_t i = 0; i < contended_.size(); ++i) {
    if (users_[i] < 2) continue;
    double least = std::numeric_limits<double>::infinity();
    for (const ClassIndex c : used_classes_) {
      const double part = std::min(1.0, classes_[c].shared() / classes_[c].alone());
      least = std::min(least, capacity(static_cast<LinkId>(i), c) * part);
    }
    contended_[i] = demand[i] > least * (1 + kRounding);
  }
}

double FlowModel::capacity(LinkId link, ClassIndex c) const {
  const auto rate = static_cast<double>(network_->link(link).rate.count());
  const double whole = rate / (1.0 + acknowledged_[model::index_of(link)]) * classes_[c].alone();
  return delivered_.empty() ? whole : whole * delivered_[model::index_of(link) * classes_.size() + c];
}

double FlowModel::limit_of(std::uint32_t path, ClassIndex c) const {
  double limit = classes_[c].connection_limit(*network_, paths_.way(path));
  paths_.for_each_link(path, [&](LinkId link, double share) { limit = std::min(limit, capacity(link, c) / share); });
  return limit;
}

double FlowModel::least_rate(std::uint32_t path, ClassIndex c) const {
  const double weight = classes_[c].weight(*network_, paths_.way(path));
  const double part = std::min(1.0, classes_[c].shared() / classes_[c].alone());
  double least = limit(path, c);
  paths_.for_each_link(path, [&](LinkId link, double) {
    if (!contended_[model::index_of(link)]) return;
    least = std::min(least, capacity(link, c) * part * weight / users_weight_[model::index_of(link)]);
  });
  return least;
}

void FlowModel::set_lanes(LinkId link) {
  for (const ClassIndex c : used_classes_) {
    const double one = down_[model::index_of(link)] ? 0 : capacity(link, c);
    solver_.set_capacity(lane(link, c), one, one * std::min(1.0, classes_[c].shared() / classes_[c].alone()));
  }
}

void FlowModel::set_down(LinkId link, bool down) {
  down_[model::index_of(link)] = down;
  set_lanes(link);
}

const FlowModel::PathUse& FlowModel::use(std::uint32_t path, ClassIndex c) {
  if (path == FlowPaths::kNoWay) {
    if (nowhere_ == kUnknown) {
      const auto lane = static_cast<std::uint32_t>(network_->links().size() * lane_classes_);
      nowhere_ = solver_.add_bundle(std::vector<LaneShare>{{lane, 1.0}}, 1.0);
      weights_.push_back(1.0);
      nowhere_use_ = {nowhere_, 1.0};
    }
    return nowhere_use_;
  }
  const std::size_t index = path * classes_.size() + c;
  if (index >= uses_.size()) uses_.resize(paths_.size() * classes_.size());
  PathUse& found = uses_[index];
  if (found.bundle == kUnknown) {
    if (found.limit == 0) found.limit = limit_of(path, c);
    found.bundle = bundle_of(path, c, found.limit);
  }
  return found;
}

// Connections with the same contended lanes and the same limit get the same rate: one bundle for all of them.
std::uint32_t FlowModel::bundle_of(std::uint32_t path, ClassIndex c, double own_limit) {
  const double weight = classes_[c].weight(*network_, paths_.way(path));
  const double limit = own_limit / weight;
  const auto first = static_cast<std::uint32_t>(known_lanes_.size());
  std::uint64_t hash = std::bit_cast<std::uint64_t>(limit);
  paths_.for_each_link(path, [&](LinkId link, double share) {
    if (!contended_[model::index_of(link)]) return;
    known_lanes_.push_back({lane(link, c), share * weight});
    hash = mix(hash, lane(link, c));
    hash = mix(hash, std::bit_cast<std::uint64_t>(share * weight));
  });
  const auto count = static_cast<std::uint32_t>(known_lanes_.size()) - first;
  if (count == 0) return kFree;
  if (known_table_.size() < 2 * (known_.size() + 1)) {
    known_table_.assign(std::max<std::size_t>(64, known_table_.size() * 4), kEmpty);
    for (std::uint32_t i = 0; i < known_.size(); ++i) {
      std::size_t at = known_[i].hash & (known_table_.size() - 1);
      while (known_table_[at] != kEmpty) at = (at + 1) & (known_table_.size() - 1);
      known_table_[at] = i;
    }
  }
  const std::span<const LaneShare> lanes = std::span(known_lanes_).subspan(first, count);
  std::size_t at = hash & (known_table_.size() - 1);
  for (; known_table_[at] != kEmpty; at = (at + 1) & (known_table_.size() - 1)) {
    const KnownBundle& known = known_[known_table_[at]];
    if (known.hash != hash || known.count != count || solver_.limit(known.bundle) != limit) continue;
    const std::span<const LaneShare> other = std::span(known_lanes_).subspan(known.first, count);
    if (!std::equal(lanes.begin(), lanes.end(), other.begin(),
                    [](const LaneShare& a, const LaneShare& b) { return a.lane == b.lane && a.share == b.share; })) {
      continue;
    }
    known_lanes_.resize(first);
    return known.bundle;
  }
  const std::uint32_t bundle = solver_.add_bundle(lanes, limit);
  weights_.push_back(weight);
  known_table_[at] = static_cast<std::uint32_t>(known_.size());
  known_.push_back({hash, bundle, first, count});
  return bundle;
}

}  // namespace weft::netsim
