// Nodes of the simulated cluster: incidents, detection, repair.
#include <fmt/format.h>

#include <algorithm>

#include "twin/twin_world.h"

namespace weft::twin {

using control::AttemptName;

Use TwinWorld::free_use(const Node& node) const {
  if (node.people) return Use::person;
  if (node.marked) return Use::repair;
  return node.bad || !node.alive ? Use::broken : Use::idle;
}

// Books the GPUs that no attempt holds.
void TwinWorld::settle(sched::NodeId id) {
  Node& node = at(id);
  const Duration passed = time_ - node.since;
  node.since = time_;
  if (passed.count() <= 0 || node.held >= node.milli) return;
  const Use use = free_use(node);
  ledger_.add(use, use == Use::idle ? kNoCause : node.cause, gpu_time(node.milli - node.held, passed));
}

const Incident* TwinWorld::incident_of(sched::NodeId id) const {
  const Node& node = at(id);
  return node.cause == kNoCause ? nullptr : &courses_[node.course].incident;
}

void TwinWorld::strike(const Incident& incident, bool again) {
  const sched::NodeId id = incident.node;
  Node& node = at(id);
  const Cause& cause = faults_.causes[incident.cause];
  const bool busy = !node.running.empty();
  if (node.bad || !node.alive || node.marked) return;  // it is out of service already
  if (incident.fix == Fix::restart && !busy) return;   // only a job would have noticed it
  courses_.push_back({incident, again});
  const std::size_t course = courses_.size() - 1;
  if (cause.effect == Effect::slow) {
    set_speed(id, 1 - cause.slowdown);
    later(incident.lasts, [this, id] { set_speed(id, 1); });
    return;
  }
  const std::vector<AttemptName> running = node.running;
  for (const AttemptName& name : running) {
    Run* run = find(name);
    if (run == nullptr || run->phase == Phase::undetected || run->phase == Phase::stopping) continue;
    interrupt(*run, incident.cause + 1, &courses_[course]);
    if (incident.abort.count() > 0 && cause.effect != Effect::exit) {
      later(incident.abort, [this, name, serial = run->serial, text = cause.title] { abort(name, serial, text); });
    }
  }
  if (cause.effect == Effect::exit) {
    for (const AttemptName& name : running) {
      Run* run = find(name);
      if (run == nullptr) continue;
      for (Part& part : run->parts) {
        if (part.node != id || !part.running) continue;
        if (run->phase == Phase::undetected) enter(*run, Phase::stopping);
        exit_part(*run, part, 1, cause.signal);
        break;
      }
    }
  }
  if (cause.effect == Effect::down) {
    kill_processes(id);
    settle(id);
    node.alive = false;
  }
  if (incident.fix != Fix::restart) {
    fail_node(id, incident, course);
  } else if (!node.alive) {
    later(faults_.boot, [this, id] { boot(id); });
  }
  stir();
}

// A process of a job fails, where it runs: on the node of the incident if that is one of them.
void TwinWorld::strike_job(const Incident& incident) {
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const auto& each) {
    return each.second.plan == static_cast<std::size_t>(incident.job) && !each.second.parts.empty();
  });
  Run* run = found == runs_.end() ? nullptr : &found->second;
  const bool runs =
      run != nullptr &&
      (run->phase == Phase::starting || run->phase == Phase::computing || run->phase == Phase::checkpoint) &&
      std::all_of(run->parts.begin(), run->parts.end(), [](const Part& part) { return part.running; });
  if (!runs) {
    waiting_[incident.job].push_back(incident);
    return;
  }
  const auto same = [&](const Part& part) { return part.node == incident.node; };
  auto part = std::find_if(run->parts.begin(), run->parts.end(), same);
  if (part == run->parts.end()) part = run->parts.begin();
  courses_.push_back({incident, false});
  courses_.back().incident.node = part->node;
  interrupt(*run, incident.cause + 1, &courses_.back());
  enter(*run, Phase::stopping);
  exit_part(*run, *part, 1, faults_.causes[incident.cause].signal);
}

void TwinWorld::fail_node(sched::NodeId id, const Incident& incident, std::size_t course) {
  Node& node = at(id);
  settle(id);
  node.bad = true;
  node.cause = incident.cause + 1;
  node.course = course;
  troubled_.insert(id);
  if (incident.detect.count() <= 0) return;
  later(incident.detect, [this, id, course] {
    Node& failed = at(id);
    if (!failed.bad || failed.course != course || failed.known) return;
    failed.known = true;
    failed.known_since = time_;
    failed.reported = sched::Moment();  // at once, not with the next periodic report
    courses_[course].detected = time_;
    stir();
    inbox_.emplace_back(control::Tick{});
  });
}

// The processes are gone; who waits for them learns it from the node, or by its boot.
void TwinWorld::kill_processes(sched::NodeId id) {
  const std::vector<AttemptName> running = std::exchange(at(id).running, {});
  for (const AttemptName& name : running) {
    Run* run = find(name);
    if (run == nullptr) continue;
    for (Part& part : run->parts) part.running = part.running && part.node != id;
  }
}

void TwinWorld::free_parts(sched::NodeId id) {
  std::vector<control::JobNumber> holders;
  for (const auto& [job, holds] : active_) holders.push_back(job);
  for (const control::JobNumber job : holders) {
    Run& run = runs_[job];
    for (Part& part : run.parts) {
      if (part.node != id || !part.held) continue;
      if (run.phase == Phase::starting || run.phase == Phase::computing || run.phase == Phase::checkpoint) {
        interrupt(run, at(id).cause, nullptr);
      }
      release(run, part);
    }
  }
}

void TwinWorld::switch_off(sched::NodeId id) {
  settle(id);
  kill_processes(id);
  free_parts(id);
  at(id).alive = false;
}

void TwinWorld::boot(sched::NodeId id) {
  Node& node = at(id);
  if (node.alive) return;
  settle(id);
  node.alive = true;
  node.boot = ++last_boot_;
  node.reported = sched::Moment();
  free_parts(id);
  check_troubled(id);
  inbox_.emplace_back(control::Tick{});
  stir();
}

void TwinWorld::heal(sched::NodeId id) {
  settle(id);
  at(id).bad = at(id).known = false;
}

void TwinWorld::return_later(const Incident& incident) {
  if (incident.returns.count() <= 0) return;
  later(incident.returns, [this, incident] { strike(draw_return(faults_, incident, time_ - start_, seed_), true); });
}

// Whether the node is in service again.
void TwinWorld::check_troubled(sched::NodeId id) {
  Node& node = at(id);
  if (node.bad || !node.alive || node.marked) return;
  settle(id);
  if (node.cause != kNoCause) courses_[node.course].returned = time_;
  node.cause = kNoCause;
  node.people = false;
  troubled_.erase(id);
}

void TwinWorld::begin_repair(sched::NodeId id) {
  settle(id);
  at(id).people = true;
}

void TwinWorld::end_repair(sched::NodeId id) {
  switch_off(id);
  heal(id);
  Node& node = at(id);
  node.people = node.marked;  // it remains theirs until it is in service
  boot(id);
}

void TwinWorld::finish() {
  for (auto& [job, run] : runs_) {
    settle(run);
    JobAccount& account = accounts_[run.plan];
    ledger_.add(Use::productive, kNoCause, run.unsaved);
    ledger_.add(Use::slow, kNoCause, run.unsaved_slow);
    account.time[static_cast<std::size_t>(Use::productive)] += run.unsaved;
    account.time[static_cast<std::size_t>(Use::slow)] += run.unsaved_slow;
    run.unsaved = run.unsaved_slow = run.writing = run.writing_slow = 0;
    if (!account.done) account.progress = run.progress;
    if (run.phase == Phase::waiting && !account.done) account.waits += time_ - run.since;
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) settle(static_cast<sched::NodeId>(n));
}

Ledger TwinWorld::preliminary() {
  for (const auto& [job, holds] : active_) settle(runs_[job]);
  for (std::size_t n = 0; n < nodes_.size(); ++n) settle(static_cast<sched::NodeId>(n));
  Ledger now = ledger_;
  for (const auto& [job, holds] : active_) {
    now.add(Use::productive, kNoCause, runs_[job].unsaved);
    now.add(Use::slow, kNoCause, runs_[job].unsaved_slow);
  }
  return now;
}

}  // namespace weft::twin
