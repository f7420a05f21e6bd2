// The scheduler: a queue, a State and a policy. Events are reported to it, decide() says what to start, stop, resize or
// move, and why the rest waits. It has no clock and does no I/O; the same events in the same order give the same
// decisions, byte for byte. A copy of a Scheduler is a what-if: ask it anything, throw it away.
//
// The order that rules preemption: a running job has a Rank (charge, priority). A job takes resources only from jobs of
// strictly lower Rank, and what it takes is committed to it at its own until it starts. Each preemption therefore
// replaces lower elements of the multiset of committed ranks by a higher one: the multiset, sorted from the top and
// compared lexicographically, strictly grows, and there are finitely many of them. It can shrink only where a
// commitment is given up because quota or room went another way; who gave one up makes nobody go again before the next
// event from outside, so that happens at most once a job. Between two events from outside, preemption ends.
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
  shortest,  // priority, then the smallest limit
};
[[nodiscard]] std::string_view to_text(Order order);

enum class Backfill : std::uint8_t {
  none,      // strict: nobody passes a blocked job (of its priority or above)
  greedy,    // whoever fits starts; big gangs may starve
  reserved,  // the first `reservations` blocked jobs hold a reservation that nobody may delay
};
[[nodiscard]] std::string_view to_text(Backfill backfill);

struct Policy {
  Order order = Order::fair;
  Backfill backfill = Backfill::reserved;
  std::int32_t reservations = 4;      // blocked jobs that get one
  std::int32_t backfill_depth = 200;  // jobs tested behind the first blocked one, in one decision
  bool preemption = true;
  Duration exempt{};           // a job is not preempted before it has run this long
  bool elastic = true;         // grow and shrink elastic jobs
  bool defragment = false;     // move jobs where that pays
  double defragment_gain = 2;  // GPU-seconds of waiting saved for each one spent on moves
  PlacementPolicy placement{};
  // The job of each priority that has waited longest, once it has waited this long, goes before the others of its
  // priority and so holds a reservation: shares and sizes decide who waits, not who waits for ever.
  Duration patience = kUnlimited;
  // Weights of the multifactor priority; all zero: Order alone decides between jobs of equal priority.
  double age_weight = 0;  // for max_age of waiting
  Duration max_age = seconds(7 * 86'400);
  double size_weight = 0;  // for a job of the whole machine
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
  Moment queued{};                     // since when it waits (again)
  Moment started{};                    // of the current run
  Moment checkpointed{};               // its work up to here is safe
  Moment not_before{};                 // held until then
  Moment stops_by{};                   // while stopping
  JobId preempted_by{};                // likewise
  bool being_preempted = false;
  std::uint32_t preemptions = 0;
  std::uint64_t barred = UINT64_MAX;  // the event since which it may not make others go: it did and could not start
  std::uint32_t group = 0;            // the queue's
  [[nodiscard]] Rank rank() const { return {charge, job.priority}; }
  // When its resources are free at the latest.
  [[nodiscard]] Moment ends() const { return started + job.limit; }
  [[nodiscard]] std::int32_t running_tasks() const { return static_cast<std::int32_t>(placement.slots.size()); }
};

class Scheduler {
 public:
  Scheduler(const std::shared_ptr<const Machine>& machine, Policy policy, std::vector<TenantPolicy> tenants = {});

  // Events. Times never go back. Ids are given out in order of submission, from 0. A job that says when it was
  // submitted (to whoever hands it over) keeps that moment; others are submitted now.
  JobId submit(Job job, Moment now);
  void finish(JobId id, Moment now);   // ended by itself, failed or was cancelled; waiting jobs too
  void stopped(JobId id, Moment now);  // a victim is gone: it waits again
  void checkpointed(JobId id, Moment now);
  void hold(JobId id, Moment until, Moment now);  // a waiting job may not start before
  void node_down(NodeId node, Moment now);        // jobs on it are not touched: see repair()
  void node_up(NodeId node, Moment now);

  Decisions decide(Moment now);

  // A node is lost: what becomes of each job on it. Moves the lost tasks to spares or free nodes that keep the job's
  // topology (several nodes at once), shrinks elastic jobs, else gives the job back to the queue (listed in
  // `requeued`).
  struct Repair {
    std::vector<Move> moves;
    std::vector<Resize> resizes;
    std::vector<JobId> requeued;
  };
  Repair repair(std::span<const NodeId> lost, Moment now);

  // What is known.
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const Machine& machine() const { return state_.machine(); }
  [[nodiscard]] const Tenants& tenants() const { return tenants_; }
  // A spare that no job has needed yet: it takes nothing, though nothing is wrong with it.
  [[nodiscard]] bool kept_aside(NodeId node) const { return spare_[index_of(node)] != 0; }
  // Nodes that are out of order; State::nodes_down() counts spares too.
  [[nodiscard]] std::uint32_t nodes_lost() const;
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const JobRecord& record(JobId id) const { return jobs_[index_of(id)]; }
  [[nodiscard]] std::size_t job_count() const { return jobs_.size(); }
  [[nodiscard]] std::size_t waiting_count() const { return waiting_; }
  [[nodiscard]] std::span<const JobId> running() const { return running_; }
  [[nodiscard]] const std::vector<Reservation>& reservations() const { return plan_; }
  // Waiting jobs in the order in which they are considered at `now`; at most `limit`.
  [[nodiscard]] std::vector<JobId> queue(Moment now, std::size_t limit = SIZE_MAX) const;
  // Why a job waits, as of the last decide(). Reason::none for a job that does not wait.
  [[nodiscard]] Waiting why(JobId id, Moment now) const;
  // A moment to ask about: what is free then if every running job uses its whole limit and nothing new starts. One for
  // many questions, since what is free at a later moment is worked out once.
  class Outlook {
   public:
    Outlook(const Scheduler& scheduler, Moment now, Moment at);
    [[nodiscard]] Moment at() const { return at_; }
    [[nodiscard]] const State& state() const { return later_ ? *later_ : scheduler_->state(); }
    const FitClass& fits(const Request& request) { return index_.of(request, state()); }

   private:
    const Scheduler* scheduler_;
    Moment at_;
    std::shared_ptr<State> later_;  // none: the present
    FitIndex index_;
  };
  // What would keep `job` from starting at the outlook's moment if it stood in the place of the waiting job `id`, all
  // promises to others kept; none: nothing but the order of the queue. Quotas are those of the present.
  [[nodiscard]] Reason reason_for(JobId id, const Job& job, Moment now, Outlook& outlook) const;
  // The promise a waiting job has; null: none.
  [[nodiscard]] const Reservation* reservation_of(JobId id) const;
  // The running or stopping job whose limit (or grace) ends first, and when.
  [[nodiscard]] std::optional<std::pair<Moment, JobId>> next_end() const {
    return ends_.empty() ? std::nullopt : std::optional(*ends_.begin());
  }
  // How many of those end up to `when`, counted as far as `most`.
  [[nodiscard]] std::uint32_t ends_by(Moment when, std::uint32_t most) const;

  // For what-ifs: change a waiting job, or what a tenant may use. The next decide() sees the new one.
  void replace(JobId id, Job job, Moment now);
  void set_limits(TenantId tenant, const Amounts& quota, const Amounts& borrow, Moment now);

  // The next moment at which decide() may act without an event: a hold ends, a preference has waited long enough.
  [[nodiscard]] Moment next_wake(Moment now) const;

  // The ranks of the jobs that run on and of those for which room is being made, from the top: what preemption makes
  // larger every time. For tests.
  [[nodiscard]] std::vector<Rank> committed_ranks() const;

  // Holds that must always be true; "" or what is broken. For tests.
  [[nodiscard]] std::string broken_invariant() const;

 private:
  // Waiting jobs that are alike but for their limits and times: if one of them cannot be placed, none can.
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
    friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
  };
  struct Group {
    GroupKey key;
    std::set<std::pair<std::int64_t, JobId>> jobs;  // by submission (or limit), then by id
    // The last attempt: valid while nothing was given back.
    bool possible = true;
    Reason reason = Reason::none;
    std::uint64_t failed_at = UINT64_MAX;  // State::releases() of an attempt that no reservation stood in the way of
  };
  // What a walk over the queue has promised so far.
  struct Walk;
  struct Attempt {
    std::optional<Start> start;
    Reason reason = Reason::none;
  };
  // Kept for a blocked job between decisions.
  struct Promise {
    Reservation reservation;
    std::int64_t shortfall = 0;          // tasks that would have to be freed early before it could start sooner
    bool checked = false;                // no node of it changed since it was found to hold
    bool active = false;                 // passed by the walk under way: jobs behind must respect it
    bool preempting = false;             // of room that victims make: kept until the job starts
    Charge charge = Charge::guaranteed;  // what it will be charged as; of use where preempting
    // From when on others keep off. What victims leave before they have to is not for others, not even for a while:
    // the victim itself would be back.
    [[nodiscard]] Moment begins() const { return preempting ? Moment{} : reservation.start; }
  };

  // core/scheduler.cc: events and books
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
  // Tasks that quotas allow the job to start with, between its fewest and its most; 0: not even the fewest.
  [[nodiscard]] std::int32_t admitted_tasks(JobId id, Walk& walk) const;
  // As what a job may start, with the quota that victims make for others left to those.
  [[nodiscard]] std::optional<Charge> admits(const JobRecord& record, std::int64_t tasks, Walk& walk) const;
  // Whether it would fit on the machine when that is empty and every node is up.
  [[nodiscard]] bool possible(const Job& job);

  // Nodes as they will be, by node; filled as far as a search looks. A copy starts empty.
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
  // The least that is free on a node during [from, until), with the active promises kept, but for one job's.
  [[nodiscard]] NodeFree free_from(NodeId node, Moment from, Moment until, Moment now,
                                   std::optional<JobId> but = std::nullopt) const;
  // Limits for a job that would run in [now, end): the nodes of active promises that begin before it ends.
  [[nodiscard]] std::span<const NodeLimit> limits_for(Moment now, Moment end, Walk& walk) const;

  // core/scheduler_why.cc
  [[nodiscard]] Reason reason_at(JobId id, const Job& job, Moment now, Moment at, const State& state,
                                 const FitClass& fits) const;
  [[nodiscard]] std::vector<NodeLimit> limits_against(JobId id, Moment from, Moment until, Moment now) const;

  // core/scheduler_preempt.cc, core/scheduler_elastic.cc, core/scheduler_defragment.cc
  class PreemptionPlanner;
  [[nodiscard]] bool preempt_for(JobId id, Moment now, Walk& walk, Decisions& decisions);
  void preempt_for_borrowers(Moment now, Walk& walk, Decisions& decisions);
  bool mind_preemptions(JobId next, Rank rank, Walk& walk);
  [[nodiscard]] Rank rank_now(JobId id) const;
  // `told`: it has its grace to write a checkpoint.
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
  bool swap_lost(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair);
  bool shrink_lost(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair);

  State state_;
  mutable FitIndex index_;  // a cache
  Policy policy_;
  Tenants tenants_;
  std::vector<JobRecord> jobs_;
  std::vector<JobId> running_;                   // unordered; place_in_running_ finds them
  std::vector<std::uint32_t> place_in_running_;  // by job
  std::set<std::pair<Moment, JobId>> ends_;      // of running jobs, by their limits
  std::map<GroupKey, std::uint32_t> group_by_key_;
  std::vector<Group> groups_;
  std::set<std::uint32_t> active_groups_;    // those with jobs
  std::set<std::pair<Moment, JobId>> held_;  // waiting, not before
  std::map<JobId, Promise> promises_;
  std::vector<std::vector<JobId>> promised_on_;  // by node
  std::vector<Reservation> plan_;                // of the last decide(), in queue order
  std::set<JobId> elastic_running_;              // that could do with fewer tasks than they have at most
  std::vector<char> spare_;                      // by node: kept aside for jobs that lose one
  std::vector<NodeId> used_spares_;              // that are not aside any more
  std::map<JobId, std::uint32_t> awaited_;       // victims that have not stopped yet, by the job they make room for
  std::shared_ptr<const State> empty_state_;     // what `possible` asks
  FitIndex empty_index_;
  Scratch scratch_;
  std::map<std::int32_t, JobId> eldest_;  // by priority: who has waited longest, beyond the patience
  std::size_t waiting_ = 0;
  Amounts capacity_;          // of the whole machine, for dominant shares
  Walk* walk_ = nullptr;      // the one under way
  std::uint64_t events_ = 0;  // from outside: all but victims that stop and checkpoints
  Moment now_{};
  Moment wake_{};
  Moment exempt_until_ = kNever;  // when the first job that would have been a victim becomes one
  bool dirty_ = true;             // something happened since the last decide()
};

}  // namespace weft::sched
