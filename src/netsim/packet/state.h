// State of the packet engine, in flat arrays whose entries have one owner each: a node's events change only entries of
// that node's shard, and the two ends of a cable or a connection are separate so that they can be on different shards.
// Ports are directed links renumbered by the engine, ordered by sending node.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "netsim/packet/packet.h"
#include "netsim/sim/options.h"
#include "netsim/sim/result.h"

namespace weft::netsim {

// Sending end of a link. Hot: one cache line.
struct alignas(64) Port {
  std::int64_t busy_until = 0;              // ps
  std::int64_t delay = 0;                   // ps, of the cable and of the node at its end
  const std::int64_t* wire_time = nullptr;  // ps by bytes on the wire
  std::uint64_t bytes = 0;                  // total sent
  std::uint64_t packets = 0;
  std::uint32_t from = 0;  // nodes
  std::uint32_t to = 0;
  std::uint16_t waiting = 0;       // non-empty queues, one bit each
  std::uint16_t paused = 0;        // queues the other end has stopped
  std::uint16_t pause_frames = 0;  // queues for which a pause frame is to be sent, before anything else
  bool scheduled = false;          // an event will serve this port when it is free
  bool up = true;
  bool plain = true;  // up, no size limit, no errors, no queue disabled by the watchdog
  bool to_endpoint : 1 = false;
  bool from_endpoint : 1 = false;
  bool cut_through : 1 = false;  // the node at its end need not receive the whole packet first
  std::uint8_t shard_to = 0;
  std::uint8_t last_queue = 0;  // of weighted round robin
};
static_assert(sizeof(Port) == 64);

// A queue of a port. At endpoints it also holds the connections that are ready to send.
struct Lane {
  std::uint32_t head = kNil;  // packets
  std::uint32_t tail = kNil;
  std::uint32_t first_ready = kNil;  // connections
  std::uint32_t last_ready = kNil;
  std::int64_t bytes = 0;
  std::int64_t most_bytes = 0;
  std::int64_t area = 0;        // byte-nanoseconds, for the mean depth
  std::int64_t changed = 0;     // when `area` was last updated, ps
  std::int32_t deficit = 0;     // bytes, of weighted round robin
  bool discarding = false;      // the watchdog drops its packets
  bool ignoring_pause = false;  // or lets it send despite pauses
};

// Cold data: pauses of a queue.
struct PauseClock {
  std::int64_t since = 0;  // ps; of the current pause
  std::int64_t until = 0;  // ps; it expires then
  std::int64_t total = 0;
  std::uint32_t count = 0;
  std::int64_t seen = INT64_MIN / 2;  // ps; time of the last pause frame
  bool watched = false;               // a watchdog event is scheduled
  bool expiring = false;              // an event will check whether it expired
};

// Buffer that the receiving node holds for a link, by priority.
struct Ingress {
  std::int64_t shared = 0;  // bytes in whole cells
  std::int64_t headroom = 0;
  std::int64_t most_headroom = 0;
  bool stopping = false;    // the sender was paused
  bool refreshing = false;  // an event will renew the pause
};

struct SwitchState {
  std::int64_t shared_used = 0;
  std::int64_t shared_size = 0;
  std::int64_t headroom = 0;              // of each ingress priority
  const std::uint32_t* charge = nullptr;  // bytes in whole cells by bytes on the wire
};

// Rarely used counters of a link.
struct PortCounters {
  std::uint64_t marked = 0;
  std::uint64_t dropped = 0;
  double loss = 0;                     // probability that a packet is lost on the wire
  std::uint32_t largest = 0;           // largest packet in wire bytes; 0: no limit
  std::int64_t failed_at = INT64_MIN;  // ps; packets on the wire at that time are lost
};

enum class SenderState : std::uint8_t { idle, ready, paced, blocked };

// Sending side of a connection. A connection carries the bytes of one queue pair of one transfer, round after round.
struct Sender {
  std::int64_t next_send = 0;  // ps; pacing
  double byte_time = 0;        // ps per byte at the current rate
  std::uint32_t next = 0;      // number of the next packet to send
  std::uint32_t posted = 0;    // packets that may be sent
  std::uint32_t acked = 0;     // all before this have arrived
  std::uint32_t message_packets = 0;
  std::uint32_t port = 0;
  std::uint32_t route = 0;  // index of its second port in the table of routes
  std::uint32_t next_ready = kNil;
  std::uint32_t transfer = 0;
  std::uint32_t to_message_end = 0;  // packets until the current message ends
  std::uint16_t full_wire = 0;
  std::uint16_t last_wire = 0;
  std::uint8_t queue = 0;
  std::uint8_t class_index = 0;
  SenderState state = SenderState::idle;
  bool windowed = false;       // the bytes in flight are limited
  bool adjusts = false;        // ACKs change the window
  bool pulled = false;         // the receiver limits it
  bool throttled = false;      // its rate is below line rate
  bool resending = false;      // Control::resend holds something
  bool one_by_one = false;     // its receiver accepts packets in any order and acknowledges each
  std::uint32_t highest = 0;   // first number never sent
  std::int64_t window = 0;     // bytes
  std::int64_t in_flight = 0;  // bytes
};

// Congestion control of a connection; each transport uses its own part.
struct Control {
  std::int64_t line_rate = 0;      // bits/s; of the first link, or of the host's software
  std::int64_t host_overhead = 0;  // ps per message, at each end
  double rate = 0;                 // bits/s
  double target = 0;
  double alpha = 1;
  std::int64_t alpha_time = 0;  // ps
  std::int64_t increase_time = 0;
  std::int64_t last_decrease = 0;
  std::int64_t byte_count = 0;
  std::uint32_t time_stages = 0;
  std::uint32_t byte_stages = 0;
  double window = 0;          // bytes
  double reference = 0;       // hpcc: W_c; tcp: slow start threshold
  std::int64_t base_rtt = 0;  // ps
  std::uint32_t update_sequence = 0;
  std::int32_t stages = 0;     // hpcc: incStage; tcp: duplicate ACKs
  double utilization = 0;      // hpcc: U
  std::int64_t credit = 0;     // receiver: packets this sender may send
  std::int64_t achieved = 0;   // nscc: bytes acknowledged since the last adjustment
  std::uint32_t timeouts = 0;  // in a row
  bool timer = false;          // a timeout event is scheduled
  bool broken = false;         // aborted
  bool decreased = false;
  bool recovering = false;
  std::uint32_t timer_acked = 0;  // acknowledged packets when the timeout was set
  std::uint32_t rounds_acked = 0;
  std::vector<std::uint32_t> resend;  // numbers to retransmit, last one first
  std::unique_ptr<Telemetry> telemetry;
};

struct Receiver {
  std::uint32_t expected = 0;  // all before this have arrived
  std::uint32_t highest = 0;   // first number after the highest that arrived
  std::uint32_t to_message_end = 0;
  std::uint32_t message_packets = 0;
  std::uint32_t since_ack = 0;
  std::uint32_t route = 0;  // of ACKs: second port
  std::uint32_t port = 0;   // of ACKs
  std::uint32_t rounds_done = 0;
  std::uint8_t queue = 0;
  std::uint8_t class_index = 0;
  bool complained = false;  // a NACK was sent for the current gap
  bool tolerant = false;    // accepts packets out of order
  std::int64_t last_cnp = INT64_MIN / 2;
  std::uint32_t transfer = 0;
  std::uint16_t full_wire = 0;
  std::uint32_t unasked = 0;  // receiver-driven: packets of a message that are sent without credit
  std::uint32_t full_payload = 0;
  std::uint32_t last_payload = 0;
  std::uint32_t pulls_owed = 0;    // receiver-driven: packets not yet granted
  std::uint32_t next_pull = kNil;  // in the list of connections that wait to be pulled
  bool in_pull_list = false;
  std::unique_ptr<std::vector<std::uint64_t>> early;  // bitmap of packets beyond `expected`
};

struct TransferState {
  std::uint32_t waiting = 0;  // dependencies that have not ended
  std::uint32_t allowed = 0;  // rounds that may be sent
  std::uint32_t posted = 0;
  std::uint32_t done = 0;
  std::uint32_t first_connection = 0;
  bool released = false;  // start time has passed and dependencies have ended
};

}  // namespace weft::netsim
