// Preemption planner of the scheduler: formulates "which jobs to preempt for this job" as a PreemptionProblem and
// executes the solution. Internal to sched/core.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sched/core/scheduler_walk.h"
#include "sched/placement/victims.h"

namespace weft::sched {

class Scheduler::PreemptionPlanner {
 public:
  PreemptionPlanner(Scheduler& scheduler, JobId id, Moment now, Walk& walk, Decisions& decisions);

  // The preemptions that lose the least work, for the rank the job would then have. None: no plan exists.
  struct Plan {
    VictimSet answer;
    Charge charge = Charge::guaranteed;
    std::vector<JobId> evicted;
    std::map<JobId, std::vector<std::uint32_t>> shed;  // tasks that elastic jobs release
    Placement placement;
  };
  [[nodiscard]] std::optional<Plan> plan(Charge charge);
  // Notifies victims and shrinks elastic jobs; the job starts at once if it waits for no victim, else it gets a
  // reservation.
  void carry_out(const Plan& plan);

  // The cheapest set of jobs to migrate, of any rank, except the fixed ones (defragmentation).
  [[nodiscard]] std::optional<Plan> plan_moves(const std::set<JobId>& fixed);
  void carry_out_moves(const Plan& plan, const std::vector<JobId>& movers, const std::vector<Placement>& places);

 private:
  // One node and the tasks on it, at the moments when its free resources change other than by a victim.
  struct NodeCapacity {
    NodeId node{};
    std::vector<std::pair<Moment, NodeFree>> free;  // including the resources of everything that has ended by then
    struct Owed {
      Moment start{};
      Moment end{};
      const Request* request = nullptr;
      Slot slot;
    };
    std::vector<Owed> owed;  // to reservations of jobs ahead
    struct Guest {
      const Request* request = nullptr;
      Slot slot;
      Moment ends{};
      std::uint32_t local = 0;
    };
    std::vector<Guest> guests;  // tasks that may be evicted
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
  [[nodiscard]] NodeCapacity capacity_of(NodeId node) const;
  [[nodiscard]] bool started_just_now(JobId job) const;
  [[nodiscard]] Plan plan_of(VictimSet answer, Charge charge) const;
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
  std::vector<NodeId> barred_;  // nodes that are not freed for this job
  Moment end_{};                // the latest end of the job, if the last victim uses its whole grace period
  bool waits_ = true;           // for jobs that are stopping; else their resources count as free
  PreemptionProblem problem_;
  std::vector<Source> sources_;  // by item
  struct Stand {
    NodeId node{};
    std::uint32_t job = 0;
    std::uint32_t task = 0;
    std::int32_t whole = -1;
    std::int32_t unit = -1;
  };
  std::vector<Stand> stands_;             // tasks that can be evicted
  std::vector<NodeCapacity> capacities_;  // same order as problem_.nodes
  std::vector<NodeCapacity> others_;      // nodes without evictable tasks whose free resources change
};

}  // namespace weft::sched
