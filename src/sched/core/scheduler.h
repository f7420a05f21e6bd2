// Cluster scheduler: a queue, a State and a policy. Events are reported to it; decide() returns what to start, stop,
// resize or migrate, and why the remaining jobs wait. It has no clock and does no I/O; the same events in the same
// order yield byte-identical decisions. A copy of a Scheduler is a what-if: query it and discard it.
//
// Why preemption terminates: a running job has a Rank (charge, priority). A job takes resources only from jobs of
// strictly lower Rank, and they are committed to it at its own Rank until it starts. Each preemption therefore replaces
// lower elements of the multiset of committed ranks by a higher one: the multiset, sorted in descending order and
// compared lexicographically, strictly grows, and there are finitely many of them. It can shrink only if a commitment
// is dropped because its quota or resources went elsewhere; a job that dropped one does not preempt again before the
// next external event, so this happens at most once per job. Between two external events, preemption terminates.
#pragma once

#include <compare>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sched/core/decision.h"
#include "sched/core/eviction_index.h"
#include "sched/core/tenants.h"
#include "sched/machine/job.h"
#include "sched/placement/fit_index.h"
#include "sched/placement/placement.h"
#include "sched/placement/state.h"

namespace weft::sched {

enum class Order : std::uint8_t {
  fifo,      // priority, then submission
  fair,      // priority, then the tenant's fair share (decayed use), then submission
  dominant,  // priority, then the lowest dominant share (DRF), then submission
  shortest,  // priority, then the shortest limit
};
[[nodiscard]] std::string_view to_text(Order order);

enum class Backfill : std::uint8_t {
  none,      // strict: no job passes a blocked one (of its priority or above)
  greedy,    // any job that fits starts; large gangs may starve
  reserved,  // the first `reservations` blocked jobs hold a reservation that no other job may delay
};
[[nodiscard]] std::string_view to_text(Backfill backfill);

struct Policy {
  Order order = Order::fair;
  Backfill backfill = Backfill::reserved;
  std::int32_t reservations = 4;      // blocked jobs that get one
  std::int32_t backfill_depth = 200;  // jobs tested behind the first blocked one, per decision
  bool preemption = true;
  Duration exempt{};           // a job is not preempted before it has run this long
  bool elastic = true;         // grow and shrink elastic jobs
  bool defragment = false;     // migrate jobs where that pays off
  double defragment_gain = 2;  // GPU-seconds of waiting saved per GPU-second spent on migration
  PlacementPolicy placement{};
  // A job without a time limit does not start on a node this long before a planned outage of that node.
  Duration outage_horizon = seconds(3600);
  // Starvation limit: the longest-waiting job of each priority, once it has waited this long, goes ahead of the others
  // of its priority and thus gets a reservation. Shares and sizes decide which jobs wait, but none waits forever.
  Duration patience = kUnlimited;
  // Weights of the multifactor priority; all zero: Order alone decides between jobs of equal priority.
  double age_weight = 0;  // for max_age of waiting
  Duration max_age = seconds(7 * 86'400);
  double size_weight = 0;  // for a job that uses the whole machine
  double fair_weight = 0;  // for a fair-share factor of 1
};

enum class JobPhase : std::uint8_t { waiting, running, stopping, done };

struct Rank {
  Charge charge = Charge::guaranteed;
  std::int32_t priority = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

inline constexpr Rank kLowestRank{Charge::surplus, std::numeric_limits<std::int32_t>::min()};

struct JobRecord {
  Job job;
  JobPhase phase = JobPhase::waiting;
  TenantId tenant = 0;
  Charge charge = Charge::guaranteed;  // while running
  Placement placement;                 // while running or stopping
  Moment queued{};                     // start of the current wait
  Moment started{};                    // of the current run
  Moment checkpointed{};               // work up to this point is safe
  Moment not_before{};                 // held until then
  Moment stops_by{};                   // while stopping
  JobId preempted_by{};                // while stopping
  bool being_preempted = false;
  std::uint32_t preemptions = 0;
  std::uint64_t barred =
      UINT64_MAX;           // value of events_ at which it may not preempt: it already did and could not start
  std::uint32_t group = 0;  // index of its queue group
  [[nodiscard]] Rank rank() const { return {charge, job.priority}; }
  // When its resources are free at the latest.
  [[nodiscard]] Moment ends() const { return started + job.limit; }
  [[nodiscard]] std::int32_t running_tasks() const { return static_cast<std::int32_t>(placement.slots.size()); }
};

class Scheduler {
 public:
  Scheduler(const std::shared_ptr<const Machine>& machine, Policy policy, std::vector<TenantPolicy> tenants = {});

  // Events. Times never decrease. Ids are assigned in order of submission, from 0. A job with its own submission time
  // keeps it; others are submitted now.
  JobId submit(Job job, Moment now);
  void finish(JobId id, Moment now);   // ended, failed or was canceled; also for waiting jobs
  void stopped(JobId id, Moment now);  // a victim has stopped: it waits again
  void checkpointed(JobId id, Moment now);
  void hold(JobId id, Moment until, Moment now);  // a waiting job may not start before `until`
  void node_down(NodeId node, Moment now);        // does not touch the jobs on it: see repair()
  void node_up(NodeId node, Moment now);

  // All outages that are planned. Until one begins, its node accepts only jobs that end before by their limit; the
  // caller reports node_down() when it begins.
  void plan_outages(const std::vector<PlannedOutage>& outages, Moment now);
  // Nodes that a job must not use when it starts next, in ascending order.
  void exclude(JobId id, std::vector<NodeId> nodes, Moment now);
  // Whether a running job could start now on nodes other than these, its own excepted, with the reservations of other
  // jobs kept.
  [[nodiscard]] bool fits_elsewhere(JobId id, const std::vector<NodeId>& without, Moment now) const;

  // A job that runs already: it was started under another scheduler (before a restart of the controller). Its slots
  // must be free; they may be on nodes that are down. `queued` is when its wait began, `started` when this run did.
  JobId adopt(Job job, Placement placement, Charge charge, Moment queued, Moment started, Moment now);

  Decisions decide(Moment now);

  // A node is lost: handles each job on it. Moves the lost tasks to spares or free nodes that preserve the job's
  // topology (several nodes at once), shrinks elastic jobs, else requeues the job (listed in `requeued`).
  struct Repair {
    std::vector<Move> moves;
    std::vector<Resize> resizes;
    std::vector<JobId> requeued;
  };
  Repair repair(std::span<const NodeId> lost, Moment now);
  // The same for one job whose nodes are down: it gets replacements, shrinks or waits again. Returns whether it still
  // has a placement, the one in record(). For callers that must first see that nothing of the job runs anymore.
  bool repair_job(JobId id, Moment now);

  // Current state.
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const Machine& machine() const { return state_.machine(); }
  [[nodiscard]] const Tenants& tenants() const { return tenants_; }
  // Restores a tenant's decayed usage (GPU-seconds at `at`), as decayed_use() returned it before a restart.
  void restore_use(std::string_view tenant, double gpu_seconds, Moment at);
  // An unused spare: it accepts no tasks although it is healthy.
  [[nodiscard]] bool kept_aside(NodeId node) const { return spare_[index_of(node)] != 0; }
  // Failed nodes; State::nodes_down() also counts spares.
  [[nodiscard]] std::uint32_t nodes_lost() const;
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const JobRecord& record(JobId id) const { return jobs_[index_of(id)]; }
  [[nodiscard]] std::size_t job_count() const { return jobs_.size(); }
  [[nodiscard]] std::size_t waiting_count() const { return waiting_; }
  [[nodiscard]] std::span<const JobId> running() const { return running_; }
  [[nodiscard]] const std::vector<Reservation>& reservations() const { return plan_; }
  // Waiting jobs in the order in which they are considered at `now`; at most `limit`.
  [[nodiscard]] std::vector<JobId> queue(Moment now, std::size_t limit = SIZE_MAX) const;
  // Why a job waits, as of the last decide(). Reason::none for a job that is not waiting.
  [[nodiscard]] Waiting why(JobId id, Moment now) const;
  // A future moment to query: what is free then if every running job uses its whole limit and nothing new starts. Reuse
  // one for many queries: the free resources at a later moment are computed once.
  class Outlook {
   public:
    Outlook(const Scheduler& scheduler, Moment now, Moment at);
    [[nodiscard]] Moment at() const { return at_; }
    [[nodiscard]] const State& state() const { return later_ ? *later_ : scheduler_->state(); }
    const FitClass& fits(const Request& request) { return index_.of(request, state()); }

   private:
    const Scheduler* scheduler_;
    Moment at_;
    std::shared_ptr<State> later_;  // null: the present
    FitIndex index_;
  };
  // Why `job`, in the queue position of the waiting job `id`, could not start at the outlook's moment with all
  // reservations of others kept; none: only the queue order. Quotas are the current ones.
  [[nodiscard]] Reason reason_for(JobId id, const Job& job, Moment now, Outlook& outlook) const;
  // The reservation of a waiting job; null: none.
  [[nodiscard]] const Reservation* reservation_of(JobId id) const;
  // The running or stopping job whose limit (or grace period) ends first, and when.
  [[nodiscard]] std::optional<std::pair<Moment, JobId>> next_end() const {
    return ends_.empty() ? std::nullopt : std::optional(*ends_.begin());
  }
  // How many of them end by `when`; stops counting at `most`.
  [[nodiscard]] std::uint32_t ends_by(Moment when, std::uint32_t most) const;

  // For what-ifs: replaces a waiting job or a tenant's limits. Takes effect in the next decide().
  void replace(JobId id, Job job, Moment now);
  void set_limits(TenantId tenant, const Amounts& quota, const Amounts& borrow, Moment now);

  // The next moment at which decide() may act without an event: a hold or a preference wait ends.
  [[nodiscard]] Moment next_wake(Moment now) const;

  // The ranks of the jobs that keep running and of those that resources are being freed for, in descending order: each
  // preemption increases this. For tests.
  [[nodiscard]] std::vector<Rank> committed_ranks() const;

  // Checks the invariants; returns "" or the one that is violated. For tests.
  [[nodiscard]] std::string broken_invariant() const;

 private:
  // Waiting jobs that are identical except for limits and times: if one of them cannot be placed, none can.
  struct GroupKey {
    TenantId tenant = 0;
    std::int32_t priority = 0;
    Request task;
    std::int32_t tasks = 0;
    std::int32_t min_tasks = 0;
    Level required = Level::cluster;
    Level preferred = Level::cluster;
    std::int64_t preference_wait = 0;
    std::int32_t segment = 0;
    Level segment_level = Level::nvlink;
    std::vector<NodeId> excluded;
    friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
  };
  struct Group {
    GroupKey key;
    std::set<std::pair<std::int64_t, JobId>> jobs;  // by submission (or limit), then by id
    // The last attempt: valid until resources are released.
    bool possible = true;
    Reason reason = Reason::none;
    std::uint64_t failed_at = UINT64_MAX;  // State::releases() of an attempt that failed independently of reservations
  };
  // The reservations made so far in a pass over the queue.
  struct Walk;
  struct Attempt {
    std::optional<Start> start;
    Reason reason = Reason::none;
  };
  // A blocked job's reservation, kept between decisions.
  struct Promise {
    Reservation reservation;
    std::int64_t shortfall = 0;          // tasks that would have to be freed early for an earlier start
    bool checked = false;                // found valid, and none of its nodes has changed since
    bool active = false;                 // already passed in the current walk: jobs behind must respect it
    bool preempting = false;             // of resources freed by victims: kept until the job starts
    Charge charge = Charge::guaranteed;  // what it will be charged as; used if preempting
    // When the reservation begins to block others. Resources that victims release early are not available to others,
    // even briefly: the victim itself would restart there.
    [[nodiscard]] Moment begins() const { return preempting ? Moment{} : reservation.start; }
  };

  // core/scheduler.cc: events and accounting
  void enqueue(JobId id);
  void dequeue(JobId id);
  void start_job(const Start& start, Moment now);
  void release_job(JobId id, Moment now);
  void take_slots(JobId id, std::span<const Slot> slots, std::uint32_t first_task);
  void give_slots(JobId id, std::span<const Slot> slots);
  void promote_borrowers(TenantId tenant);
  void touch_promises(const Request& task, std::span<const Slot> slots, bool freed);
  void keep_promise(JobId id, Promise promise);
  void drop_promise(JobId id);
  [[nodiscard]] GroupKey key_of(const JobRecord& record) const;
  [[nodiscard]] std::int64_t order_in_group(const JobRecord& record) const;

  // core/scheduler_decide.cc: the walk over the queue
  void find_eldest(Moment now);
  struct HeadKey {
    double first = 0;  // lower goes first
    double second = 0;
    std::int64_t third = 0;
    JobId id{};
    friend auto operator<=>(const HeadKey&, const HeadKey&) = default;
  };
  [[nodiscard]] HeadKey head_key(JobId id, Moment now) const;
  void walk_queue(Moment now, Decisions& decisions);
  bool blocked(JobId id, Reason reason, Moment now, Walk& walk, Decisions& decisions);
  [[nodiscard]] Attempt attempt(JobId id, Moment now, Walk& walk);
  [[nodiscard]] Attempt considerate_attempt(JobId id, Moment now, Walk& walk);
  // Tasks that quotas allow the job to start with, between its minimum and maximum; 0: less than the minimum.
  [[nodiscard]] std::int32_t admitted_tasks(JobId id, Walk& walk) const;
  // The charge at which a job may start, with quota freed by victims reserved for the jobs they stop for.
  [[nodiscard]] std::optional<Charge> admits(const JobRecord& record, std::int64_t tasks, Walk& walk) const;
  // Whether it would fit on the empty machine with every node up.
  [[nodiscard]] bool possible(const Job& job);

  // Future node states, by node; filled on demand by searches. A copy starts empty.
  class Scratch {
   public:
    Scratch() = default;
    Scratch(const Scratch&) {}
    Scratch& operator=(const Scratch&) { return *this; }
    Scratch(Scratch&&) = default;
    Scratch& operator=(Scratch&&) = default;
    ~Scratch() = default;
    void begin(std::size_t nodes);
    [[nodiscard]] bool has(NodeId node) const { return marks_[index_of(node)] == mark_; }
    [[nodiscard]] const NodeFree& at(NodeId node) const { return free_[index_of(node)]; }
    NodeFree& at(NodeId node, const NodeFree& at_first);

   private:
    std::vector<NodeFree> free_;
    std::vector<std::uint32_t> marks_;
    std::uint32_t mark_ = 0;
  };
  class Future;

  // core/scheduler_plan.cc: reservations
  void promise(JobId id, Moment now, Walk& walk);
  [[nodiscard]] bool still_holds(const Promise& promise, Moment now) const;
  [[nodiscard]] std::optional<Promise> earliest(JobId id, Moment now);
  // The minimum free on a node during [from, until), with the active reservations kept, except one job's.
  [[nodiscard]] NodeFree free_from(NodeId node, Moment from, Moment until, Moment now,
                                   std::optional<JobId> but = std::nullopt) const;
  // Limits for a job that would run in [now, end): the nodes of active reservations that begin before it ends.
  [[nodiscard]] std::span<const NodeLimit> limits_for(Moment now, Moment end, Walk& walk) const;

  // core/scheduler_why.cc
  [[nodiscard]] Reason reason_at(JobId id, const Job& job, Moment now, Moment at, const State& state,
                                 const FitClass& fits) const;
  // Nodes that the job must not use if it starts at `start`; nodes that it must not be planned on for later.
  [[nodiscard]] std::vector<NodeId> barred_nodes(const Job& job, Moment start) const;
  [[nodiscard]] std::vector<NodeId> unplannable_nodes(const Job& job) const;
  [[nodiscard]] std::vector<NodeLimit> limits_against(JobId id, Moment from, Moment until, Moment now) const;

  // core/scheduler_preempt.cc, core/scheduler_elastic.cc, core/scheduler_defragment.cc
  class PreemptionPlanner;
  [[nodiscard]] bool preempt_for(JobId id, Moment now, Walk& walk, Decisions& decisions);
  // Whether the job would fit if everything that it may evict at this rank were gone. False: no plan exists.
  [[nodiscard]] bool eviction_suffices(const JobRecord& record, Rank rank, Moment now, Walk& walk);
  void note_new_victims(const JobRecord& record, Rank rank, const Decisions& decisions);
  [[nodiscard]] NodeFree free_after_evictions(NodeId node, const JobRecord& record, Rank rank, Moment now,
                                              std::span<const Promise* const> ahead) const;
  // Whether a running job may ever be evicted, or shrunk, for this one.
  [[nodiscard]] bool is_evictable(const JobRecord& other, const JobRecord& record, Rank rank) const;
  void preempt_for_borrowers(Moment now, Walk& walk, Decisions& decisions);
  bool mind_preemptions(JobId next, Rank rank, Walk& walk);
  [[nodiscard]] Rank rank_now(JobId id) const;
  // `told`: it has been notified and has its grace period to write a checkpoint.
  [[nodiscard]] double lost_gpu_seconds(const JobRecord& record, Moment now, bool told = true) const;
  void shrink_job(JobId id, const std::vector<std::uint32_t>& tasks, Moment now);
  void grow_elastic(Moment now, const Walk& walk, Decisions& decisions);
  [[nodiscard]] std::int32_t admitted_growth(const JobRecord& record) const;
  [[nodiscard]] std::vector<Slot> room_beside(const JobRecord& record, std::int32_t most);
  [[nodiscard]] std::optional<std::vector<Placement>> places_elsewhere(const std::vector<JobId>& movers, JobId by,
                                                                       const Placement& taken, Walk& walk,
                                                                       JobId& stuck);
  [[nodiscard]] bool consolidate(JobId id, Moment now, Walk& walk, Decisions& decisions);

  // core/scheduler_repair.cc
  void keep_spares();
  [[nodiscard]] bool becomes_spare(NodeId node);
  [[nodiscard]] std::vector<Slot> place_anew(const JobRecord& record);
  void move_job(JobId id, std::vector<Slot> slots);
  bool repair_one(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair);
  void use_lost_spare(NodeId node);
  bool swap_lost(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair);
  bool shrink_lost(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair);

  State state_;
  mutable FitIndex index_;   // a cache
  EvictionIndex evictable_;  // a cache
  Policy policy_;
  Tenants tenants_;
  std::vector<JobRecord> jobs_;
  std::vector<JobId> running_;                   // unordered; place_in_running_ is the index
  std::vector<std::uint32_t> place_in_running_;  // by job
  std::set<std::pair<Moment, JobId>> ends_;      // of running jobs, by limit
  std::map<GroupKey, std::uint32_t> group_by_key_;
  std::vector<Group> groups_;
  std::set<std::uint32_t> active_groups_;    // those with jobs
  std::set<std::pair<Moment, JobId>> held_;  // waiting jobs with a hold
  std::map<JobId, Promise> promises_;
  std::vector<std::vector<JobId>> promised_on_;  // by node
  std::vector<Reservation> plan_;                // of the last decide(), in queue order
  std::set<JobId> elastic_running_;              // running jobs that can run with fewer tasks than their maximum
  std::vector<char> spare_;                      // by node: reserved for jobs that lose one
  std::vector<NodeId> used_spares_;              // spares in use
  std::map<JobId, std::uint32_t> awaited_;       // victims that have not stopped yet, by the job they are preempted for
  std::shared_ptr<const State> empty_state_;     // used by possible()
  FitIndex empty_index_;
  Scratch scratch_;
  std::map<std::int32_t, JobId> eldest_;  // by priority: the job that has waited longest, beyond the patience
  std::map<NodeId, Moment> outages_;      // planned: the first of each node
  std::size_t waiting_ = 0;
  Amounts capacity_;          // of the whole machine, for dominant shares
  Walk* walk_ = nullptr;      // the current one
  std::uint64_t events_ = 0;  // external events: all except stopped victims and checkpoints
  Moment now_{};
  Moment wake_{};
  Moment exempt_until_ = kNever;  // when the first job exempt from preemption can become a victim
  bool dirty_ = true;             // something happened since the last decide()
};

}  // namespace weft::sched
