// The code every packet passes at every hop, to be inlined into the handlers: sending, queueing, waking a port.
#pragma once

#include <algorithm>

#include "netsim/packet/shard.h"

namespace weft::netsim {

[[gnu::always_inline]] inline void PacketShard::deliver_later(const Port& port, std::int64_t when,
                                                              std::uint32_t port_id, std::uint32_t id) {
  const Event event{when, key(EventKind::arrive, port_id, id)};
  if (port.shard_to == number_) {
    wheel_.push(event);
    return;
  }
  std::vector<Crossing>& box = outboxes_[port.shard_to];
  box.push_back({event, pool_[id], {}});
  if (pool_.with_telemetry()) box.back().telemetry = pool_.telemetry(id);
  pool_.release(id);
}

inline void PacketShard::transmit(std::uint32_t port, std::uint32_t id) {
  Packet& packet = pool_[id];
  Port& out = ports_[port];
  const std::int64_t length = out.wire_time[packet.wire];
  out.busy_until = now_ + length;
  out.bytes += packet.wire;
  ++out.packets;
  last_progress_ = now_;
  const bool data = packet.kind == PacketKind::data;
  totals_.data_hops += data ? 1 : 0;
  if (data && pool_.with_telemetry()) record_telemetry(port, id);
  std::int64_t when = out.busy_until + out.delay;
  // Cut-through: the next switch may start once it has the header, unless it has to wait for a slower wire.
  if (out.cut_through) when -= length - out.wire_time[std::min<std::uint16_t>(packet.wire, 64)];
  deliver_later(out, when, port, id);
}

// Ensures that the port serves its queues when it is free.
[[gnu::always_inline]] inline void PacketShard::wake(std::uint32_t port) {
  Port& out = ports_[port];
  if (out.scheduled || ((out.waiting & ~out.paused) == 0 && out.pause_frames == 0)) return;
  out.scheduled = true;
  at(std::max(now_, out.busy_until), EventKind::port_free, port);
}

inline void PacketShard::append(Lane& lane, Port& port, std::uint32_t id, Packet& packet) {
  lane.area += lane.bytes * ((now_ - lane.changed) / 1000);
  lane.changed = now_;
  packet.next = kNil;
  if (lane.head == kNil) {
    lane.head = id;
  } else {
    pool_[lane.tail].next = id;
  }
  lane.tail = id;
  lane.bytes += packet.wire;
  lane.most_bytes = std::max(lane.most_bytes, lane.bytes);
  port.waiting = static_cast<std::uint16_t>(port.waiting | (1U << packet.queue));
}

}  // namespace weft::netsim
