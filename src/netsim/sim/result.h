// What a simulation found, in the same form from all three engines, so that they can be laid side by side: when each
// transfer started and ended, what each link and queue went through. Numbers only; tables and pictures are made
// elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netsim/sim/options.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim {

struct LinkStats {
  Bytes bytes;  // on the wire, data and control, of this direction
  std::uint64_t packets = 0;
  SimTime busy;               // time spent sending
  SimTime paused;             // time its sender was stopped by PFC with something to send or not
  std::uint32_t pauses = 0;   // XOFF frames its sender obeyed
  std::uint64_t marked = 0;   // packets that left it with a congestion mark
  std::uint64_t dropped = 0;  // packets lost at its queue or on its wire
  Bytes max_queue;            // deepest its egress queue was
  Bytes max_headroom;         // most that its receiving end held of it in PFC headroom, in whole cells
  double mean_queue = 0;      // bytes, over the run; 0 where the engine does not see queues
};

// A switch (or NIC) stopped a neighbor, or let it go on.
struct PauseRecord {
  SimTime at;
  LinkId stopped = model::kNone<LinkId>;  // the link whose sender was stopped; its receiver decided
  LinkId cause = model::kNone<LinkId>;  // egress of the receiver that held most of what filled it; kNone at an endpoint
  std::uint8_t priority = 0;
  bool stop = true;
};

struct SeriesPoint {
  SimTime at;
  Bytes delivered;  // payload that arrived in the interval
  std::uint64_t marked = 0;
  std::uint32_t paused_links = 0;
  std::uint64_t dropped = 0;
  Bytes queued;  // in all switches
  Bytes deepest_queue;
};

struct SimTotals {
  std::uint64_t events = 0;
  std::uint64_t data_hops = 0;     // data packets serialized on a link
  std::uint64_t control_hops = 0;  // ACK, NACK, CNP, pull, pause
  std::uint64_t data_packets = 0;  // first transmissions
  std::uint64_t retransmitted = 0;
  std::uint64_t dropped = 0;
  std::uint64_t marked = 0;
  std::uint64_t notifications = 0;  // CNPs, or window reductions where there are none
  std::uint64_t out_of_order = 0;   // data packets that arrived after a later one
  std::uint64_t timeouts = 0;
  std::uint64_t broken = 0;  // connections given up after too many timeouts
  std::uint64_t pauses = 0;
  std::uint64_t watchdog_trips = 0;
  std::uint64_t solves = 0;  // flow engine: rate computations
};

struct SimResult {
  Fidelity fidelity = Fidelity::packet;
  SimTime end;               // last completion, or where the run was cut
  bool complete = true;      // false: cut by SimOptions::end, by the user, or stuck
  bool interrupted = false;  // the user stopped it
  bool deadlock = false;     // packets wait for each other in a cycle and no event can free them
  std::vector<LinkId> deadlock_cycle;
  std::uint64_t trace_hash = 0;
  // By transfer: start of the first round, end of the last one; kNever where it did not happen.
  std::vector<SimTime> started;
  std::vector<SimTime> finished;
  // Length of every round of every transfer that ended, in order of transfer and round when there are at most
  // kMaxRecorded of them, else only of those recorded in `finished`.
  std::vector<SimTime> completion_times;
  std::uint64_t unfinished = 0;
  std::vector<LinkStats> links;  // by LinkId
  std::vector<PauseRecord> pauses;
  std::uint64_t pauses_not_kept = 0;
  std::vector<SeriesPoint> series;
  SimTotals totals;
  std::vector<std::string> warnings;  // assumptions of this engine that did not hold, in words
};
inline constexpr std::size_t kMaxRecorded = 4'000'000;

// Of the completion times: linear interpolation between the two nearest ranks would invent values, so nearest rank.
struct Percentiles {
  SimTime mean, p50, p99, max, min;
  std::size_t count = 0;
};
[[nodiscard]] Percentiles percentiles_of(std::vector<SimTime> times);

}  // namespace weft::netsim
