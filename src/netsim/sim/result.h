// Simulation results, in the same form from all three engines so that they can be compared: start and end of each
// transfer, statistics of each link and queue. Numbers only; src/netsim/views makes tables and pictures.
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
  SimTime paused;             // time its sender was stopped by PFC, whether or not it had packets to send
  std::uint32_t pauses = 0;   // XOFF frames its sender obeyed
  std::uint64_t marked = 0;   // packets that left it with a congestion mark
  std::uint64_t dropped = 0;  // packets lost at its queue or on its wire
  Bytes max_queue;            // maximum depth of its egress queue
  Bytes max_headroom;         // maximum PFC headroom used at its receiving end, in whole cells
  double mean_queue = 0;      // bytes, over the run; 0 if the engine does not model queues
};

// A switch (or NIC) paused or resumed a neighbor.
struct PauseRecord {
  SimTime at;
  LinkId stopped = model::kNone<LinkId>;  // the link whose sender was paused, by its receiver
  LinkId cause = model::kNone<LinkId>;  // egress of the receiver with most of the buffered bytes; kNone at an endpoint
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
  std::uint64_t broken = 0;  // connections aborted after too many timeouts
  std::uint64_t pauses = 0;
  std::uint64_t watchdog_trips = 0;
  std::uint64_t solves = 0;  // flow engine: rate computations
};

struct SimResult {
  Fidelity fidelity = Fidelity::packet;
  SimTime end;               // last completion, or the time of the cut
  bool complete = true;      // false: cut by SimOptions::end, by the user, or stuck
  bool interrupted = false;  // the user stopped it
  bool deadlock = false;     // packets wait for each other in a cycle that no event can break
  std::vector<LinkId> deadlock_cycle;
  std::uint64_t trace_hash = 0;
  // By transfer: start of the first round, end of the last one; kNever if it did not happen.
  std::vector<SimTime> started;
  std::vector<SimTime> finished;
  // Duration of every round of every transfer that ended, in order of transfer and round if there are at most
  // kMaxRecorded of them, else only of those recorded in `finished`.
  std::vector<SimTime> completion_times;
  std::uint64_t unfinished = 0;
  std::vector<LinkStats> links;  // by LinkId
  std::vector<PauseRecord> pauses;
  std::uint64_t pauses_not_kept = 0;
  std::vector<SeriesPoint> series;
  SimTotals totals;
  std::vector<std::string> warnings;  // assumptions of this engine that did not hold, as text
};
inline constexpr std::size_t kMaxRecorded = 4'000'000;

// Percentiles of the completion times, by nearest rank: interpolation would invent values.
struct Percentiles {
  SimTime mean, p50, p99, max, min;
  std::size_t count = 0;
};
[[nodiscard]] Percentiles percentiles_of(std::vector<SimTime> times);

}  // namespace weft::netsim
