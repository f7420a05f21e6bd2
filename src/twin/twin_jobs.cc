// Jobs of the simulated cluster: starts, steps, checkpoints, interruptions, ends.
#include <fmt/format.h>

#include <algorithm>

#include "twin/twin_world.h"

namespace weft::twin {

using control::AttemptName;
using control::PartPhase;
using control::PartReport;

namespace {

constexpr Duration kCrashTime = sched::seconds(1);  // from a fault to the end of the processes that see it

// a * factor, rounded down to milliseconds.
Duration scaled(Duration a, double factor) {
  return milliseconds(static_cast<std::int64_t>(static_cast<double>(a.count()) / 1e6 * factor));
}

}  // namespace

TwinWorld::Run* TwinWorld::find(const AttemptName& name) {
  const auto found = runs_.find(name.job);
  return found != runs_.end() && found->second.name == name ? &found->second : nullptr;
}

// Books the time since the last call.
void TwinWorld::settle(Run& run) {
  const Duration passed = time_ - run.since;
  if (passed.count() <= 0) return;
  run.since = time_;
  const GpuTime time = gpu_time(run.milli, passed);
  Use use = Use::starting;
  switch (run.phase) {
    case Phase::computing: {
      const Duration useful = run.speed < 1 ? scaled(passed, run.speed) : passed;
      run.progress += useful;
      run.unsaved += gpu_time(run.milli, useful);
      run.unsaved_slow += time - gpu_time(run.milli, useful);
      return;
    }
    case Phase::waiting:
      return;
    case Phase::starting:
      break;
    case Phase::checkpoint:
      use = Use::checkpoint;
      break;
    case Phase::undetected:
      use = Use::undetected;
      break;
    case Phase::stopping:
      use = Use::stopping;
      break;
  }
  ledger_.add(use, run.cause, time);
  accounts_[run.plan].time[static_cast<std::size_t>(use)] += time;
}

void TwinWorld::enter(Run& run, Phase phase) {
  settle(run);
  run.since = time_;
  run.phase = phase;
  ++run.serial;
}

// A node refuses an attempt like the product's does: another boot, an earlier term, started before.
void TwinWorld::launch(const control::StartAttempt& command) {
  Run* run = find(command.name);
  if (run == nullptr || run->phase != Phase::starting) return;
  bool all = true;
  for (Part& part : run->parts) {
    Node& node = at(part.node);
    control::BootId boot = 0;
    for (std::size_t i = 0; i < command.slots.size() && boot == 0; ++i) {
      if (command.slots[i].node == part.node) boot = command.boots[i];
    }
    control::AttemptNumber& started = node.started[command.name.job];
    if (!node.alive || boot != node.boot || command.term < node.term || started >= command.name.attempt) {
      all = false;
      continue;
    }
    started = command.name.attempt;
    node.term = std::max(node.term, command.term);
    node.running.push_back(command.name);
    part.running = true;
    tell(PartReport{command.name, part.node, node.boot, PartPhase::running, false, 0, {}, {}});
  }
  if (!all) {
    stir();  // the controller's start timeout
    return;
  }
  const TwinJob& job = jobs_[run->plan];
  const Duration load = job.load + (command.checkpoint.empty() ? Duration() : job.restore);
  later(load, [this, name = command.name, serial = run->serial] {
    Run* loaded = find(name);
    if (loaded != nullptr && loaded->serial == serial) compute(*loaded);
  });
}

void TwinWorld::compute(Run& run) {
  for (Part& part : run.parts) {
    const Node& node = at(part.node);
    if (!node.bad) continue;  // started on a node whose fault telemetry has not reported yet
    interrupt(run, node.cause, &courses_[node.course]);
    exit_part(run, part, 1, faults_.causes[courses_[node.course].incident.cause].signal);
    return;
  }
  enter(run, Phase::computing);
  run.cause = kNoCause;
  run.checkpointed = time_;
  plan_next(run);
  const auto waiting = waiting_.find(static_cast<std::int32_t>(run.plan));
  if (waiting == waiting_.end() || waiting->second.empty()) return;
  const Incident incident = waiting->second.front();  // one for each start
  waiting->second.erase(waiting->second.begin());
  strike_job(incident);
}

// The next checkpoint or the end of the work, whichever is first.
void TwinWorld::plan_next(Run& run) {
  const TwinJob& job = jobs_[run.plan];
  ++run.serial;
  Duration ahead = sched::kUnlimited;
  if (job.work != sched::kUnlimited) {
    const Duration rest = job.work - run.progress;
    ahead = run.speed < 1 ? scaled(rest, 1 / run.speed) + milliseconds(1) : rest;
  }
  bool ends = true;
  if (run.interval.count() > 0) {
    const Duration until = std::max(run.interval - (time_ - run.checkpointed), Duration());
    if (until < ahead) {
      ahead = until;
      ends = false;
    }
  }
  if (ahead == sched::kUnlimited) return;
  later(std::max(ahead, Duration()), [this, name = run.name, serial = run.serial, ends] {
    Run* due = find(name);
    if (due == nullptr || due->serial != serial) return;
    ends ? finish_work(*due) : write_checkpoint(*due);
  });
}

void TwinWorld::write_checkpoint(Run& run) {
  const TwinJob& job = jobs_[run.plan];
  enter(run, Phase::checkpoint);
  run.checkpointed = time_;
  run.writing = run.unsaved;
  run.writing_slow = run.unsaved_slow;
  run.writing_progress = run.progress;
  const auto attempt = run.name;
  const sched::Moment begun = time_;
  later(std::max(job.write, job.stall), [this, attempt, begun] {
    Run* written = find(attempt);
    const bool same = written != nullptr && written->checkpointed == begun && written->writing_progress.count() > 0;
    if (same && (written->phase == Phase::computing || written->phase == Phase::checkpoint)) {
      complete_checkpoint(*written);
    }
  });
  later(job.stall, [this, attempt, serial = run.serial] {
    Run* stalled = find(attempt);
    if (stalled == nullptr || stalled->serial != serial) return;
    enter(*stalled, Phase::computing);
    plan_next(*stalled);
  });
}

void TwinWorld::complete_checkpoint(Run& run) {
  const TwinJob& job = jobs_[run.plan];
  JobAccount& account = accounts_[run.plan];
  settle(run);
  ledger_.add(Use::productive, kNoCause, run.writing);
  ledger_.add(Use::slow, kNoCause, run.writing_slow);
  account.time[static_cast<std::size_t>(Use::productive)] += run.writing;
  account.time[static_cast<std::size_t>(Use::slow)] += run.writing_slow;
  run.unsaved -= run.writing;
  run.unsaved_slow -= run.writing_slow;
  run.writing = run.writing_slow = 0;
  run.saved = run.writing_progress;
  ++account.checkpoints;
  run.checkpoint_step = run.saved / std::max(job.step, milliseconds(1));
  run.checkpoint = fmt::format("step-{:012}", run.checkpoint_step);
  control::CheckpointWritten written;
  written.name = run.name;
  written.checkpoint = run.checkpoint;
  written.step = run.checkpoint_step;
  written.took = job.stall;
  tell(std::move(written));
}

void TwinWorld::finish_work(Run& run) {
  settle(run);
  JobAccount& account = accounts_[run.plan];
  run.ends = account.done = true;
  account.ended = time_;
  account.progress = run.progress;
  ledger_.add(Use::productive, kNoCause, run.unsaved);
  ledger_.add(Use::slow, kNoCause, run.unsaved_slow);
  account.time[static_cast<std::size_t>(Use::productive)] += run.unsaved;
  account.time[static_cast<std::size_t>(Use::slow)] += run.unsaved_slow;
  run.unsaved = run.unsaved_slow = run.writing = run.writing_slow = 0;
  enter(run, Phase::stopping);
  for (Part& part : run.parts) exit_part(run, part, 0, {});
}

// The job does not compute anymore. What it computed since its last checkpoint is lost.
void TwinWorld::interrupt(Run& run, std::uint32_t cause, IncidentCourse* course) {
  settle(run);
  const GpuTime lost = run.unsaved + run.unsaved_slow;
  run.cause = cause;
  ledger_.add(Use::lost, cause, lost);
  JobAccount& account = accounts_[run.plan];
  account.time[static_cast<std::size_t>(Use::lost)] += lost;
  if (course != nullptr) {
    ++account.interruptions;
    ++course->jobs;
    course->lost += lost;
  }
  run.unsaved = run.unsaved_slow = run.writing = run.writing_slow = 0;
  run.writing_progress = Duration();
  run.progress = run.saved;
  enter(run, Phase::undetected);
  stir();
}

// The processes of a job that stands still end by themselves.
void TwinWorld::abort(const AttemptName& name, std::uint64_t serial, const std::string& text) {
  Run* run = find(name);
  if (run == nullptr || run->serial != serial || run->phase != Phase::undetected) return;
  enter(*run, Phase::stopping);
  for (Part& part : run->parts) {
    if (part.running && at(part.node).alive) exit_part(*run, part, 134, text);
  }
}

void TwinWorld::exit_part(Run& run, Part& part, std::int32_t code, const std::string& text) {
  Node& node = at(part.node);
  std::erase(node.running, run.name);
  part.running = false;
  const PartReport report{run.name, part.node, node.boot, PartPhase::exited, true, code, text, {}};
  release(run, part);
  tell(report, code == 0 || code == 143 ? milliseconds(100) : kCrashTime);
  stir();
}

void TwinWorld::release(Run& run, Part& part) {
  if (!part.held) return;
  settle(run);
  settle(part.node);
  part.held = false;
  run.milli -= part.milli;
  at(part.node).held -= part.milli;
  if (run.milli > 0) return;
  enter(run, Phase::waiting);
  active_.erase(run.name.job);
}

void TwinWorld::set_speed(sched::NodeId id, double speed) {
  for (const AttemptName& name : at(id).running) {
    Run* run = find(name);
    if (run == nullptr || (run->phase != Phase::computing && run->phase != Phase::checkpoint)) continue;
    settle(*run);
    run->speed = speed;
    if (run->phase == Phase::computing) plan_next(*run);
  }
}

}  // namespace weft::twin
