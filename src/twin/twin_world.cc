// What the twin does with commands of the controller, and its reports.
#include "twin/twin_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace weft::twin {

using namespace control;  // NOLINT(google-build-using-namespace): every name here is one of the controller's

namespace {

constexpr Duration kReportPeriod = sched::seconds(30);  // of telemetry; weft serve takes a node for silent after 60 s
constexpr Duration kSettleTime = sched::seconds(960);   // beyond the longest deadline of a repair session's step

std::size_t plan_of(const JobSpec& spec) {
  for (const auto& [name, value] : spec.environment) {
    if (name != kJobVariable) continue;
    std::size_t position = 0;
    (void)std::from_chars(value.data(), value.data() + value.size(), position);
    return position;
  }
  CHECK(false, "a job of the twin has no position");
  return 0;
}

}  // namespace

TwinWorld::TwinWorld(const sched::Machine& machine, const FaultModel& faults, const std::vector<TwinJob>& jobs,
                     std::vector<Incident> incidents, std::uint64_t seed, sched::Moment start)
    : machine_(machine),
      faults_(faults),
      jobs_(jobs),
      incidents_(std::move(incidents)),
      seed_(seed),
      start_(start),
      time_(start),
      nodes_(machine.nodes().size()),
      accounts_(jobs.size()),
      ledger_(faults.causes.size()),
      busy_until_(start + kSettleTime) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n].boot = ++last_boot_;
    nodes_[n].milli = std::int64_t{machine.nodes()[n].gpus} * sched::kWholeGpu;
    nodes_[n].since = start;
  }
  for (std::size_t i = 0; i < incidents_.size(); ++i) {
    later(incidents_[i].at,
          [this, i] { incidents_[i].job < 0 ? strike(incidents_[i], false) : strike_job(incidents_[i]); });
  }
}

void TwinWorld::later(Duration delay, Action action) {
  queue_.push({time_ + delay, ++serial_, std::make_shared<Action>(std::move(action))});
}

void TwinWorld::advance(sched::Moment time) {
  while (!queue_.empty() && queue_.top().at <= time) {
    const Scheduled next = queue_.top();
    queue_.pop();
    time_ = std::max(time_, next.at);
    (*next.action)();
  }
  time_ = std::max(time_, time);
}

void TwinWorld::tell(Event event, Duration delay) {
  std::visit(
      [&](auto& each) {
        if constexpr (requires { each.observed; }) each.observed = time_;
      },
      event);
  later(delay, [this, event = std::move(event)] { inbox_.push_back(event); });
}

void TwinWorld::stir() { busy_until_ = std::max(busy_until_, time_ + kSettleTime); }

// Periodic reports are made when the controller looks: nothing reads them between its turns.
void TwinWorld::poll(sched::Moment now, std::vector<Event>& events) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    const bool due = node.reported == sched::Moment() || now - node.reported >= kReportPeriod;
    if (!due || (!node.alive && !node.known)) continue;
    node.reported = now;
    NodeReport report;
    report.node = static_cast<sched::NodeId>(n);
    report.boot = node.alive ? node.boot : 0;  // of a dead node, its BMC reports
    report.observed = now;
    if (node.known) {
      report.health = Health::fatal;
      report.signal = faults_.causes[courses_[node.course].incident.cause].signal;
    }
    events.emplace_back(std::move(report));
  }
  events.insert(events.end(), std::make_move_iterator(inbox_.begin()), std::make_move_iterator(inbox_.end()));
  inbox_.clear();
}

void TwinWorld::send(const Command& command, sched::Moment) {
  std::visit([&](const auto& each) { on(each); }, command);
}

void TwinWorld::on(const StartAttempt& command) {
  Run& run = runs_[command.name.job];
  run.plan = plan_of(*command.spec);
  JobAccount& account = accounts_[run.plan];
  const sched::Moment waited_from =
      account.attempts == 0 ? start_ + jobs_[run.plan].submitted : std::max(run.since, start_);
  (account.attempts == 0 ? account.first_wait : account.waits) += time_ - waited_from;
  if (account.attempts == 0) account.first_start = time_;
  ++account.attempts;
  run.name = command.name;
  run.phase = Phase::starting;
  run.since = time_;
  run.interval = milliseconds(command.checkpoint_interval.count() / 1'000'000);
  run.speed = 1;
  run.progress = run.saved;
  ++run.serial;
  run.parts.clear();
  run.milli = 0;
  const std::int64_t milli = command.spec->shape.task.gpu_total();
  for (const sched::Slot& slot : command.slots) {
    settle(slot.node);
    at(slot.node).held += milli;
    if (at(slot.node).held > at(slot.node).milli) {
      violate(fmt::format("{} has GPUs with two holders", machine_.node(slot.node).name));
    }
    run.milli += milli;
    const auto same = [&](const Part& part) { return part.node == slot.node; };
    const auto found = std::find_if(run.parts.begin(), run.parts.end(), same);
    if (found != run.parts.end()) {
      found->milli += milli;
    } else {
      run.parts.push_back({slot.node, milli});
    }
  }
  active_[command.name.job] = true;
  later(jobs_[run.plan].launch, [this, command] { launch(command); });
}

void TwinWorld::on(const StopAttempt& command) {
  Run* run = find(command.name);
  if (run != nullptr && run->phase != Phase::stopping) {
    if (run->phase != Phase::undetected && !run->ends) interrupt(*run, run->cause, nullptr);
    enter(*run, Phase::stopping);
  }
  const auto known = runs_.find(command.name.job);  // an orphan may be of no job
  later(known == runs_.end() ? TwinJob().stop : jobs_[known->second.plan].stop, [this, command] {
    Run* stopped = find(command.name);
    for (const sched::NodeId id : command.nodes) {
      if (!at(id).alive) continue;
      const auto same = [&](const Part& part) { return part.node == id; };
      const auto part = stopped == nullptr ? std::vector<Part>::iterator()
                                           : std::find_if(stopped->parts.begin(), stopped->parts.end(), same);
      if (stopped != nullptr && part != stopped->parts.end() && part->running) {
        exit_part(*stopped, *part, 143, "stopped");
        continue;
      }
      if (stopped != nullptr && part != stopped->parts.end()) release(*stopped, *part);
      at(id).started[command.name.job] = std::max(at(id).started[command.name.job], command.name.attempt);
      tell(PartReport{command.name, id, at(id).boot, PartPhase::absent, true, 0, {}, {}});
    }
  });
}

void TwinWorld::on(const RequestCheckpoint& command) {
  Run* run = find(command.name);
  if (run != nullptr && run->phase == Phase::computing) write_checkpoint(*run);
}

void TwinWorld::on(const VerifyCheckpoint& command) {
  const auto run = runs_.find(command.job);
  CheckpointVerified verified;
  verified.operation = command.operation;
  verified.job = command.job;
  if (run != runs_.end() && !run->second.checkpoint.empty()) {
    verified.checkpoint = run->second.checkpoint;
    verified.path = fmt::format("{}/{}/{}", command.spec->checkpoint.volumes.front(), command.job, verified.checkpoint);
    verified.step = run->second.checkpoint_step;
  }
  tell(std::move(verified), jobs_[plan_of(*command.spec)].verify);
}

void TwinWorld::on(const QueryInventory& command) {
  Inventory inventory;
  inventory.nodes.reserve(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (!node.alive) continue;
    node.term = std::max(node.term, command.term);
    inventory.nodes.push_back({static_cast<sched::NodeId>(n), node.boot, node.running, node.term});
  }
  tell(std::move(inventory));
}

void TwinWorld::on(const CordonNode& command) {
  later(sched::seconds(1), [this, command] {
    Node& node = at(command.node);
    settle(command.node);
    const std::string mark = fmt::format("weft:{}", command.session);
    if (command.cordon && !node.marked) {
      node.marked = true;
      node.mark = mark;
    } else if (!command.cordon && node.marked && node.mark == mark) {
      node.marked = false;
      node.mark.clear();
      check_troubled(command.node);
    }
    if (node.marked) troubled_.insert(command.node);
    tell(CordonReport{command.node, node.marked, node.mark, {}});
    stir();
  });
}

void TwinWorld::on(const PowerCycle& command) {
  stir();
  later(faults_.power_cycle, [this, command] {
    switch_off(command.node);
    if (at(command.node).bad && courses_[at(command.node).course].incident.fix == Fix::power_cycle) {
      return_later(courses_[at(command.node).course].incident);
      heal(command.node);
    }
    PowerReport report;
    report.operation = command.operation;
    report.node = command.node;
    report.was_off = report.on = true;
    tell(std::move(report));
    later(faults_.boot, [this, command] { boot(command.node); });
    stir();
  });
}

void TwinWorld::on(const RepairNode& command) {
  tell(CommandReply{command.operation, ReplyKind::permanent, "not available"});
}

void TwinWorld::on(const ValidateNode& command) {
  stir();
  later(faults_.validate, [this, command] {
    const Node& node = at(command.node);
    if (!node.alive) return;
    ValidationReport report;
    report.operation = command.operation;
    report.node = command.node;
    report.boot = node.boot;
    report.passed = !node.bad;
    if (node.bad) report.text = faults_.causes[courses_[node.course].incident.cause].signal;
    tell(std::move(report));
    stir();
  });
}

}  // namespace weft::twin
