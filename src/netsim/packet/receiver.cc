// The receiving side of connections: ordering, ACKs, notifications, credits, and what the end of a message triggers.
#include <algorithm>

#include "netsim/packet/hot.h"

namespace weft::netsim {

namespace {

constexpr std::uint32_t kReorderLimit = 256;  // packets; a gap that old under spraying counts as a loss

}  // namespace

void PacketShard::deliver(std::uint32_t, std::uint32_t id) {
  Packet& packet = pool_[id];
  switch (packet.kind) {
    case PacketKind::data:
      return receive_data(id);
    case PacketKind::ack:
      receive_ack(packet.connection, id);
      break;
    case PacketKind::nack:
      receive_nack(packet.connection, packet);
      break;
    case PacketKind::cnp:
      receive_notification(packet.connection);
      break;
    case PacketKind::pull:
      receive_pull(packet.connection);
      break;
    case PacketKind::pause:
      break;
  }
  pool_.release(id);
}

void PacketShard::receive_data(std::uint32_t id) {
  Packet& packet = pool_[id];
  const std::uint32_t connection = packet.connection;
  Receiver& receiver = receivers_[connection];
  const TransportOptions& transport = world_.transport_of(receiver.class_index);
  const bool marked = (packet.flags & Packet::kMarked) != 0;
  if (marked && transport.kind == Transport::dcqcn &&
      now_ - receiver.last_cnp >= transport.dcqcn.cnp_interval.count()) {
    receiver.last_cnp = now_;
    send_control(connection, PacketKind::cnp, 0);
  }
  if (transport.kind == Transport::receiver) owe_pulls(connection, packet);
  const std::uint32_t sequence = packet.sequence;
  const bool last = (packet.flags & Packet::kLast) != 0;
  const bool fresh = accept(connection, packet);
  ++receiver.since_ack;
  const bool in_order = fresh && receiver.expected == sequence + 1;
  if (in_order && !last && receiver.since_ack < transport.ack_every) {
    pool_.release(id);
    return;
  }
  if (!fresh && !receiver.tolerant && sequence >= receiver.expected) {
    pool_.release(id);
    return;
  }
  receiver.since_ack = 0;
  const std::uint32_t stamp = packet.stamp;
  Packet& ack = packet;
  ack.kind = PacketKind::ack;
  ack.sequence = receiver.expected;
  ack.wire = static_cast<std::uint16_t>(transport.control.count());
  ack.route = receiver.route;
  ack.stamp = stamp;
  ack.hops = 0;
  ack.flags = static_cast<std::uint8_t>((marked ? Packet::kMarked : 0) | (fresh ? Packet::kDelivered : 0));
  send_from_endpoint(receiver.port, id);
}

// True if the packet was new and is accepted.
bool PacketShard::accept(std::uint32_t connection, const Packet& packet) {
  Receiver& receiver = receivers_[connection];
  const std::uint32_t sequence = packet.sequence;
  if (sequence < receiver.highest && (packet.flags & Packet::kRetransmitted) == 0 && sequence >= receiver.expected) {
    ++totals_.out_of_order;
  }
  if (sequence == receiver.expected) {
    receiver.complained = false;
    receiver.highest = std::max(receiver.highest, sequence + 1);
    advance(connection);
    if (receiver.early) take_early(connection);
    return true;
  }
  if (sequence < receiver.expected) return false;
  if (!receiver.tolerant) {
    if (!receiver.complained) {
      receiver.complained = true;
      send_control(connection, PacketKind::nack, receiver.expected);
    }
    return false;
  }
  const std::uint32_t highest = receiver.highest;
  const bool fresh = accept_early(receiver, sequence);
  receiver.highest = std::max(highest, sequence + 1);
  if (fresh) report_gap(connection, highest, sequence);
  return fresh;
}

bool PacketShard::accept_early(Receiver& receiver, std::uint32_t sequence) {
  if (!receiver.early) receiver.early = std::make_unique<std::vector<std::uint64_t>>(4, 0);
  std::vector<std::uint64_t>& bits = *receiver.early;
  // A ring buffer of bits by packet number: it must cover all from the first missing to the last received.
  const std::uint32_t span = sequence - receiver.expected + 1;
  if (span > bits.size() * 64) {
    std::vector<std::uint64_t> larger(bits.size() * 2, 0);
    while (larger.size() * 64 < span) larger.resize(larger.size() * 2, 0);
    for (std::uint32_t s = receiver.expected; s < receiver.highest; ++s) {
      const std::uint32_t from = s % static_cast<std::uint32_t>(bits.size() * 64);
      const std::uint32_t to = s % static_cast<std::uint32_t>(larger.size() * 64);
      if ((bits[from / 64] >> (from % 64) & 1U) != 0) larger[to / 64] |= std::uint64_t{1} << (to % 64);
    }
    bits = std::move(larger);
  }
  const std::uint32_t place = sequence % static_cast<std::uint32_t>(bits.size() * 64);
  const std::uint64_t bit = std::uint64_t{1} << (place % 64);
  if ((bits[place / 64] & bit) != 0) return false;
  bits[place / 64] |= bit;
  return true;
}

void PacketShard::take_early(std::uint32_t connection) {
  Receiver& receiver = receivers_[connection];
  std::vector<std::uint64_t>& bits = *receiver.early;
  while (receiver.expected < receiver.highest) {
    const std::uint32_t place = receiver.expected % static_cast<std::uint32_t>(bits.size() * 64);
    const std::uint64_t bit = std::uint64_t{1} << (place % 64);
    if ((bits[place / 64] & bit) == 0) return;
    bits[place / 64] &= ~bit;
    advance(connection);
  }
}

// The next packet in order has arrived.
void PacketShard::advance(std::uint32_t connection) {
  Receiver& receiver = receivers_[connection];
  ++receiver.expected;
  if (--receiver.to_message_end > 0) {
    delivered_ += receiver.full_payload;
    return;
  }
  delivered_ += receiver.last_payload;
  receiver.to_message_end = receiver.message_packets;
  message_ended(connection);
}

// On one path a gap is a loss immediately; with packet spraying only an old gap is.
void PacketShard::report_gap(std::uint32_t connection, std::uint32_t highest, std::uint32_t sequence) {
  Receiver& receiver = receivers_[connection];
  if (world_.transport_of(receiver.class_index).kind == Transport::tcp) return;
  if (!world_.per_packet_routing) {
    for (std::uint32_t missing = highest; missing < sequence; ++missing) {
      send_control(connection, PacketKind::nack, missing);
    }
    return;
  }
  if (sequence - receiver.expected >= kReorderLimit && !receiver.complained) {
    receiver.complained = true;
    send_control(connection, PacketKind::nack, receiver.expected);
  }
}

void PacketShard::send_control(std::uint32_t connection, PacketKind kind, std::uint32_t sequence) {
  const Receiver& receiver = receivers_[connection];
  const std::uint32_t id = pool_.allocate();
  Packet& packet = pool_[id];
  packet.kind = kind;
  packet.connection = connection;
  packet.sequence = sequence;
  packet.route = receiver.route;
  packet.queue = kind == PacketKind::cnp ? static_cast<std::uint8_t>(world_.queues - 1) : receiver.queue;
  packet.wire = static_cast<std::uint16_t>(world_.transport_of(receiver.class_index).control.count());
  send_from_endpoint(receiver.port, id);
}

void PacketShard::send_from_endpoint(std::uint32_t port, std::uint32_t id) {
  Packet& packet = pool_[id];
  Port& out = ports_[port];
  const std::uint32_t bit = 1U << packet.queue;
  if (!out.plain && refuses(port, packet)) return drop(port, id);
  if (out.busy_until <= now_ && (out.waiting | out.pause_frames) == 0 && (out.paused & bit) == 0) {
    transmit(port, id);
    return;
  }
  append(lanes_[lane_of(port, packet.queue)], out, id, packet);
  wake(port);
}

void PacketShard::message_ended(std::uint32_t connection) {
  const std::int64_t overhead = world_.controls[connection].host_overhead;
  if (overhead == 0) return message_taken(connection);
  at(now_ + overhead, EventKind::taken, connection);
}

void PacketShard::message_taken(std::uint32_t connection) {
  Receiver& receiver = receivers_[connection];
  ++receiver.rounds_done;
  if (!world_.transport_of(receiver.class_index).ends_at_receiver) return;
  const Transfer& plan = world_.graph.transfers()[receiver.transfer];
  std::uint32_t least = receiver.rounds_done;
  for (std::uint32_t part = 0; part < plan.queue_pairs; ++part) {
    const std::uint32_t other = world_.transfers[receiver.transfer].first_connection + part;
    least = std::min(least, receivers_[other].rounds_done);
  }
  finish_rounds(receiver.transfer, least);
}

// Advances a transfer to `count` completed rounds.
void PacketShard::finish_rounds(std::uint32_t transfer, std::uint32_t count) {
  while (world_.transfers[transfer].done < count) round_finished(transfer);
}

void PacketShard::round_finished(std::uint32_t transfer) {
  TransferState& state = world_.transfers[transfer];
  if (!world_.first_instance.empty()) {
    SimTime& time = world_.instance_times[world_.first_instance[transfer] + state.done];
    time = SimTime(now_ - time.count());
  }
  ++state.done;
  ++rounds_done_;
  last_completion_ = now_;
  const auto id = static_cast<TransferId>(transfer);
  for (const TransferId next : world_.graph.round_followers(id)) {
    ++world_.transfers[model::index_of(next)].allowed;
    post_rounds(model::index_of(next));
  }
  if (state.done == world_.graph[id].rounds) transfer_finished(transfer);
}

void PacketShard::transfer_finished(std::uint32_t transfer) {
  world_.finished[transfer] = SimTime(now_);
  for (const TransferId next : world_.graph.dependents(static_cast<TransferId>(transfer))) {
    if (--world_.transfers[model::index_of(next)].waiting == 0) release_transfer(model::index_of(next));
  }
}

// The first packet of a message carries its length; the rest of the message is granted at the rate of the link.
void PacketShard::owe_pulls(std::uint32_t connection, const Packet& packet) {
  Receiver& receiver = receivers_[connection];
  if (packet.sequence % receiver.message_packets != 0 || (packet.flags & Packet::kRetransmitted) != 0) return;
  receiver.pulls_owed += receiver.message_packets - receiver.unasked;
  if (receiver.pulls_owed == 0 || receiver.in_pull_list) return;
  receiver.in_pull_list = true;
  receiver.next_pull = kNil;
  PullList& list = pull_lists_[receiver.port];
  if (list.first == kNil) {
    list.first = connection;
  } else {
    receivers_[list.last].next_pull = connection;
  }
  list.last = connection;
  if (list.running) return;
  list.running = true;
  at(now_, EventKind::pull, receiver.port);
}

void PacketShard::pull(std::uint32_t port) {
  PullList& list = pull_lists_[port];
  if (list.first == kNil) {
    list.running = false;
    return;
  }
  const std::uint32_t connection = list.first;
  Receiver& receiver = receivers_[connection];
  list.first = receiver.next_pull;
  send_control(connection, PacketKind::pull, 0);
  if (--receiver.pulls_owed > 0) {
    receiver.next_pull = kNil;
    if (list.first == kNil) {
      list.first = connection;
    } else {
      receivers_[list.last].next_pull = connection;
    }
    list.last = connection;
  } else {
    receiver.in_pull_list = false;
  }
  const std::uint16_t wire = receiver.full_wire;
  at(now_ + ports_[world_.reverse[port]].wire_time[wire], EventKind::pull, port);
}

}  // namespace weft::netsim
