// Decisions of the scheduler, and the reasons why other jobs wait. Plain records: the caller executes them and reports
// back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sched/core/tenants.h"
#include "sched/machine/job.h"
#include "sched/placement/state.h"

namespace weft::sched {

// Why a waiting job does not start. Checked in this order; the first that applies is the reason.
enum class Reason : std::uint8_t {
  none,
  malformed,   // problem_of(job)
  impossible,  // never fits: larger than the machine, or no domain of its required level is large enough, even empty
  held,        // by its owner, or until a given moment
  nodes_down,  // would fit if nodes that are down were up
  quota,       // its tenant's quota and what the cohort lends are used up
  capacity,    // fewer free resources than requested, regardless of location
  fragmented,  // enough is free in total, but not in pieces large enough for its tasks
  topology,    // its tasks fit, but not in one domain of the required level (or in segments)
  preference,  // fits in a wider domain than preferred; it still waits for the tighter one
  barred,      // fits now, but only on nodes that it must not use: reserved for maintenance, or excluded for this job
  reserved,    // fits now, but would delay a reservation of a job ahead
  order,       // fits now; strict order keeps it behind the job ahead
  preempting,  // its victims have been notified; it starts when they have stopped
};
[[nodiscard]] std::string_view to_text(Reason reason);

struct Start {
  JobId job{};
  Placement placement;
  Charge charge = Charge::guaranteed;
  bool backfilled = false;       // passed a job ahead of it in the queue
  Level level = Level::cluster;  // the tightest domain that holds it all
};

// Guarantee to a waiting job: no job behind it in the queue starts if that would delay this one.
struct Reservation {
  JobId job{};
  Moment start{};
  Moment end{};
  Placement placement;
};

// A node that will be out of service, for maintenance for example.
struct PlannedOutage {
  NodeId node{};
  Moment from{};
};

struct Preempt {
  JobId victim{};
  JobId by{};                   // the job that gets the resources
  Moment deadline{};            // it has stopped by then
  double lost_gpu_seconds = 0;  // work since its last checkpoint, plus the restart
};

// An elastic job releases or gains tasks. Lists the slots released or gained.
struct Resize {
  JobId job{};
  bool grow = false;
  std::vector<Slot> slots;
  JobId by{};  // the job it shrinks for; itself when it grows
};

// A job migrates: to replace a lost node (swap), or to free contiguous resources (defragmentation).
struct Move {
  JobId job{};
  std::vector<std::uint32_t> tasks;  // indices of the tasks that migrate
  std::vector<Slot> to;
  JobId by{};  // the job that gets the freed resources; itself in a swap
  double cost_gpu_seconds = 0;
};

struct Waiting {
  JobId job{};
  Reason reason = Reason::none;
  Moment expected = kNever;  // start under the current plan; kNever: not planned
};

struct Decisions {
  std::vector<Start> starts;
  std::vector<Preempt> preempts;
  std::vector<Resize> resizes;
  std::vector<Move> moves;
  [[nodiscard]] bool empty() const { return starts.empty() && preempts.empty() && resizes.empty() && moves.empty(); }
};

}  // namespace weft::sched
