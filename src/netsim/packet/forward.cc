#include <algorithm>

#include "netsim/packet/hot.h"

namespace weft::netsim {

namespace {

constexpr std::uint64_t mix(std::uint64_t x) {
  x *= 0x9E3779B97F4A7C15ULL;
  x ^= x >> 32U;
  x *= 0xD6E8FEB86659FD93ULL;
  return x ^ (x >> 32U);
}

// Uniform in [0, 1) from what identifies a packet at a port, independent of the order of events.
double draw(std::uint64_t a, std::uint64_t b, std::uint64_t seed) {
  return static_cast<double>(mix(mix(a + seed) ^ (b * 0x9E3779B97F4A7C15ULL)) >> 11U) * 0x1.0p-53;
}

}  // namespace

inline void PacketShard::forward(std::uint32_t in_port, std::uint32_t id) {
  Packet& packet = pool_[id];
  std::uint32_t out_port = 0;
  if (world_.per_packet_routing) {
    out_port = pick_port(ports_[in_port].to, packet);
    if (out_port == kNil) return drop(in_port, id);
  } else {
    out_port = routes_[packet.route++];
  }
  ++packet.hops;
  const Port& out = ports_[out_port];
  const std::uint32_t bit = 1U << packet.queue;
  if (out.busy_until <= now_ && (out.waiting | out.pause_frames) == 0 && (out.paused & bit) == 0 && out.plain) {
    transmit(out_port, id);
    return;
  }
  enqueue(in_port, out_port, id);
}

inline void PacketShard::arrive(std::uint32_t port, std::uint32_t id) {
  Packet& packet = pool_[id];
  const Port& in = ports_[port];
  const std::uint64_t seen = (static_cast<std::uint64_t>(now_) ^ (std::uint64_t{port} << 40U) ^
                              (std::uint64_t{packet.sequence} << 8U) ^ static_cast<std::uint64_t>(packet.kind)) *
                             0x9E3779B97F4A7C15ULL;
  trace_ += seen ^ (seen >> 29U);
  if (!in.plain && lost_on_wire(port, packet)) {
    drop(port, id);
  } else if (packet.kind == PacketKind::pause) {
    receive_pause(world_.reverse[port], packet);
    pool_.release(id);
  } else if (in.to_endpoint) {
    deliver(port, id);
  } else {
    forward(port, id);
  }
}

// Adaptive, flowlet and spray: any of the equal-cost links may be used, packet by packet.
std::uint32_t PacketShard::pick_port(std::uint32_t node, const Packet& packet) {
  const auto here = static_cast<NodeId>(node);
  const Transfer& transfer = world_.graph.transfers()[senders_[packet.connection].transfer];
  const bool answer = packet.kind != PacketKind::data;
  const NodeId destination = answer ? transfer.source : transfer.destination;
  const std::span<const LinkId> links = world_.routes.next_links(here, destination);
  if (links.empty()) return kNil;
  const std::uint64_t start = mix((std::uint64_t{packet.connection} << 24U) ^ node ^ world_.options.seed);
  const RoutingMode mode = world_.routes.options().mode;
  if (mode == RoutingMode::spray) {
    // Each turn through the links begins at another one: synchronized turns at two tiers would use only a few paths.
    const std::uint64_t turn = mix(start + packet.sequence / links.size());
    return world_.port_of_link[model::index_of(links[(turn + packet.sequence) % links.size()])];
  }
  const auto depth = [&](std::uint32_t port) {
    const Port& out = ports_[port];
    const std::int64_t rest = std::max<std::int64_t>(0, out.busy_until - now_);
    return lanes_[lane_of(port, packet.queue)].bytes + rest / 80 +
           ((out.paused & (1U << packet.queue)) != 0 ? INT32_MAX : 0);
  };
  Flowlet* flowlet = nullptr;
  if (mode == RoutingMode::flowlet) {
    flowlet = &flowlets_[(std::uint64_t{packet.connection} << 33U) | (std::uint64_t{answer} << 32U) | node];
    const bool fresh = now_ - flowlet->last >= world_.routes.options().flowlet_gap.count();
    flowlet->last = now_;
    if (!fresh && flowlet->port != kNil) return flowlet->port;
  }
  std::uint32_t best = kNil;
  std::int64_t least = INT64_MAX;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::uint32_t port =
        world_.port_of_link[model::index_of(links[(start + packet.sequence + i) % links.size()])];
    const std::int64_t bytes = depth(port);
    if (bytes < least) {
      least = bytes;
      best = port;
    }
  }
  if (flowlet != nullptr) flowlet->port = best;
  return best;
}

// Whether the switch has buffer space. Lossless priorities are charged to their ingress and spill into headroom once
// over the threshold; lossy ones are limited to a share of the free buffer at the egress queue.
bool PacketShard::admit(std::uint32_t in_port, std::uint32_t out_port, const Packet& packet) {
  SwitchState& node = world_.switches[ports_[out_port].from];
  const std::int64_t charge = node.charge[packet.wire];
  Ingress& account = world_.ingress[lane_of(in_port, packet.queue)];
  if (!world_.plans[packet.queue].lossless) {
    const std::int64_t queued = lanes_[lane_of(out_port, packet.queue)].bytes;
    const bool notification = packet.queue + 1U == world_.queues;
    if (!notification && queued + charge > world_.lossy_threshold(node)) return false;
    account.shared += charge;
    node.shared_used += charge;
    return true;
  }
  const std::int64_t threshold = world_.pause_threshold(node);
  if (account.shared + charge > threshold) {
    if (account.headroom + charge > node.headroom) return false;
    account.headroom += charge;
    account.most_headroom = std::max(account.most_headroom, account.headroom);
  } else {
    account.shared += charge;
    node.shared_used += charge;
  }
  if (!account.stopping && (account.headroom > 0 || account.shared >= threshold)) {
    stop_sender(in_port, packet.queue, out_port);
  }
  return true;
}

// Packets that leave the buffer free headroom first, as it was filled last.
void PacketShard::give_back(std::uint32_t node_number, const Packet& packet) {
  SwitchState& node = world_.switches[node_number];
  const std::int64_t charge = node.charge[packet.wire];
  Ingress& account = world_.ingress[lane_of(packet.ingress, packet.queue)];
  const std::int64_t from_headroom = std::min(account.headroom, charge);
  account.headroom -= from_headroom;
  account.shared -= charge - from_headroom;
  node.shared_used -= charge - from_headroom;
  if (!account.stopping || account.headroom > 0) return;
  const std::int64_t low = world_.pause_threshold(node) - world_.options.switches.xon_offset.count();
  if (account.shared == 0 || account.shared <= low) let_sender_go(packet.ingress, packet.queue);
}

void PacketShard::enqueue(std::uint32_t in_port, std::uint32_t out_port, std::uint32_t id) {
  Packet& packet = pool_[id];
  Port& out = ports_[out_port];
  if (!out.plain && refuses(out_port, packet)) return drop(out_port, id);
  if (!admit(in_port, out_port, packet)) return drop(out_port, id);
  packet.ingress = in_port;
  const std::size_t lane = lane_of(out_port, packet.queue);
  append(lanes_[lane], out, id, packet);
  if (world_.options.switches.watchdog != Watchdog::off && (out.paused >> packet.queue & 1U) != 0) {
    watch(static_cast<std::uint32_t>(lane));
  }
  wake(out_port);
}

void PacketShard::port_free(std::uint32_t port) {
  Port& out = ports_[port];
  out.scheduled = false;
  if (out.busy_until > now_) {
    wake(port);
  } else {
    serve(port);
  }
}

void PacketShard::serve(std::uint32_t port) {
  Port& out = ports_[port];
  if (!out.up) return;
  if (out.pause_frames != 0) {
    send_pause_frame(port);
  } else {
    const std::uint32_t eligible = out.waiting & ~static_cast<std::uint32_t>(out.paused);
    if (eligible == 0) return;
    const std::uint32_t queue = pick_queue(port, eligible);
    if (out.from_endpoint) {
      serve_endpoint_queue(port, queue);
    } else {
      serve_switch_queue(port, queue);
    }
  }
  wake(port);
}

// Strict queues first, notifications before all; then deficit round robin by weight (Shreedhar and Varghese 1995).
std::uint32_t PacketShard::pick_queue(std::uint32_t port, std::uint32_t eligible) {
  if ((eligible & (eligible - 1)) == 0) return static_cast<std::uint32_t>(__builtin_ctz(eligible));
  const std::uint32_t strict = eligible & world_.strict_mask;
  if (strict != 0) return 31U - static_cast<std::uint32_t>(__builtin_clz(strict));
  Port& out = ports_[port];
  while (true) {
    const std::uint32_t queue = out.last_queue;
    if ((eligible >> queue & 1U) != 0) {
      Lane& lane = lanes_[lane_of(port, queue)];
      const std::uint32_t size = lane.head != kNil ? pool_[lane.head].wire : world_.plans[queue].largest;
      if (lane.deficit >= static_cast<std::int32_t>(size)) {
        lane.deficit -= static_cast<std::int32_t>(size);
        return queue;
      }
    }
    out.last_queue = static_cast<std::uint8_t>((queue + 1) % world_.queues);
    Lane& next = lanes_[lane_of(port, out.last_queue)];
    const auto most = static_cast<std::int32_t>(2 * world_.plans[out.last_queue].quantum);
    next.deficit = (eligible >> out.last_queue & 1U) != 0
                       ? std::min(next.deficit + static_cast<std::int32_t>(world_.plans[out.last_queue].quantum), most)
                       : 0;
  }
}

void PacketShard::serve_switch_queue(std::uint32_t port, std::uint32_t queue) {
  Port& out = ports_[port];
  Lane& lane = lanes_[lane_of(port, queue)];
  const std::uint32_t id = lane.head;
  Packet& packet = pool_[id];
  mark(port, packet, lane.bytes);
  lane.area += lane.bytes * ((now_ - lane.changed) / 1000);
  lane.changed = now_;
  lane.head = packet.next;
  lane.bytes -= packet.wire;
  if (lane.head == kNil) out.waiting = static_cast<std::uint16_t>(out.waiting & ~(1U << queue));
  give_back(out.from, packet);
  transmit(port, id);
}

// WRED on the depth of the packet's egress queue: none marked below the lower threshold, all above the upper one.
void PacketShard::mark(std::uint32_t port, Packet& packet, std::int64_t queued) {
  const QueuePlan& plan = world_.plans[packet.queue];
  if (!plan.ecn || packet.kind != PacketKind::data) return;
  const MarkThresholds& limits = world_.thresholds[lane_of(port, packet.queue)];
  if (queued <= limits.low) return;
  if (queued < limits.high) {
    const double share = static_cast<double>(queued - limits.low) / static_cast<double>(limits.high - limits.low);
    const std::uint64_t who = (std::uint64_t{packet.connection} << 32U) | packet.sequence;
    if (draw(who, port, world_.options.seed) >= share * plan.mark_probability) return;
  }
  if ((packet.flags & Packet::kMarked) == 0) ++totals_.marked;
  packet.flags |= Packet::kMarked;
  ++world_.counters[port].marked;
}

void PacketShard::record_telemetry(std::uint32_t port, std::uint32_t id) {
  const Packet& packet = pool_[id];
  if (packet.hops >= Telemetry::kHops) return;
  const Port& out = ports_[port];
  Telemetry::Hop& hop = pool_.telemetry(id).hop[packet.hops];
  hop.time = now_;
  hop.sent_bytes = static_cast<std::int64_t>(out.bytes);
  hop.rate = world_.network.links()[world_.link_of_port[port]].rate.count();
  hop.queue_bytes =
      static_cast<std::uint32_t>(std::min<std::int64_t>(UINT32_MAX, lanes_[lane_of(port, packet.queue)].bytes));
  hop.port = port;
}

void PacketShard::drop(std::uint32_t port, std::uint32_t id) {
  ++world_.counters[port].dropped;
  ++totals_.dropped;
  pool_.release(id);
}

// The link failed while the packet was on it, or bit errors corrupted it.
bool PacketShard::lost_on_wire(std::uint32_t port, const Packet& packet) {
  const Port& in = ports_[port];
  const PortCounters& counters = world_.counters[port];
  if (now_ - in.delay - in.wire_time[packet.wire] < counters.failed_at) return true;
  if (counters.loss <= 0) return false;
  const std::uint64_t who = (std::uint64_t{packet.connection} << 32U) | packet.sequence;
  return draw(who ^ static_cast<std::uint64_t>(now_), port, world_.options.seed + 1) < counters.loss;
}

// The port cannot accept the packet: it is down, the packet exceeds its MTU, or the watchdog drops its packets.
bool PacketShard::refuses(std::uint32_t port, const Packet& packet) {
  if (!ports_[port].up) return true;
  const PortCounters& counters = world_.counters[port];
  if (counters.largest > 0 && packet.wire > counters.largest) return true;
  return lanes_[lane_of(port, packet.queue)].discarding;
}

inline void PacketShard::dispatch(const Event& event) {
  const auto kind = static_cast<EventKind>(event.key >> 60U);
  const auto id = static_cast<std::uint32_t>(event.key >> 32U & 0x0FFFFFFFU);
  switch (kind) {
    case EventKind::arrive:
      return arrive(id, static_cast<std::uint32_t>(event.key));
    case EventKind::port_free:
      return port_free(id);
    case EventKind::paced:
      return paced(id);
    case EventKind::begin:
      return begin(id);
    case EventKind::timeout:
      return timeout(id);
    case EventKind::refresh:
      return refresh(id);
    case EventKind::expire:
      return expire(id);
    case EventKind::storm:
      return storm(id);
    case EventKind::pull:
      return pull(id);
    case EventKind::watchdog:
      return watchdog(id);
    case EventKind::link_event:
      return link_event(id);
    case EventKind::converge:
      return converge(id / 2, id % 2 == 1);
    case EventKind::series:
      return sample();
    case EventKind::taken:
      return message_taken(id);
  }
}

// Packets, and the ports and connections they refer to, are in the L2 cache at best: they are prefetched a few events
// ahead, first the packet and then what it refers to.
inline void PacketShard::prefetch() {
  constexpr auto kArrive = static_cast<std::uint64_t>(EventKind::arrive);
  std::uint64_t key = 0;
  if (wheel_.peek(5, key) && key >> 60U == kArrive) {
    __builtin_prefetch(&pool_[static_cast<std::uint32_t>(key)]);
    __builtin_prefetch(&ports_[key >> 32U & 0x0FFFFFFFU]);
  }
  if (!wheel_.peek(2, key) || key >> 60U != kArrive) return;
  const Packet& packet = pool_[static_cast<std::uint32_t>(key)];
  if (!ports_[key >> 32U & 0x0FFFFFFFU].to_endpoint) {
    __builtin_prefetch(&ports_[routes_[packet.route]]);
  } else if (packet.kind == PacketKind::data) {
    __builtin_prefetch(&receivers_[packet.connection]);
  } else {
    __builtin_prefetch(&senders_[packet.connection]);
  }
}

void PacketShard::run_until(std::int64_t limit, std::uint64_t rounds) {
  Event event;
  while (rounds_done_ < rounds && wheel_.pop_before(limit, event)) {
    now_ = event.time;
    ++totals_.events;
    prefetch();
    dispatch(event);
  }
}

}  // namespace weft::netsim
