// Priority flow control (IEEE 802.1Qbb): pausing senders, obeying pause frames, the watchdog, and pause storms of NICs.
#include <algorithm>

#include "netsim/packet/hot.h"

namespace weft::netsim {

namespace {

constexpr std::uint16_t kPauseWire = 64;

}  // namespace

std::int64_t PacketShard::pause_time(std::uint32_t port) const {
  const Link& link = world_.network.links()[world_.link_of_port[port]];
  const Bytes quanta(std::int64_t{world_.options.switches.pause_quanta} * 64);  // 512 bits each
  return serialization_time(quanta, link.rate).count();
}

void PacketShard::record_pause(std::uint32_t in_port, std::uint32_t queue, std::uint32_t cause, bool stop) {
  if (pauses_.size() >= world_.options.pause_log) {
    ++pauses_not_kept_;
    return;
  }
  PauseRecord record;
  record.at = SimTime(now_);
  record.stopped = static_cast<LinkId>(world_.link_of_port[in_port]);
  if (cause != kNil) record.cause = static_cast<LinkId>(world_.link_of_port[cause]);
  record.priority = queue < world_.options.classes.size() ? world_.options.classes[queue].priority : 0;
  record.stop = stop;
  pauses_.push_back(record);
}

void PacketShard::stop_sender(std::uint32_t in_port, std::uint32_t queue, std::uint32_t cause) {
  const std::size_t lane = lane_of(in_port, queue);
  Ingress& account = world_.ingress[lane];
  account.stopping = true;
  record_pause(in_port, queue, cause, true);
  want_pause_frame(in_port, queue);
  if (account.refreshing) return;
  account.refreshing = true;
  at(now_ + pause_time(in_port) / 2, EventKind::refresh, lane);
}

void PacketShard::let_sender_go(std::uint32_t in_port, std::uint32_t queue) {
  world_.ingress[lane_of(in_port, queue)].stopping = false;
  record_pause(in_port, queue, kNil, false);
  want_pause_frame(in_port, queue);
}

// The frame carries the state at the time it is sent, so an XOFF and an XON that meet in the queue are one frame.
void PacketShard::want_pause_frame(std::uint32_t in_port, std::uint32_t queue) {
  const std::uint32_t back = world_.reverse[in_port];
  Port& port = ports_[back];
  port.pause_frames = static_cast<std::uint16_t>(port.pause_frames | (1U << queue));
  if (port.up && !port.scheduled && port.busy_until <= now_) {
    send_pause_frame(back);
  }
  wake(back);
}

void PacketShard::send_pause_frame(std::uint32_t port) {
  Port& out = ports_[port];
  const auto queue = static_cast<std::uint32_t>(__builtin_ctz(out.pause_frames));
  out.pause_frames = static_cast<std::uint16_t>(out.pause_frames & ~(1U << queue));
  const std::uint32_t id = pool_.allocate();
  Packet& frame = pool_[id];
  frame.kind = PacketKind::pause;
  frame.queue = static_cast<std::uint8_t>(queue);
  frame.wire = kPauseWire;
  if (world_.ingress[lane_of(world_.reverse[port], queue)].stopping) frame.flags = Packet::kStop;
  out.busy_until = now_ + out.wire_time[kPauseWire];
  out.bytes += kPauseWire;
  ++out.packets;
  deliver_later(out, out.busy_until + out.delay + world_.options.switches.response.count(), port, id);
}

void PacketShard::receive_pause(std::uint32_t port, const Packet& packet) {
  if ((packet.flags & Packet::kStop) != 0) {
    obey(port, packet.queue);
  } else {
    resume(port, packet.queue);
  }
}

void PacketShard::obey(std::uint32_t port, std::uint32_t queue) {
  Port& out = ports_[port];
  const auto lane = static_cast<std::uint32_t>(lane_of(port, queue));
  PauseClock& clock = world_.clocks[lane];
  clock.seen = now_;
  if (lanes_[lane].ignoring_pause || lanes_[lane].discarding) return;
  clock.until = now_ + pause_time(port);
  if ((out.paused >> queue & 1U) == 0) {
    out.paused = static_cast<std::uint16_t>(out.paused | (1U << queue));
    clock.since = now_;
    ++clock.count;
    ++totals_.pauses;
  }
  if (!clock.expiring) {
    clock.expiring = true;
    at(clock.until, EventKind::expire, lane);
  }
  if (world_.options.switches.watchdog != Watchdog::off) watch(lane);
}

void PacketShard::resume(std::uint32_t port, std::uint32_t queue) {
  Port& out = ports_[port];
  if ((out.paused >> queue & 1U) == 0) return;
  PauseClock& clock = world_.clocks[lane_of(port, queue)];
  clock.total += now_ - clock.since;
  out.paused = static_cast<std::uint16_t>(out.paused & ~(1U << queue));
  wake(port);
}

void PacketShard::refresh(std::uint32_t lane) {
  Ingress& account = world_.ingress[lane];
  account.refreshing = account.stopping;
  if (!account.stopping) return;
  const std::uint32_t in_port = lane / world_.queues;
  want_pause_frame(in_port, lane % world_.queues);
  at(now_ + pause_time(in_port) / 2, EventKind::refresh, lane);
}

void PacketShard::expire(std::uint32_t lane) {
  PauseClock& clock = world_.clocks[lane];
  clock.expiring = false;
  const std::uint32_t port = lane / world_.queues;
  const std::uint32_t queue = lane % world_.queues;
  if ((ports_[port].paused >> queue & 1U) == 0) return;
  if (clock.until <= now_) return resume(port, queue);
  clock.expiring = true;
  at(clock.until, EventKind::expire, lane);
}

// A NIC that pauses its leaf although its buffer is empty: every lossless priority of every port, until it is fixed.
void PacketShard::storm(std::uint32_t index) {
  const PauseStorm& storm = world_.options.pause_storms[index];
  const bool begins = now_ < storm.until.count();
  for (const LinkId link : world_.network.out_links(storm.endpoint)) {
    const std::uint32_t in_port = world_.reverse[world_.port_of_link[model::index_of(link)]];
    for (std::uint32_t queue = 0; queue < world_.queues; ++queue) {
      if (!world_.plans[queue].lossless) continue;
      if (begins) {
        stop_sender(in_port, queue, kNil);
      } else {
        let_sender_go(in_port, queue);
      }
    }
  }
  if (begins && storm.until != kNever) at(storm.until.count(), EventKind::storm, index);
}

void PacketShard::watch(std::uint32_t lane) {
  PauseClock& clock = world_.clocks[lane];
  if (clock.watched || ports_[lane / world_.queues].from_endpoint) return;
  clock.watched = true;
  at(std::max(now_, clock.since + world_.options.switches.watchdog_detection.count()), EventKind::watchdog, lane);
}

// SONiC's pfcwd: a queue that holds packets and was paused for the whole detection time is taken out of service, and
// restored when no pause frame has arrived for the restoration time.
void PacketShard::watchdog(std::uint32_t index) {
  PauseClock& clock = world_.clocks[index];
  Lane& lane = lanes_[index];
  const std::uint32_t port = index / world_.queues;
  const std::uint32_t queue = index % world_.queues;
  const SwitchOptions& options = world_.options.switches;
  clock.watched = false;
  if (lane.discarding || lane.ignoring_pause) {
    const std::int64_t quiet = clock.seen + options.watchdog_restoration.count();
    if (quiet <= now_) {
      lane.discarding = false;
      lane.ignoring_pause = false;
      settle_plain(port);
      return;
    }
    clock.watched = true;
    at(quiet, EventKind::watchdog, index);
    return;
  }
  if ((ports_[port].paused >> queue & 1U) == 0 || lane.head == kNil) return;
  if (now_ - clock.since < options.watchdog_detection.count()) return watch(index);
  ++totals_.watchdog_trips;
  clock.watched = true;
  at(now_ + options.watchdog_restoration.count(), EventKind::watchdog, index);
  if (options.watchdog == Watchdog::forward) {
    lane.ignoring_pause = true;
    resume(port, queue);
    return;
  }
  lane.discarding = true;
  ports_[port].plain = false;
  discard_queue(port, queue);
  resume(port, queue);
}

void PacketShard::discard_queue(std::uint32_t port, std::uint32_t queue) {
  Port& out = ports_[port];
  Lane& lane = lanes_[lane_of(port, queue)];
  std::uint32_t id = lane.head;
  lane.head = kNil;
  lane.bytes = 0;
  if (lane.first_ready == kNil) out.waiting = static_cast<std::uint16_t>(out.waiting & ~(1U << queue));
  while (id != kNil) {
    const std::uint32_t next = pool_[id].next;
    if (!out.from_endpoint) give_back(out.from, pool_[id]);
    drop(port, id);
    id = next;
  }
}

void PacketShard::who_holds_whom(std::vector<std::vector<std::uint32_t>>& held_by) {
  for (std::uint32_t port = 0; port < world_.ports.size(); ++port) {
    const Port& out = ports_[port];
    if (world_.shard_of[out.from] != number_ || out.from_endpoint) continue;
    for (std::uint32_t queue = 0; queue < world_.queues; ++queue) {
      if ((out.paused >> queue & 1U) == 0) continue;
      const auto lane = static_cast<std::uint32_t>(lane_of(port, queue));
      for (std::uint32_t id = lanes_[lane].head; id != kNil; id = pool_[id].next) {
        const std::uint32_t in_port = pool_[id].ingress;
        if ((ports_[in_port].paused >> queue & 1U) == 0) continue;
        std::vector<std::uint32_t>& holders = held_by[lane_of(in_port, queue)];
        if (std::find(holders.begin(), holders.end(), lane) == holders.end()) holders.push_back(lane);
      }
    }
  }
}

}  // namespace weft::netsim
