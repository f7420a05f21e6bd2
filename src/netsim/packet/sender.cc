// The sending side of connections: what may be sent, when, and what ACKs, NACKs, notifications and timeouts change.
#include <algorithm>
#include <cmath>

#include "netsim/packet/hot.h"

namespace weft::netsim {

void PacketShard::begin(std::uint32_t transfer) {
  if (world_.transfers[transfer].waiting == 0) release_transfer(transfer);
}

void PacketShard::release_transfer(std::uint32_t transfer) {
  TransferState& state = world_.transfers[transfer];
  const std::int64_t start = world_.graph.transfers()[transfer].start.count();
  if (now_ < start) return at(start, EventKind::begin, transfer);
  if (state.released) return;
  state.released = true;
  post_rounds(transfer);
}

void PacketShard::post_rounds(std::uint32_t transfer) {
  TransferState& state = world_.transfers[transfer];
  const Transfer& plan = world_.graph.transfers()[transfer];
  const std::uint32_t target = state.released ? std::min(plan.rounds, 1 + state.allowed) : 0;
  while (state.posted < target) {
    if (state.posted == 0) world_.started[transfer] = SimTime(now_);
    if (!world_.first_instance.empty()) {
      world_.instance_times[world_.first_instance[transfer] + state.posted] = SimTime(now_);
    }
    ++state.posted;
    for (std::uint32_t part = 0; part < plan.queue_pairs; ++part) post_message(state.first_connection + part);
  }
}

void PacketShard::post_message(std::uint32_t connection) {
  Sender& sender = senders_[connection];
  Control& control = world_.controls[connection];
  const TransportOptions& transport = world_.transport_of(sender.class_index);
  if (control.broken) return;
  CHECK(sender.posted <= kNil - sender.message_packets, "a connection ran out of packet numbers");
  sender.posted += sender.message_packets;
  if (transport.kind == Transport::receiver) {
    control.credit += unasked_packets(control, sender);
  }
  if (control.host_overhead > 0) sender.next_send = std::max(sender.next_send, now_ + control.host_overhead);
  arm_timeout(connection);
  activate(connection);
}

bool PacketShard::may_send(std::uint32_t connection) const {
  const Sender& sender = senders_[connection];
  if (sender.resending) return true;
  if (sender.next >= sender.posted) return false;
  if (!sender.windowed) return true;
  if (sender.pulled) return world_.controls[connection].credit > 0;
  return sender.in_flight == 0 || sender.in_flight + sender.full_wire <= sender.window;
}

// Queues an idle or blocked connection at its port, now or when pacing allows.
void PacketShard::activate(std::uint32_t connection) {
  Sender& sender = senders_[connection];
  if (sender.state == SenderState::ready || sender.state == SenderState::paced) return;
  if (!may_send(connection)) {
    sender.state = sender.next < sender.posted ? SenderState::blocked : SenderState::idle;
    return;
  }
  if (sender.next_send > now_) {
    sender.state = SenderState::paced;
    at(sender.next_send, EventKind::paced, connection);
    return;
  }
  make_ready(connection);
  kick(sender.port);
}

void PacketShard::make_ready(std::uint32_t connection) {
  Sender& sender = senders_[connection];
  Lane& lane = lanes_[lane_of(sender.port, sender.queue)];
  sender.state = SenderState::ready;
  sender.next_ready = kNil;
  if (lane.first_ready == kNil) {
    lane.first_ready = connection;
  } else {
    senders_[lane.last_ready].next_ready = connection;
  }
  lane.last_ready = connection;
  Port& port = ports_[sender.port];
  port.waiting = static_cast<std::uint16_t>(port.waiting | (1U << sender.queue));
}

// Serves a port immediately if it is free, or schedules it.
void PacketShard::kick(std::uint32_t port) {
  const Port& out = ports_[port];
  if (!out.scheduled && out.busy_until <= now_) {
    serve(port);
  } else {
    wake(port);
  }
}

void PacketShard::paced(std::uint32_t connection) {
  Sender& sender = senders_[connection];
  if (sender.state != SenderState::paced) return;
  sender.state = SenderState::idle;
  activate(connection);
}

void PacketShard::serve_endpoint_queue(std::uint32_t port, std::uint32_t queue) {
  Port& out = ports_[port];
  Lane& lane = lanes_[lane_of(port, queue)];
  if (lane.head != kNil) {
    const std::uint32_t id = lane.head;
    lane.head = pool_[id].next;
    lane.bytes -= pool_[id].wire;
    if (lane.head == kNil && lane.first_ready == kNil) {
      out.waiting = static_cast<std::uint16_t>(out.waiting & ~(1U << queue));
    }
    transmit(port, id);
    return;
  }
  const std::uint32_t connection = lane.first_ready;
  lane.first_ready = senders_[connection].next_ready;
  if (lane.first_ready == kNil) out.waiting = static_cast<std::uint16_t>(out.waiting & ~(1U << queue));
  send_data(port, connection);
}

void PacketShard::send_data(std::uint32_t port, std::uint32_t connection) {
  Sender& sender = senders_[connection];
  sender.state = SenderState::idle;
  if (!may_send(connection) || sender.port != port) return activate(connection);
  const std::uint32_t id = pool_.allocate();
  Packet& packet = pool_[id];
  if (pool_.with_telemetry()) pool_.telemetry(id) = {};
  packet.connection = connection;
  packet.route = sender.route;
  packet.queue = sender.queue;
  packet.stamp = static_cast<std::uint32_t>(now_ >> 10);
  bool last = false;
  if (sender.resending) {
    std::vector<std::uint32_t>& resend = world_.controls[connection].resend;
    packet.sequence = resend.back();
    resend.pop_back();
    sender.resending = !resend.empty();
    last = (packet.sequence + 1) % sender.message_packets == 0;
  } else {
    packet.sequence = sender.next++;
    last = sender.to_message_end == 1;
    sender.to_message_end = last ? sender.message_packets : sender.to_message_end - 1;
    if (sender.pulled) --world_.controls[connection].credit;
  }
  packet.wire = last ? sender.last_wire : sender.full_wire;
  if (last) packet.flags = Packet::kLast;
  if (packet.sequence < sender.highest) {
    packet.flags |= Packet::kRetransmitted;
    ++totals_.retransmitted;
  } else {
    sender.highest = packet.sequence + 1;
    ++totals_.data_packets;
  }
  if (sender.windowed) sender.in_flight += packet.wire;
  const std::uint16_t wire = packet.wire;
  if (!ports_[port].plain && refuses(port, packet)) {
    drop(port, id);
    ports_[port].busy_until = now_ + ports_[port].wire_time[wire];
  } else {
    transmit(port, id);
  }
  settle_after_send(connection, wire);
}

void PacketShard::settle_after_send(std::uint32_t connection, std::uint16_t wire) {
  Sender& sender = senders_[connection];
  const std::int64_t free = ports_[sender.port].busy_until;
  sender.next_send = free;
  if (sender.throttled) {
    Control& control = world_.controls[connection];
    const TransportOptions& transport = world_.transport_of(sender.class_index);
    if (transport.kind == Transport::dcqcn && dcqcn_advance(control, transport.dcqcn, now_, wire)) {
      set_rate(connection);
    }
    sender.next_send = std::max<std::int64_t>(free, now_ + std::llround(sender.byte_time * wire));
  }
  if (!may_send(connection)) {
    sender.state = sender.next < sender.posted ? SenderState::blocked : SenderState::idle;
  } else if (sender.next_send <= free) {
    make_ready(connection);
  } else {
    sender.state = SenderState::paced;
    at(sender.next_send, EventKind::paced, connection);
  }
}

void PacketShard::set_rate(std::uint32_t connection) {
  Sender& sender = senders_[connection];
  const Control& control = world_.controls[connection];
  sender.byte_time = 8e12 / control.rate;
  const Link& link = world_.network.links()[world_.link_of_port[sender.port]];
  sender.throttled = control.rate < static_cast<double>(link.rate.count());
}

void PacketShard::receive_ack(std::uint32_t connection, std::uint32_t id) {
  Sender& sender = senders_[connection];
  const Packet& packet = pool_[id];
  const std::uint32_t before = sender.acked;
  if (packet.sequence > sender.acked) {
    sender.acked = packet.sequence;
    // A timeout may have gone back although all packets had arrived.
    if (sender.next < sender.acked) skip_to(connection, sender.acked);
  }
  if (sender.windowed) {
    // Receivers that accept packets in any order acknowledge each one; the others acknowledge cumulatively.
    const std::uint32_t one = (packet.flags & Packet::kDelivered) != 0 ? 1 : 0;
    const std::int64_t bytes = std::int64_t{sender.one_by_one ? one : sender.acked - before} * sender.full_wire;
    sender.in_flight = sender.acked == sender.next ? 0 : std::max<std::int64_t>(0, sender.in_flight - bytes);
    if (sender.adjusts) adjust_window(connection, id, before, bytes);
    if (sender.state == SenderState::blocked || sender.state == SenderState::idle) activate(connection);
  }
  if (!world_.transport_of(sender.class_index).ends_at_receiver) sender_finished(connection);
}

void PacketShard::adjust_window(std::uint32_t connection, std::uint32_t id, std::uint32_t before, std::int64_t bytes) {
  Sender& sender = senders_[connection];
  Control& control = world_.controls[connection];
  const Packet& packet = pool_[id];
  const TransportOptions& transport = world_.transport_of(sender.class_index);
  AckInfo ack;
  ack.now = now_;
  ack.round_trip = std::int64_t{static_cast<std::uint32_t>(now_ >> 10) - packet.stamp} << 10;
  ack.sequence = sender.acked;
  ack.next = sender.next;
  ack.marked = (packet.flags & Packet::kMarked) != 0;
  ack.moved = sender.acked > before;
  ack.bytes = bytes;
  switch (transport.kind) {
    case Transport::hpcc:
      ack.telemetry = pool_.with_telemetry() ? &pool_.telemetry(id) : nullptr;
      hpcc_on_ack(control, transport, ack);
      set_rate(connection);
      break;
    case Transport::nscc:
      nscc_on_ack(control, transport, ack);
      break;
    case Transport::tcp:
      if (tcp_on_ack(control, transport, ack) && sender.acked < sender.highest) resend(connection, sender.acked);
      break;
    case Transport::receiver:
    case Transport::dcqcn:
    case Transport::pfc_only:
      break;
  }
  sender.window = static_cast<std::int64_t>(control.window);
}

void PacketShard::resend(std::uint32_t connection, std::uint32_t sequence) {
  Control& control = world_.controls[connection];
  if (std::find(control.resend.begin(), control.resend.end(), sequence) != control.resend.end()) return;
  control.resend.insert(control.resend.begin(), sequence);
  senders_[connection].resending = true;
}

void PacketShard::receive_nack(std::uint32_t connection, const Packet& packet) {
  Sender& sender = senders_[connection];
  const TransportOptions& transport = world_.transport_of(sender.class_index);
  if (!sender.one_by_one) {
    sender.acked = std::max(sender.acked, packet.sequence);
    if (packet.sequence < sender.next) go_back(connection, packet.sequence);
  } else if (packet.sequence >= sender.acked) {
    on_loss(world_.controls[connection], transport, false);
    sender.window = static_cast<std::int64_t>(world_.controls[connection].window);
    resend(connection, packet.sequence);
  }
  activate(connection);
}

void PacketShard::receive_notification(std::uint32_t connection) {
  const Sender& sender = senders_[connection];
  ++totals_.notifications;
  dcqcn_notify(world_.controls[connection], world_.transport_of(sender.class_index).dcqcn, now_);
  set_rate(connection);
}

void PacketShard::receive_pull(std::uint32_t connection) {
  ++world_.controls[connection].credit;
  activate(connection);
}

void PacketShard::skip_to(std::uint32_t connection, std::uint32_t sequence) {
  Sender& sender = senders_[connection];
  sender.next = sequence;
  sender.to_message_end = sender.message_packets - sequence % sender.message_packets;
}

void PacketShard::go_back(std::uint32_t connection, std::uint32_t sequence) {
  Sender& sender = senders_[connection];
  // Packets that were granted and lost need no new credit.
  if (sender.pulled) world_.controls[connection].credit += sender.next - sequence;
  skip_to(connection, sequence);
  sender.in_flight = 0;
}

void PacketShard::arm_timeout(std::uint32_t connection) {
  Control& control = world_.controls[connection];
  if (control.timer) return;
  const Sender& sender = senders_[connection];
  control.timer = true;
  control.timer_acked = sender.acked;
  at(now_ + world_.transport_of(sender.class_index).timeout.count(), EventKind::timeout, connection);
}

void PacketShard::timeout(std::uint32_t connection) {
  Sender& sender = senders_[connection];
  Control& control = world_.controls[connection];
  const TransportOptions& transport = world_.transport_of(sender.class_index);
  control.timer = false;
  if (sender.acked >= sender.posted) return;
  const bool moved = control.timer_acked != sender.acked;
  const bool waits = sender.next > sender.acked;  // packets are in flight
  if (!moved && waits && ++control.timeouts > transport.retries) {
    control.broken = true;
    sender.posted = sender.next;
    ++totals_.broken;
    return;
  }
  arm_timeout(connection);
  if (moved) control.timeouts = 0;
  if (moved || !waits) return;
  ++totals_.timeouts;
  on_loss(control, transport, true);
  if (transport.kind != Transport::dcqcn) sender.window = static_cast<std::int64_t>(control.window);
  if (sender.one_by_one && transport.kind != Transport::tcp) {
    sender.in_flight = 0;
    resend(connection, sender.acked);
  } else {
    control.resend.clear();
    sender.resending = false;
    go_back(connection, sender.acked);
  }
  activate(connection);
}

// For classes whose transfers end with the last ACK.
void PacketShard::sender_finished(std::uint32_t connection) {
  const Sender& sender = senders_[connection];
  Control& control = world_.controls[connection];
  while (std::uint64_t{control.rounds_acked + 1} * sender.message_packets <= sender.acked) {
    ++control.rounds_acked;
    const TransferState& state = world_.transfers[sender.transfer];
    const std::uint32_t parts = world_.graph.transfers()[sender.transfer].queue_pairs;
    std::uint32_t least = UINT32_MAX;
    for (std::uint32_t p = 0; p < parts; ++p) {
      least = std::min(least, world_.controls[state.first_connection + p].rounds_acked);
    }
    finish_rounds(sender.transfer, least);
  }
}

}  // namespace weft::netsim
