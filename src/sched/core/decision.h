// What the scheduler decided, and why not more. Plain records: the caller carries them out and reports back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sched/core/tenants.h"
#include "sched/machine/job.h"
#include "sched/placement/state.h"

namespace weft::sched {

// What keeps a waiting job from starting. In the order in which they are asked; the first that holds is the reason.
enum class Reason : std::uint8_t {
  none,
  malformed,   // problem_of(job)
  impossible,  // never fits: larger than the machine, or no domain of its required level is large enough, even empty
  held,        // by its owner, or until a given moment
  nodes_down,  // would fit if nodes that are down were up
  quota,       // its tenant's quota, and what others lend, is used up
  capacity,    // fewer free resources than it asks, wherever they are
  fragmented,  // enough is free in sum, but not in pieces large enough for its tasks
  topology,    // its tasks fit, but not in one domain of the required level (or in segments)
  preference,  // fits in a wider domain than it prefers; it still waits for the tighter one
  reserved,    // fits now, but would delay a job ahead of it that has a reservation
  order,       // fits now; strict order makes it wait behind the job ahead
  preempting,  // victims have been told; it starts when they are gone
};
[[nodiscard]] std::string_view to_text(Reason reason);

struct Start {
  JobId job{};
  Placement placement;
  Charge charge = Charge::guaranteed;
  bool backfilled = false;       // passed a job ahead of it in the queue
  Level level = Level::cluster;  // the tightest domain that holds it all
};

// A promise to a waiting job: no job behind it in the queue is started so that this one would start later.
struct Reservation {
  JobId job{};
  Moment start{};
  Moment end{};
  Placement placement;
};

struct Preempt {
  JobId victim{};
  JobId by{};                   // who gets the room
  Moment deadline{};            // it is gone by then
  double lost_gpu_seconds = 0;  // work since its last checkpoint, plus the restart
};

// An elastic job gives up tasks, or gets more. The slots listed are those that go or come.
struct Resize {
  JobId job{};
  bool grow = false;
  std::vector<Slot> slots;
  JobId by{};  // for whom it shrinks; itself when it grows
};

// A job moves: to put a lost node's tasks elsewhere (swap), or to make room in one piece (defragmentation).
struct Move {
  JobId job{};
  std::vector<std::uint32_t> tasks;  // indices of the tasks that move
  std::vector<Slot> to;
  JobId by{};  // whom the room is for; itself in a swap
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
