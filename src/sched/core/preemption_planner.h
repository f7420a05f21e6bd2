// Inside of the scheduler: states the question "whom to send away for this job" as a RoomProblem and carries out the
// answer. Not for others.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sched/core/scheduler_walk.h"
#include "sched/placement/victims.h"

namespace weft::sched {

class Scheduler::RoomMaker {
 public:
  RoomMaker(Scheduler& scheduler, JobId id, Moment now, Walk& walk, Decisions& decisions);

  // The cheapest way to make room, for the rank the job would then have. None: there is none.
  struct Plan {
    RoomAnswer answer;
    Charge charge = Charge::guaranteed;
    std::vector<JobId> evicted;
    std::map<JobId, std::vector<std::uint32_t>> shed;  // tasks that elastic jobs do without
    Placement placement;
  };
  [[nodiscard]] std::optional<Plan> plan(Charge charge);
  // Victims are told, elastic jobs shrink; the job starts where nobody has to be waited for, else it gets a promise.
  void carry_out(const Plan& plan);

  // The cheapest set of jobs to move away, whatever their rank, other than the fixed ones.
  [[nodiscard]] std::optional<Plan> plan_moves(const std::set<JobId>& fixed);
  void carry_out_moves(const Plan& plan, const std::vector<JobId>& movers, const std::vector<Placement>& places);

 private:
  // One node with what runs there, at the moments when something else than a victim changes it.
  struct NodeRoom {
    NodeId node{};
    std::vector<std::pair<Moment, NodeFree>> free;  // with what has ended by then given back
    struct Owed {
      Moment start{};
      Moment end{};
      const Request* request = nullptr;
      Slot slot;
    };
    std::vector<Owed> owed;  // to promises ahead
    struct Guest {
      const Request* request = nullptr;
      Slot slot;
      Moment ends{};
      std::uint32_t local = 0;
    };
    std::vector<Guest> guests;  // that may go
    [[nodiscard]] NodeFree with(std::uint64_t gone) const;
  };
  struct Source {  // of an item
    JobId job{};
    std::vector<std::uint32_t> tasks;  // empty: the whole job
  };
  [[nodiscard]] bool may_be_evicted(JobId victim, Rank rank);
  void add_items(Rank rank);
  void add_whole(JobId victim);
  void add_units(JobId victim);
  void add_nodes();
  void add_quota(Charge charge);
  [[nodiscard]] NodeRoom room_of(NodeId node) const;
  [[nodiscard]] bool started_just_now(JobId job) const;
  [[nodiscard]] Plan plan_of(RoomAnswer answer, Charge charge) const;
  void tell(JobId victim);
  bool start_now(const Plan& plan);
  void begin();
  [[nodiscard]] std::optional<Plan> solve(Charge charge);

  Scheduler& s_;
  JobId id_;
  const JobRecord& record_;
  Moment now_;
  Walk& walk_;
  Decisions& decisions_;
  const FitClass* fits_ = nullptr;
  std::int32_t most_ = 0;
  Moment end_{};       // it is gone by then, even if the last victim takes all its grace
  bool waits_ = true;  // for jobs on their way out; else what they hold is taken
  RoomProblem problem_;
  std::vector<Source> sources_;  // by item
  struct Stand {
    NodeId node{};
    std::uint32_t job = 0;
    std::uint32_t task = 0;
    std::int32_t whole = -1;
    std::int32_t unit = -1;
  };
  std::vector<Stand> stands_;     // tasks that can go
  std::vector<NodeRoom> rooms_;   // as problem_.nodes
  std::vector<NodeRoom> others_;  // nodes where nothing can go, but something changes
};

}  // namespace weft::sched
