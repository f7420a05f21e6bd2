// Progress of a job: work done, work saved by a checkpoint, and when it will end at its current pace and size.
#include <algorithm>
#include <cmath>

#include "sched/replay/replay.h"

namespace weft::sched {
namespace {

// A duration times a factor; saturates to unlimited.
Duration scaled(Duration time, double factor) {
  if (time == kUnlimited || factor == 1.0) return time;
  const double product = static_cast<double>(time.count()) * factor;
  return product >= 9e18 ? kUnlimited : Duration(std::llround(product));
}

// Slowdown with these tasks relative to all: the work is the same.
double size_factor(const Job& job, std::int32_t tasks) {
  return tasks == job.tasks || tasks == 0 ? 1.0 : static_cast<double>(job.tasks) / static_cast<double>(tasks);
}

}  // namespace

void Replay::begin_run(std::uint32_t job) {
  Course& course = courses_[job];
  JobOutcome& outcome = so_far_.jobs[job];
  wait_no_more(job);
  outcome.waited += now_ - course.queued;
  course.running = true;
  ++course.runs;
  course.since = now_;
  course.limit_left = options_.kill_at_limit ? jobs_[job].limit : kUnlimited;
  course.startup = course.runs > 1 ? jobs_[job].restart_cost : Duration();  // the trace includes the first startup
  course.works_from = now_ + course.startup;
  course.reported = now_;
  course.safe = course.done;
  look_at_placement(job);
  outcome.lost_gpu_seconds += seconds_of(course.startup) * static_cast<double>(course.held_milli) / 1000.0;
  schedule_end(job);
  if (options_.policy.preemption && jobs_[job].checkpoint_interval.count() > 0) {
    checkpoints_.push({course.works_from + jobs_[job].checkpoint_interval, job, course.runs});
  }
}

// After a change of placement.
void Replay::look_at_placement(std::uint32_t job) {
  Course& course = courses_[job];
  const JobRecord& record = scheduler_.record(static_cast<JobId>(job));
  const std::int64_t held = std::int64_t{jobs_[job].task.gpu_total()} * record.running_tasks();
  used_milli_ += held - course.held_milli;
  course.held_milli = held;
  course.tasks = record.running_tasks();
  course.pace = 1;
  if (options_.pace) course.pace = std::max(1e-6, options_.pace(jobs_[job], scheduler_.machine(), record.placement));
  JobOutcome& outcome = so_far_.jobs[job];
  outcome.tasks = record.running_tasks();
  outcome.level = tightest_level(scheduler_.machine(), record.placement.slots);
  if (!options_.keep_nodes) return;
  outcome.nodes.clear();
  for (const Slot& slot : record.placement.slots) {
    if (outcome.nodes.empty() || outcome.nodes.back() != slot.node) outcome.nodes.push_back(slot.node);
  }
}

void Replay::settle(std::uint32_t job) {
  Course& course = courses_[job];
  if (!course.running || course.since == now_) return;
  const Job& about = jobs_[job];
  const double size = size_factor(about, course.tasks);
  const auto by = [&](Moment at) {
    const Duration worked = at - course.since - course.startup;
    if (worked.count() <= 0) return course.done;
    return std::min(course.done + scaled(worked, 1.0 / (course.pace * size)), about.run_time);
  };
  const Duration interval = about.checkpoint_interval;
  if (interval.count() > 0 && now_ > course.works_from) {
    const std::int64_t passed = (now_ - course.works_from) / interval;
    const Moment last = course.works_from + interval * passed;
    if (passed > 0 && last > course.since) course.safe = by(last);
  }
  course.done = by(now_);
  const Duration elapsed = now_ - course.since;
  so_far_.jobs[job].gpu_seconds += seconds_of(elapsed) * static_cast<double>(course.held_milli) / 1000.0;
  course.startup = std::max(Duration(), course.startup - elapsed);
  if (course.limit_left != kUnlimited) {
    course.limit_left = std::max(Duration(), course.limit_left - scaled(elapsed, 1.0 / size));
  }
  course.since = now_;
}

// An elastic job with fewer tasks may take proportionally longer: its limit applies to the run with all tasks.
void Replay::schedule_end(std::uint32_t job) {
  Course& course = courses_[job];
  const double size = size_factor(jobs_[job], course.tasks);
  const Duration left = jobs_[job].run_time == kUnlimited ? kUnlimited : jobs_[job].run_time - course.done;
  const Moment finished = now_ + course.startup + scaled(left, course.pace * size);
  const Moment killed = now_ + scaled(course.limit_left, size);
  course.ends_by_limit = killed < finished;
  ++course.ends;
  const Moment end = std::min(finished, killed);
  if (end != kNever) push(end, EventKind::end, job, course.ends);
}

void Replay::fall_back(std::uint32_t job) {
  Course& course = courses_[job];
  so_far_.jobs[job].lost_gpu_seconds +=
      seconds_of(course.done - course.safe) * course.pace * static_cast<double>(jobs_[job].gpu_milli()) / 1000.0;
  course.done = course.safe;
}

void Replay::end_run(std::uint32_t job, bool finished) {
  settle(job);
  Course& course = courses_[job];
  JobOutcome& outcome = so_far_.jobs[job];
  used_milli_ -= course.held_milli;
  course.held_milli = 0;
  course.running = false;
  ++course.ends;  // pending events of this run are void
  ++course.runs;
  if (finished) {
    outcome.end = now_;
    outcome.killed = course.ends_by_limit;
    so_far_.end = std::max(so_far_.end, now_);
    return;
  }
  fall_back(job);
  course.queued = now_;
  wait(job);
}

// The loss of a preemption matters only while a job waits.
void Replay::report_checkpoints() {
  while (!checkpoints_.empty() && checkpoints_.top().at <= now_) {
    const Checkpoint due = checkpoints_.top();
    checkpoints_.pop();
    const Course& course = courses_[due.job];
    if (due.run != course.runs || !course.running) continue;
    const Duration interval = jobs_[due.job].checkpoint_interval;
    const std::int64_t passed = now_ > course.works_from ? (now_ - course.works_from) / interval : 0;
    if (passed > 0) scheduler_.checkpointed(static_cast<JobId>(due.job), course.works_from + interval * passed);
    checkpoints_.push({course.works_from + interval * (passed + 1), due.job, due.run});
  }
}

}  // namespace weft::sched
