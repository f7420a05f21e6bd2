// Links that fail, recover, lose packets or have a smaller MTU, and how routes converge.
#include <algorithm>

#include "netsim/packet/hot.h"

namespace weft::netsim {

void PacketShard::settle_plain(std::uint32_t port) {
  Port& out = ports_[port];
  const PortCounters& counters = world_.counters[port];
  bool plain = out.up && counters.loss <= 0 && counters.largest == 0 && counters.failed_at == INT64_MIN;
  for (std::uint32_t queue = 0; queue < world_.queues; ++queue) {
    plain = plain && !lanes_[lane_of(port, queue)].discarding;
  }
  out.plain = plain;
}

void PacketShard::link_event(std::uint32_t index) {
  const LinkEvent& event = world_.options.link_events[index];
  const std::uint32_t there = world_.port_of_link[model::index_of(event.link)];
  const RoutingOptions& routing = world_.routes.options();
  for (const std::uint32_t port : {there, world_.reverse[there]}) {
    PortCounters& counters = world_.counters[port];
    switch (event.kind) {
      case LinkEvent::Kind::down:
        fail_port(port);
        break;
      case LinkEvent::Kind::up:
        restore_port(port);
        break;
      case LinkEvent::Kind::errors:
        counters.loss = event.loss;
        break;
      case LinkEvent::Kind::mtu:
        counters.largest =
            static_cast<std::uint32_t>(event.mtu.count() + world_.options.classes.front().transport.header.count());
        break;
    }
    settle_plain(port);
    wake(port);
  }
  if (event.kind != LinkEvent::Kind::down && event.kind != LinkEvent::Kind::up) return;
  at(now_ + routing.detection.count(), EventKind::converge, std::uint64_t{index} * 2);
  at(now_ + routing.detection.count() + routing.propagation.count(), EventKind::converge, std::uint64_t{index} * 2 + 1);
}

void PacketShard::fail_port(std::uint32_t port) {
  Port& out = ports_[port];
  out.up = false;
  out.pause_frames = 0;
  world_.counters[port].failed_at = now_;
  for (std::uint32_t queue = 0; queue < world_.queues; ++queue) {
    const std::size_t index = lane_of(port, queue);
    Lane& lane = lanes_[index];
    discard_queue(port, queue);
    // The other end can neither resume this sender nor be resumed by it.
    resume(port, queue);
    world_.ingress[index].stopping = false;
    for (std::uint32_t c = lane.first_ready; c != kNil; c = senders_[c].next_ready) {
      senders_[c].state = SenderState::blocked;
    }
    lane.first_ready = kNil;
    out.waiting = static_cast<std::uint16_t>(out.waiting & ~(1U << queue));
  }
}

void PacketShard::restore_port(std::uint32_t port) { ports_[port].up = true; }

bool PacketShard::goes_up(std::uint32_t port) const {
  const Port& out = ports_[port];
  const auto tier = [&](std::uint32_t node) { return world_.network.nodes()[node].tier; };
  return tier(out.from) < tier(out.to);
}

// A switch that lost an uplink uses another one as soon as it detects the failure; remote switches avoid a failed link
// once the routing protocol has converged.
void PacketShard::converge(std::uint32_t index, bool everywhere) {
  const LinkEvent& event = world_.options.link_events[index];
  const bool up = event.kind == LinkEvent::Kind::up;
  const std::uint32_t there = world_.port_of_link[model::index_of(event.link)];
  if (ports_[there].up != up) return;  // it changed again since
  if (up && !everywhere) return;
  world_.routes.set_link(event.link, up);
  std::vector<NodeId> destinations;
  for (const Transfer& t : world_.graph.transfers()) {
    destinations.push_back(t.destination);
    destinations.push_back(t.source);
  }
  world_.routes.prepare(destinations);
  world_.forget_routes();
  reroute_all(there, everywhere);
  routes_ = world_.route_table.data();
}

void PacketShard::reroute_all(std::uint32_t failed, bool everywhere) {
  const std::uint32_t back = world_.reverse[failed];
  const auto uses = [&](std::uint32_t route) {
    for (std::uint32_t r = route;; ++r) {
      const std::uint32_t port = world_.route_table[r];
      if ((port == failed || port == back) && goes_up(port)) return true;
      if (ports_[port].to_endpoint) return false;
    }
  };
  for (std::uint32_t c = 0; c < world_.senders.size(); ++c) {
    Sender& sender = senders_[c];
    if (world_.finished[sender.transfer] != kNever) continue;
    if (everywhere || uses(receivers_[c].route - 1)) (void)world_.reroute_acks(c);
    if (!everywhere && !uses(sender.route - 1)) continue;
    if (!world_.reroute_data(c)) continue;
    if (sender.state == SenderState::blocked || sender.state == SenderState::idle) activate(c);
  }
}

void PacketShard::sample() {
  --totals_.events;  // sampling is not a network event, and every shard samples
  SeriesPoint point;
  point.at = SimTime(now_);
  std::uint64_t dropped = totals_.dropped;
  for (std::uint32_t port = 0; port < world_.ports.size(); ++port) {
    const Port& out = ports_[port];
    if (world_.shard_of[out.from] != number_) continue;
    if (out.paused != 0) ++point.paused_links;
    if (out.from_endpoint) continue;
    Bytes queued;
    for (std::uint32_t queue = 0; queue < world_.queues; ++queue) {
      queued += Bytes(lanes_[lane_of(port, queue)].bytes);
    }
    point.queued += queued;
    point.deepest_queue = std::max(point.deepest_queue, queued);
  }
  point.delivered = Bytes(static_cast<std::int64_t>(delivered_)) - sampled_.delivered;
  point.marked = totals_.marked - sampled_.marked;
  point.dropped = dropped - sampled_.dropped;
  series_.push_back(point);
  sampled_.delivered += point.delivered;
  sampled_.marked += point.marked;
  sampled_.dropped += point.dropped;
  at(now_ + world_.options.series_interval.count(), EventKind::series, 0);
}

}  // namespace weft::netsim
