// Events and decisions: reports events to the scheduler and executes its decisions.
#include "sched/replay/replay.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weft::sched {

Replay::Replay(const std::shared_ptr<const Machine>& machine, std::span<const Job> jobs, ReplayOptions options)
    : scheduler_(machine, options.policy, options.tenants),
      jobs_(jobs),
      options_(std::move(options)),
      courses_(jobs.size()),
      down_(scheduler_.machine().nodes().size(), 0),
      fragmentation_(natural_demand(scheduler_.machine())),
      sample_every_(std::max(options_.sample_every, Duration(1))) {
  const auto earlier = [](const Job& a, const Job& b) { return a.submitted < b.submitted; };
  CHECK(std::is_sorted(jobs.begin(), jobs.end(), earlier), "the jobs of a workload are in order of submission");
  so_far_.jobs.resize(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) so_far_.jobs[i].submitted = jobs[i].submitted;
  if (!jobs.empty()) {
    so_far_.begin = jobs.front().submitted;
    so_far_.last_submission = jobs.back().submitted;
  }
  now_ = so_far_.begin;
  for (const NodeFailure& failure : options_.failures) {
    const std::uint32_t node = index_of(failure.node);
    CHECK(node < down_.size(), "a failure names a node of the machine");
    if (failure.up <= failure.down) continue;
    push(failure.down, EventKind::node_down, node, 0);
    if (failure.up != kNever) push(failure.up, EventKind::node_up, node, 0);
    now_ = std::min(now_, failure.down);
  }
  so_far_.begin = now_;
  sampled_ = now_;
}

void Replay::push(Moment at, EventKind kind, std::uint32_t index, std::uint32_t version) {
  events_.push({at, kind, sequence_++, index, version});
}

Moment Replay::next_moment() {
  while (!events_.empty()) {
    const Event& event = events_.top();
    const bool ended = event.kind == EventKind::end && event.version != courses_[event.index].ends;
    const bool stopped = event.kind == EventKind::stop && event.version != courses_[event.index].runs;
    if (!ended && !stopped) break;
    events_.pop();
  }
  Moment next = wake_;
  if (!events_.empty()) next = std::min(next, events_.top().at);
  if (arrived_ < jobs_.size()) next = std::min(next, jobs_[arrived_].submitted);
  return next;
}

bool Replay::run_until(Moment until) {
  for (;;) {
    const Moment next = next_moment();
    if (next == kNever) return false;
    if (next > until) break;
    play(next);
  }
  advance(until);
  return true;
}

void Replay::play(Moment at) {
  advance(at);
  fresh_.clear();
  wake_ = kNever;
  do {
    std::vector<NodeId> lost;
    while (next_moment() == now_ && !events_.empty() && events_.top().at == now_) {
      const Event event = events_.top();
      events_.pop();
      handle(event, lost);
    }
    if (!lost.empty()) repair(lost);
    while (arrived_ < jobs_.size() && jobs_[arrived_].submitted <= now_) arrive();
    decide();
  } while (next_moment() == now_);
  const Moment wake = scheduler_.next_wake(now_);
  wake_ = wake > now_ ? wake : kNever;
  note_reasons();
}

void Replay::handle(const Event& event, std::vector<NodeId>& lost) {
  const auto id = static_cast<JobId>(event.index);
  const auto node = static_cast<NodeId>(event.index);
  switch (event.kind) {
    case EventKind::end:
      if (event.version != courses_[event.index].ends) return;
      end_run(event.index, true);
      scheduler_.finish(id, now_);
      mix(event.kind, event.index, 0);
      return;
    case EventKind::stop:
      if (event.version != courses_[event.index].runs) return;
      if (jobs_[event.index].checkpoint_on_notice && jobs_[event.index].grace.count() > 0) {
        settle(event.index);
        courses_[event.index].safe = courses_[event.index].done;
      }
      end_run(event.index, false);
      ++so_far_.jobs[event.index].preemptions;
      ++so_far_.preemptions;
      scheduler_.stopped(id, now_);
      mix(event.kind, event.index, 0);
      return;
    case EventKind::node_up:
      if (--down_[event.index] == 0) scheduler_.node_up(node, now_);
      return;
    case EventKind::node_down:
      if (down_[event.index]++ > 0) return;
      scheduler_.node_down(node, now_);
      lost.push_back(node);
      return;
  }
}

void Replay::arrive() {
  const auto job = static_cast<std::uint32_t>(arrived_++);
  const JobId id = scheduler_.submit(jobs_[job], now_);
  CHECK(index_of(id) == job, "ids are given in order of submission");
  // Larger than the whole machine: known in advance, and not counted as waiting work.
  courses_[job].hopeless = jobs_[job].gpu_milli() / jobs_[job].tasks * jobs_[job].fewest() >
                           scheduler_.machine().gpus() * std::int64_t{kWholeGpu};
  courses_[job].queued = now_;
  wait(job);
  fresh_.push_back(job);
}

void Replay::decide() {
  if (options_.policy.preemption && scheduler_.waiting_count() > 0) report_checkpoints();
  const Decisions decisions = scheduler_.decide(now_);
  ++so_far_.decisions;
  for (const Preempt& preempt : decisions.preempts) {
    const std::uint32_t job = index_of(preempt.victim);
    push(std::max(preempt.deadline, now_), EventKind::stop, job, courses_[job].runs);
  }
  for (const Resize& resize : decisions.resizes) apply(resize);
  for (const Move& move : decisions.moves) apply(move);
  for (const Start& start : decisions.starts) apply(start);
}

void Replay::apply(const Start& start) {
  const std::uint32_t job = index_of(start.job);
  JobOutcome& outcome = so_far_.jobs[job];
  if (outcome.first_start == kNever) outcome.first_start = now_;
  outcome.backfilled = start.backfilled;
  begin_run(job);
  std::uint64_t where = 0;
  for (const Slot& slot : start.placement.slots) {
    where = where * 1'000'003 + index_of(slot.node) * 65'537ULL + slot.gpus;
  }
  mix(EventKind::node_up, job, where);  // a start; node events are not hashed
}

// A planned migration: the job pauses for its cost, and continues from the same point.
void Replay::apply(const Move& move) {
  const std::uint32_t job = index_of(move.job);
  settle(job);
  ++so_far_.moves;
  Course& course = courses_[job];
  if (course.held_milli > 0) {
    const double pause = move.cost_gpu_seconds * 1000.0 / static_cast<double>(course.held_milli);
    course.startup += Duration(static_cast<std::int64_t>(pause * 1e9));
    so_far_.jobs[job].lost_gpu_seconds += move.cost_gpu_seconds;
  }
  look_at_placement(job);
  schedule_end(job);
  mix(EventKind::node_down, job, move.to.size());
}

void Replay::apply(const Resize& resize) {
  const std::uint32_t job = index_of(resize.job);
  settle(job);
  ++so_far_.resizes;
  look_at_placement(job);
  schedule_end(job);
  mix(EventKind::node_down, job, resize.slots.size() * 2 + (resize.grow ? 1U : 0U));
}

// Nodes are lost. Jobs on them fall back to their last checkpoint, wherever they continue.
void Replay::repair(const std::vector<NodeId>& lost) {
  std::set<std::uint32_t> hurt;
  for (const NodeId node : lost) {
    for (const Tenancy& task : scheduler_.state().tasks_on(node)) hurt.insert(index_of(task.job));
  }
  for (const std::uint32_t job : hurt) settle(job);
  const Scheduler::Repair repair = scheduler_.repair(lost, now_);
  so_far_.moves += repair.moves.size();
  so_far_.resizes += repair.resizes.size();
  std::set<NodeId> gone(lost.begin(), lost.end());
  for (const std::uint32_t job : hurt) {
    const JobRecord& record = scheduler_.record(static_cast<JobId>(job));
    const bool left = std::any_of(record.placement.slots.begin(), record.placement.slots.end(),
                                  [&](const Slot& slot) { return gone.count(slot.node) > 0; });
    if (record.phase == JobPhase::waiting || left) {
      end_run(job, false);
      ++so_far_.jobs[job].failures;
      if (record.phase != JobPhase::waiting) scheduler_.stopped(static_cast<JobId>(job), now_);
      mix(EventKind::stop, job, 1);
      continue;
    }
    fall_back(job);
    courses_[job].startup = jobs_[job].restart_cost;
    look_at_placement(job);
    so_far_.jobs[job].lost_gpu_seconds +=
        seconds_of(jobs_[job].restart_cost) * static_cast<double>(courses_[job].held_milli) / 1000.0;
    courses_[job].works_from = now_ + courses_[job].startup;
    schedule_end(job);
    mix(EventKind::node_down, job, 0);
  }
}

void Replay::note_reasons() {
  for (const std::uint32_t job : fresh_) {
    const auto id = static_cast<JobId>(job);
    if (scheduler_.record(id).phase != JobPhase::waiting || so_far_.jobs[job].first_start != kNever) continue;
    const Reason reason = scheduler_.why(id, now_).reason;
    so_far_.jobs[job].first_reason = reason;
    if ((reason == Reason::impossible || reason == Reason::malformed) && !courses_[job].hopeless) {
      wait_no_more(job);
      courses_[job].hopeless = true;
    }
  }
}

void Replay::mix(EventKind kind, std::uint32_t job, std::uint64_t more) {
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(now_.count()), static_cast<std::uint64_t>(kind), std::uint64_t{job}, more}) {
    so_far_.hash = (so_far_.hash ^ part) * 0x100000001B3ULL;  // FNV-1a's prime, over words
    so_far_.hash ^= so_far_.hash >> 32U;
  }
}

ReplayResult replay(const std::shared_ptr<const Machine>& machine, std::span<const Job> jobs,
                    const ReplayOptions& options) {
  Replay whole(machine, jobs, options);
  (void)whole.run_until(kNever);
  return whole.result();
}

}  // namespace weft::sched
