// One run of the flow engine. Rates change only when a flow starts or ends and are constant in between, so the clock
// jumps from one such instant to the next, and all events of one instant share one computation of rates. Rounds of a
// transfer are never expanded into transfers of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "netsim/flow/model.h"
#include "netsim/flow/queue.h"
#include "netsim/flow/rings.h"
#include "netsim/flow/traffic.h"
#include "netsim/sim/simulate.h"

namespace weft::netsim {

// For comparing runs with and without shortcuts; not a user option.
struct FlowShortcuts {
  bool rings = true;   // uncontended rings in closed form
  bool repeat = true;  // skip periods of a steady state
  // Number of sends from which rings that share links are approximated by bounds.
  std::uint64_t large_ring = 4'000'000;
  // Bundles visited, over all solves, before completions that are close are merged; a few seconds.
  std::uint64_t exact_work = 15'000'000;
};

class FlowRun {
 public:
  FlowRun(Routes& routes, const TransferGraph& transfers, const SimOptions& options, SimMonitor* monitor,
          FlowShortcuts shortcuts = {});
  SimResult run();

 private:
  // One queue pair of an active transfer.
  struct Connection {
    std::uint32_t transfer = 0;
    std::uint32_t first_path = 0;
    std::uint32_t path = 0;
    std::uint32_t bundle = 0;
    std::uint32_t sent = 0;     // rounds sent
    std::uint32_t arrived = 0;  // rounds received
    bool sending = false;
    SimTime since;      // start of sending this round
    double bits = 0;    // of a round, on the wire
    Bytes payload;      // of a round
    SimTime send_time;  // of a round at its limit
    SimTime latency;
    SimTime start_up;  // start-up time of its transport, unless contention limits its rate anyway
  };
  // What flows of one rate have left: `finish` is on a scale that advances with the rate, so a change of rate costs one
  // update per bundle and not one per flow.
  struct BundleState {
    double served = 0;  // bits each flow has received on that scale
    double rate = 0;    // bits per second, since `since`
    SimTime since;
    bool touched = false;
    std::vector<std::pair<double, std::uint32_t>> members;  // (finish, connection), a heap
  };
  struct Ring {
    std::vector<TransferId> members;
    std::vector<RingMember> times;
    std::uint32_t begun = 0;
    bool touched = false;
    bool closed_form = true;
  };

  // Links that would have filled their switch's buffer.
  struct Overload {
    std::uint64_t links = 0;
    LinkId worst = model::kNone<LinkId>;
    double excess = 0;  // bytes beyond what the buffer holds before it reacts
    std::uint32_t flows = 0;
  };

  // Set-up.
  void find_rings(std::uint64_t large_ring);
  void keep_ring(Ring ring);
  enum class RingKind : std::uint8_t { free, meets_others, no_ring };
  RingKind time_ring(Ring& ring, bool slowest);
  void find_meeting_rings(std::vector<Ring> rings, bool hopeless);
  void drop_mixed_rings(std::vector<Ring>& rings) const;
  [[nodiscard]] std::uint64_t sends_of(const Ring& ring) const;
  template <class Visit>
  void for_each_contended_link(const Ring& ring, Visit visit) const;
  // Picoseconds, rounded to nearest; kNever if out of range.
  [[nodiscard]] static SimTime time_of(double bits, double rate);
  void begin_all();
  // The clock.
  [[nodiscard]] SimTime next_time() const;
  bool step();
  void handle(const FlowEvent& event);
  void settle();
  void reschedule(std::uint32_t bundle);
  [[nodiscard]] bool is_due(std::uint32_t bundle) const;
  void set_tolerance();
  bool report_progress();
  // Transfers.
  void make_ready(std::uint32_t transfer);
  void begin(std::uint32_t transfer);
  void open_connections(std::uint32_t transfer);
  Connection make_connection(std::uint32_t transfer, std::uint32_t queue_pair);
  void take_path(Connection& connection, std::uint32_t path);
  void try_send(std::uint32_t slot);
  void join(std::uint32_t bundle, std::uint32_t slot, double bits);
  double leave(std::uint32_t bundle, std::uint32_t slot);
  void complete(std::uint32_t bundle);
  void finish_sending(std::uint32_t slot);
  void finish_round(std::uint32_t slot);
  void finish_transfer(std::uint32_t transfer);
  void advance(std::uint32_t bundle);
  BundleState& touch(std::uint32_t bundle);
  // Rings.
  void settle_ring(Ring& ring);
  void finish_ring_member(std::uint32_t transfer);
  // Links that fail and recover (flow/failures.cc).
  void plan_failures();
  void handle_link(std::uint32_t stage);
  void move_connections();
  [[nodiscard]] std::uint32_t usable_path(const Connection& connection);
  // Repetition (flow/repeat.cc).
  void look_for_repetition();
  [[nodiscard]] bool take_state(std::vector<std::int64_t>& state);
  [[nodiscard]] std::uint64_t periods_left(std::uint32_t rounds, SimTime period) const;
  void skip(std::uint32_t rounds, SimTime time, std::uint32_t period);
  void skip_records(std::uint32_t transfer, std::uint32_t rounds, SimTime time, std::uint32_t period);
  // Results (flow/report.cc).
  void note_traffic(const Connection& connection, std::int64_t rounds);
  void note_part(const Connection& connection, double part);
  void note_round_start(std::uint32_t transfer, std::uint32_t round);
  void note_round_end(std::uint32_t transfer, std::uint32_t round);
  void note_ring_rounds(const Ring& ring);
  void drop_ring_rounds(const Ring& ring);
  [[nodiscard]] SimTime& record_of(std::uint32_t transfer, std::uint32_t round) {
    return result_.completion_times[(round_offsets_.empty() ? transfer : round_offsets_[transfer]) + round];
  }
  void note_overload();
  void note_series(SimTime until);
  [[nodiscard]] double delivered() const;
  void report();
  void report_transfers();
  void report_warnings();
  void note_overload_at(std::uint32_t lane);
  void warn_of(const Overload& overload, std::string_view what);

  [[nodiscard]] const Transfer& transfer_at(std::uint32_t id) const { return transfers_->transfers()[id]; }

  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;
  // Bundles of at most this many flows keep exactly what each has left; larger ones use a common scale.
  static constexpr std::size_t kFewMembers = 16;
  // Beyond this time, in picoseconds, a flow counts as stalled.
  static constexpr double kLongest = 4e18;
  // Minimum number of rounds for which a search for repetition is worthwhile.
  static constexpr std::uint32_t kMinRounds = 16;

  Routes* routes_;
  const TransferGraph* transfers_;
  const SimOptions* options_;
  SimMonitor* monitor_;
  bool repeat_;
  std::uint64_t exact_work_;
  FlowModel model_;
  SimResult result_;
  SimTime now_;

  std::vector<std::uint32_t> waiting_;  // by transfer: dependencies that have not ended
  std::vector<std::uint32_t> ended_;    // by transfer: rounds that have ended
  std::vector<std::uint32_t> slots_;    // by transfer: its first connection
  std::vector<Connection> connections_;
  std::array<std::vector<std::uint32_t>, 256> free_slots_;  // by queue pairs
  std::vector<BundleState> bundles_;
  std::vector<std::uint32_t> touched_;
  MovingTimes completions_;
  FlowEventQueue moving_;  // belongs to connections: shifts when periods are skipped
  FlowEventQueue fixed_;
  std::vector<std::uint32_t> starts_;  // transfers without dependencies, by start time
  std::size_t next_start_ = 0;

  std::vector<Ring> rings_;
  std::vector<std::uint32_t> ring_of_;        // by transfer; empty without rings
  std::vector<std::uint32_t> ring_position_;  // by transfer
  std::vector<std::uint32_t> touched_rings_;
  double meeting_error_ = -1;  // of rings that share links; negative if there are none

  // Failures: three stages of each down or up event, and link failures that only the neighbors have detected.
  struct LinkStage {
    std::uint32_t event;
    std::uint8_t stage;  // 0: the link changes, 1: both ends have detected it, 2: the fabric has converged
  };
  std::vector<LinkStage> link_stages_;
  std::vector<std::pair<NodeId, NodeId>> known_nearby_;
  std::vector<std::pair<LinkId, bool>> before_;  // links the run changed in the routes, and their previous state
  bool links_change_ = false;

  // Repetition: the state to compare with, and when it was saved.
  std::uint32_t reference_ = kNowhere;  // transfer whose rounds are counted
  std::uint32_t compared_ = kNowhere;   // the one that saved_state_ belongs to
  std::uint32_t reference_sent_ = 0;
  std::uint32_t saved_round_ = 0;
  std::uint32_t save_next_ = 0;
  std::uint64_t compared_events_ = 0;
  SimTime saved_at_;
  std::vector<std::int64_t> saved_state_;
  std::vector<std::int64_t> new_state_;

  // Part of its own time by which a flow may be ended early, so that completions can be merged; 0 until computing rates
  // has cost too much.
  double tolerance_ = 0;
  double greatest_tolerance_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t work_ = 0;
  std::uint64_t reported_work_ = 0;
  std::uint64_t left_ = 0;  // transfers that have not ended
  bool record_rounds_ = false;
  std::vector<std::uint64_t> round_offsets_;  // by transfer; empty when each has one round
  FlowTraffic traffic_;
  double series_delivered_ = 0;
  SimTime series_at_;
  std::vector<bool> overload_seen_;  // by link
  Overload paused_;
  Overload dropped_;
  Overload slowed_;
};

}  // namespace weft::netsim
