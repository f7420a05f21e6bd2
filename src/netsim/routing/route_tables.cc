#include "netsim/routing/route_tables.h"

#include <algorithm>
#include <limits>

namespace weft::netsim {

namespace {

constexpr std::uint32_t kDetached = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::uint64_t RouteTables::packed(Entry entry) {
  return (std::uint64_t{entry.offset} << 32U) | (std::uint64_t{entry.in_sets} << 31U) |
         (std::uint64_t{entry.count} << 16U) | entry.distance;
}

RouteTables::Entry RouteTables::unpacked(std::uint64_t word) {
  Entry entry;
  entry.offset = static_cast<std::uint32_t>(word >> 32U);
  entry.in_sets = ((word >> 31U) & 1U) != 0;
  entry.count = static_cast<std::uint16_t>((word >> 16U) & kMaxMembers);
  entry.distance = static_cast<std::uint16_t>(word & 0xFFFFU);
  return entry;
}

RouteTables::RouteTables(const Network& network, bool up_down, bool capacities)
    : network_(&network),
      up_down_(up_down),
      capacities_(capacities),
      works_(network.links().size(), 1),
      graph_(network, up_down, works_),
      attached_(network.nodes().size(), kDetached) {
  for (const NodeId endpoint : network.endpoints()) attach(endpoint);
  if (!capacities) return;
  for (SwitchIndex s = 0; s < graph_.size(); ++s) {
    double sum = 0;
    for (const LinkId link : network.out_links(graph_.node(s)))
      sum += static_cast<double>(network.link(link).rate.count());
    switch_capacity_.push_back(sum);
  }
}

RouteTables::~RouteTables() = default;

void RouteTables::attach(NodeId endpoint) {
  std::vector<SwitchIndex> switches;
  for (const LinkId link : network_->out_links(endpoint)) {
    const SwitchIndex s = graph_.index(network_->link(link).to);
    if (s != kNoSwitch && working(link)) switches.push_back(s);
  }
  std::uint32_t& slot = attached_[model::index_of(endpoint)];
  slot = kDetached;
  if (switches.empty()) return;
  std::sort(switches.begin(), switches.end());
  switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
  const auto [known, is_new] = attachment_index_.try_emplace(switches, attachments_.size());
  slot = known->second;
  if (!is_new) return;
  attachments_.push_back(std::make_unique<Attachment>());
  attachments_.back()->switches = std::move(switches);
}

RouteTables::Attachment* RouteTables::attachment_of(NodeId endpoint) const {
  const std::uint32_t index = attached_[model::index_of(endpoint)];
  return index == kDetached ? nullptr : attachments_[index].get();
}

void RouteTables::prepare(NodeId destination) const {
  Attachment* attachment = attachment_of(destination);
  if (attachment == nullptr) return;
  Table& table = table_of(*attachment);
  if (table.open.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  open(table);
}

RouteTables::Table& RouteTables::table_of(Attachment& attachment) const {
  Table* known = attachment.table.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  const std::lock_guard lock(mutex_);
  settle(attachment);
  return *attachment.table.load(std::memory_order_relaxed);
}

std::span<const LinkId> RouteTables::links_of(Entry entry) const {
  if (entry.distance == kNoWay) return {};
  if (entry.in_sets) return sets_.get(entry.offset, entry.count);
  return graph_.links().subspan(entry.offset, entry.count);
}

std::span<const LinkId> RouteTables::next_links(NodeId at, NodeId destination) const {
  if (at == destination) return {};
  const SwitchIndex s = graph_.index(at);
  if (s == kNoSwitch) {
    return network_->node(at).kind == NodeKind::endpoint ? first_hop(at, destination) : last_hop(at, destination);
  }
  Attachment* attachment = attachment_of(destination);
  if (attachment == nullptr) return {};
  return attachment->holds(s) ? last_hop(at, destination) : links_of(entry(*attachment, s));
}

// From a switch (of either kind) to an endpoint connected to it.
std::span<const LinkId> RouteTables::last_hop(NodeId at, NodeId destination) const {
  thread_local std::vector<LinkId> members;
  members.clear();
  for (const LinkId link : network_->out_links(destination)) {
    if (network_->link(link).to == at && working(link)) members.push_back(network_->link(link).reverse);
  }
  std::sort(members.begin(), members.end());
  return keep(network_->out_links(at), members);
}

// From an endpoint: directly to the destination over a cable or a scale-up switch if possible, else over the links
// whose switches are nearest to it.
std::span<const LinkId> RouteTables::first_hop(NodeId at, NodeId destination) const {
  Attachment* attachment = attachment_of(destination);
  thread_local std::vector<LinkId> members;
  members.clear();
  std::uint32_t best = kNoWay;
  for (const LinkId link : network_->out_links(at)) {
    if (!working(link)) continue;
    const NodeId next = network_->link(link).to;
    std::uint32_t cost = kNoWay;
    if (next == destination || (network_->node(next).scale_up && !last_hop(next, destination).empty())) {
      cost = 0;
    } else if (const SwitchIndex s = graph_.index(next); s != kNoSwitch && attachment != nullptr) {
      cost = attachment->holds(s) ? 1 : entry(*attachment, s).distance;
    }
    if (cost == kNoWay || cost > best) continue;
    if (cost < best) members.clear();
    best = cost;
    members.push_back(link);
  }
  return keep(network_->out_links(at), members);
}

// A span with these members (by id): part of `from` if they are contiguous in it, else a stored set.
std::span<const LinkId> RouteTables::keep(std::span<const LinkId> from, std::span<const LinkId> members) const {
  if (members.empty()) return {};
  const auto first = std::lower_bound(from.begin(), from.end(), members.front());
  const auto offset = static_cast<std::size_t>(first - from.begin());
  if (offset + members.size() <= from.size() && from[offset + members.size() - 1] == members.back()) {
    return from.subspan(offset, members.size());
  }
  const std::lock_guard lock(mutex_);
  return sets_.get(sets_.add(members), members.size());
}

RouteTables::Entry RouteTables::entry(Attachment& attachment, SwitchIndex at) const {
  Table& table = table_of(attachment);
  if (attachment.parents.empty()) return entry(table, at);
  const auto parent = std::lower_bound(attachment.parents.begin(), attachment.parents.end(), at,
                                       [](const Parent& p, SwitchIndex s) { return p.at < s; });
  if (parent != attachment.parents.end() && parent->at == at) return parent->entry;
  Entry beyond = entry(table, at);
  if (beyond.distance != kNoWay) ++beyond.distance;
  return beyond;
}

RouteTables::Entry RouteTables::entry(Table& table, SwitchIndex at) const {
  if (table.open.load(std::memory_order_acquire)) {
    const Entry known = unpacked(table.entries[at].load(std::memory_order_acquire));
    if (known.distance != 0) return known;
  }
  const std::lock_guard lock(mutex_);
  open(table);
  if (up_down_) {
    climb(table, at);
  } else {
    walk_until(table, at);
  }
  return unpacked(table.entries[at].load(std::memory_order_relaxed));
}

double RouteTables::weight_of(LinkId link, NodeId destination) const {
  const auto rate = static_cast<double>(network_->link(link).rate.count());
  const SwitchIndex s = graph_.index(network_->link(link).to);
  Attachment* attachment = attachment_of(destination);
  if (!capacities_ || s == kNoSwitch || attachment == nullptr || attachment->holds(s)) return rate;
  Table& table = table_of(*attachment);
  if (entry(table, s).distance == kNoWay) return 0;
  return rate * table.capacities[s] / switch_capacity_[s];
}

bool RouteTables::set_link(LinkId link, bool works) {
  const std::uint8_t value = works ? 1 : 0;
  if (works_[model::index_of(link)] == value) return false;
  const Link& cable = network_->link(link);
  works_[model::index_of(link)] = value;
  works_[model::index_of(cable.reverse)] = value;
  failed_ = works ? failed_ - 1 : failed_ + 1;
  if (up_down_ && graph_.within_tier(link)) graph_ = SwitchGraph(*network_, up_down_, works_);
  for (const std::unique_ptr<Attachment>& attachment : attachments_) {
    attachment->table = nullptr;
    attachment->parents.clear();
  }
  tables_.clear();
  for (const NodeId end : {cable.from, cable.to}) {
    if (network_->node(end).kind == NodeKind::endpoint) attach(end);
  }
  return true;
}

}  // namespace weft::netsim
