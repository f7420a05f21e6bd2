#include "netsim/packet/shard.h"

#include <algorithm>

namespace weft::netsim {

namespace {

bool uses(const SimOptions& options, Transport kind) {
  return std::any_of(options.classes.begin(), options.classes.end(),
                     [&](const TrafficClassOptions& c) { return c.transport.kind == kind; });
}

}  // namespace

PacketShard::PacketShard(PacketWorld& world, int number, int shards)
    : world_(world),
      ports_(world.ports.data()),
      lanes_(world.lanes.data()),
      senders_(world.senders.data()),
      receivers_(world.receivers.data()),
      routes_(world.route_table.data()),
      queues_(world.queues),
      number_(number),
      pool_(uses(world.options, Transport::hpcc)),
      outboxes_(static_cast<std::size_t>(shards)) {
  if (uses(world.options, Transport::receiver)) pull_lists_.resize(world.ports.size());
}

void PacketShard::start() {
  const auto mine = [&](NodeId node) { return world_.shard_of[model::index_of(node)] == number_; };
  for (std::uint32_t t = 0; t < world_.graph.size(); ++t) {
    const Transfer& transfer = world_.graph.transfers()[t];
    if (world_.transfers[t].waiting == 0 && mine(transfer.source)) {
      at(transfer.start.count(), EventKind::begin, t);
    }
  }
  const SimOptions& options = world_.options;
  for (std::uint32_t i = 0; i < options.pause_storms.size(); ++i) {
    if (mine(options.pause_storms[i].endpoint)) at(options.pause_storms[i].from.count(), EventKind::storm, i);
  }
  // Failures change state that all nodes read: the engine then uses one shard.
  for (std::uint32_t i = 0; i < options.link_events.size(); ++i) {
    at(options.link_events[i].at.count(), EventKind::link_event, i);
  }
  if (options.series_interval.count() > 0) at(options.series_interval.count(), EventKind::series, 0);
}

void PacketShard::take_from(PacketShard& other) {
  std::vector<Crossing>& box = other.outboxes_[static_cast<std::size_t>(number_)];
  for (const Crossing& crossing : box) {
    const std::uint32_t id = pool_.allocate();
    pool_[id] = crossing.packet;
    if (pool_.with_telemetry()) pool_.telemetry(id) = crossing.telemetry;
    wheel_.push({crossing.event.time, (crossing.event.key & ~std::uint64_t{0xFFFFFFFFU}) | id});
  }
  box.clear();
}

}  // namespace weft::netsim
