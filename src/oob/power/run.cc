#include "oob/power/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/host_range.h"
#include "oob/power/lock.h"
#include "oob/power/unsettled.h"

namespace weft::oob {
namespace {

const std::string* text_of(const Value& map, std::string_view key) {
  const Value* value = map.is_map() ? map.find(key) : nullptr;
  return value != nullptr && value->is_text() ? &value->text() : nullptr;
}

bool truth_of(const Value& map, std::string_view key) {
  const Value* value = map.is_map() ? map.find(key) : nullptr;
  const bool* truth = value != nullptr ? std::get_if<bool>(&value->state()) : nullptr;
  return truth != nullptr && *truth;
}

// An operation as recorded in the journal.
struct Told {
  OpenPower summary;
  std::vector<std::string> hosts;
  bool force = false;
  bool finish_on = false;
  std::unordered_map<std::string, PowerOutcome> outcomes;
  std::unordered_map<std::string, PowerResume> intents;  // the last of each device
};

PowerOutcome outcome_of(const JournalEntry& entry) {
  PowerOutcome outcome;
  const auto text = [&](std::string_view key) {
    const std::string* found = text_of(entry.detail, key);
    return found != nullptr ? *found : std::string();
  };
  outcome.end = power_end_named(text("end")).value_or(PowerEnd::unknown);
  outcome.reason = text("reason");
  outcome.next = text("next");
  outcome.reached = true;
  return outcome;
}

// Empty if it is not a power operation, or its begin entry is invalid.
std::optional<Told> told_of(const OpenOperation& operation) {
  const std::optional<PowerVerb> verb = power_verb_of_journal(operation.verb);
  if (!verb) return std::nullopt;
  Told told;
  told.summary.operation = operation.operation;
  told.summary.verb = *verb;
  for (const JournalEntry& entry : operation.entries) {
    if (entry.phase == Phase::begin) {
      told.summary.who = entry.who;
      told.summary.time = entry.time;
      const std::string* hosts = text_of(entry.detail, "hosts");
      Result<std::vector<std::string>> expanded = expand_hosts(hosts != nullptr ? *hosts : std::string());
      if (!expanded.ok()) return std::nullopt;
      told.hosts = std::move(expanded).value();
      told.force = truth_of(entry.detail, "force");
      told.finish_on = truth_of(entry.detail, "finish_on");
    } else if (entry.phase == Phase::outcome) {
      told.outcomes[entry.device] = outcome_of(entry);
    } else if (std::optional<PowerResume> resume = resume_of(entry)) {
      told.intents[entry.device] = std::move(*resume);
    }
  }
  for (const std::string& host : told.hosts) {
    if (told.outcomes.count(host) == 0) told.summary.unsettled.push_back(host);
  }
  return told;
}

Result<std::vector<Told>> read_open(const Journal& journal) {
  const Result<std::vector<JournalEntry>> entries = journal.read();
  if (!entries.ok()) return entries.error();
  std::vector<Told> found;
  for (const OpenOperation& operation : open_operations(*entries)) {
    std::optional<Told> told = told_of(operation);
    if (told) found.push_back(std::move(*told));
  }
  return found;
}

// Verbs that must not run twice, or on a device that another operation uses.
bool dangerous(PowerVerb verb) { return verb != PowerVerb::on; }

Status check_no_open_operation(const Fleet& fleet, const PowerRequest& request) {
  std::vector<std::string> names;
  for (const std::uint32_t target : request.targets) names.push_back(fleet.inventory.targets()[target].name);
  // Power that changes in the middle of a flash destroys a BMC or a BIOS.
  if (Status flashed = check_unsettled(fleet.journal, names, "firmware."); !flashed.ok()) return flashed;
  if (!dangerous(request.verb)) return {};
  const Result<std::vector<Told>> open = read_open(fleet.journal);
  if (!open.ok()) return open.error();
  const std::set<std::string> wanted(names.begin(), names.end());
  for (const Told& told : *open) {
    std::vector<std::string> both;
    for (const std::string& host : told.summary.unsettled) {
      if (wanted.count(host) > 0) both.push_back(host);
    }
    if (both.empty()) continue;
    const std::string& id = told.summary.operation;
    const std::string what =
        fmt::format("operation {} ({}, by {} at {}) is incomplete for {}", id, to_text(told.summary.verb),
                    told.summary.who, told.summary.time, fold_hosts(std::move(both)));
    return Error{ErrorCode::refused,
                 is_operation_running(fleet.journal, id)
                     ? what + " and still running: wait for it"
                     : what + fmt::format(": continue it first with --resume {}", id),
                 {}};
  }
  return {};
}

// Every outcome has its slot before anything runs, so a stop omits no device.
class Operation {
 public:
  Operation(const Fleet& fleet, const PowerRequest& request, std::string id) : fleet_(fleet), request_(request) {
    report_.operation = std::move(id);
    report_.verb = request.verb;
    began_ = fleet.clock.now();
  }

  [[nodiscard]] Status write(Phase phase, Value detail) {
    JournalEntry entry;
    entry.operation = report_.operation;
    entry.phase = phase;
    entry.verb = journal_verb(request_.verb);
    entry.detail = std::move(detail);
    return fleet_.journal.append(std::move(entry));
  }

  void add_earlier(std::uint32_t target, const PowerOutcome& outcome) {
    report_.devices.push_back({target, outcome, true});
  }
  void add_missing(const std::string& host) {
    report_.missing.push_back(host);
    JournalEntry entry;
    entry.operation = report_.operation;
    entry.phase = Phase::outcome;
    entry.verb = journal_verb(request_.verb);
    entry.device = host;
    entry.detail = Value::map()
                       .set("end", to_text(PowerEnd::unknown))
                       .set("reason", "is no longer in the inventory")
                       .set("next", "check it manually");
    if (!fleet_.journal.append(std::move(entry)).ok()) journalled_ = false;
  }
  void add_refused(const PowerPlan& plan) {
    for (const PlanRefusal& refusal : plan.refused) {
      PowerOutcome outcome;
      outcome.end = PowerEnd::not_done;
      outcome.reason = refusal.reason;
      outcome.next = refusal.next;
      outcome.reached = true;  // its sources answered
      outcome.journalled = record_outcome(fleet_, refusal.target, request_.verb, report_.operation, outcome);
      if (!outcome.journalled) journalled_ = false;
      report_.devices.push_back({refusal.target, std::move(outcome), false});
    }
  }

  void add_abandoned(std::uint32_t target, bool may_have_been_sent) {
    PowerOutcome outcome;
    outcome.end = may_have_been_sent ? PowerEnd::unknown : PowerEnd::not_done;
    outcome.reason = may_have_been_sent ? "abandoned; the step may have been sent" : "abandoned before it was started";
    outcome.next = may_have_been_sent ? "check it with status" : "nothing was sent";
    outcome.journalled = record_outcome(fleet_, target, request_.verb, report_.operation, outcome);
    report_.devices.push_back({target, std::move(outcome), false});
  }

  // `resumes`: parallel to the targets of the wave, or empty.
  void run_wave(const std::vector<std::uint32_t>& targets, const std::vector<PowerResume>& resumes) {
    ++report_.waves;
    const std::size_t first = report_.devices.size();
    for (const std::uint32_t target : targets) report_.devices.push_back({target, not_begun(), false});
    const auto task = [&](std::uint32_t i) {
      const PowerResume* resume = resumes.empty() ? nullptr : &resumes[i];
      report_.devices[first + i].outcome =
          run_power(fleet_, targets[i], request_.verb, request_.options, report_.operation, resume);
    };
    const std::uint32_t before = finished_;
    const auto progress = [&](std::uint32_t finished) {
      finished_ = before + finished;
      if (request_.progress) request_.progress({finished_, total_, report_.waves, waves_});
    };
    const FanOutResult result =
        fan_out(static_cast<std::uint32_t>(targets.size()), fleet_.width, fleet_.clock, task, progress);
    report_.threads = std::max(report_.threads, result.threads);
  }

  void run_plan(const PowerPlan& plan) {
    for (std::size_t i = 0; i < plan.waves.size(); ++i) {
      run_wave(plan.waves[i].targets, {});
      const bool starts = request_.verb == PowerVerb::on || request_.verb == PowerVerb::cycle;
      if (i + 1 < plan.waves.size() && starts) (void)fleet_.clock.sleep(request_.limits.settle);
    }
  }
  void expect(const PowerPlan& plan, std::size_t resumed) {
    waves_ = plan.waves.size() + (resumed > 0 ? 1 : 0);
    total_ = static_cast<std::uint32_t>(resumed);
    for (const PowerWave& wave : plan.waves) total_ += static_cast<std::uint32_t>(wave.targets.size());
  }

  PowerReport finish() {
    for (const DeviceOutcome& device : report_.devices) {
      if (device.outcome.stopped) report_.stopped = true;
      if (!device.outcome.journalled) journalled_ = false;
    }
    // A device without an outcome in the journal keeps the operation open.
    if (!report_.stopped && journalled_) {
      Value detail = Value::map();
      for (const PowerEnd end : {PowerEnd::done, PowerEnd::not_done, PowerEnd::unknown})
        detail.set(to_text(end), report_.count(end));
      report_.ended = write(Phase::end, std::move(detail)).ok();
    }
    std::stable_sort(report_.devices.begin(), report_.devices.end(),
                     [](const DeviceOutcome& a, const DeviceOutcome& b) { return a.target < b.target; });
    report_.took = fleet_.clock.now() - began_;
    return std::move(report_);
  }

 private:
  static PowerOutcome not_begun() {
    PowerOutcome outcome;
    outcome.end = PowerEnd::not_done;
    outcome.reason = "stopped by the operator before it was started";
    outcome.next = "resume the operation";
    outcome.stopped = true;
    return outcome;
  }

  const Fleet& fleet_;
  const PowerRequest& request_;
  PowerReport report_;
  Duration began_;
  std::uint32_t finished_ = 0;
  std::uint32_t total_ = 0;
  std::size_t waves_ = 0;
  bool journalled_ = true;
};

void look_at(const Fleet& fleet, const std::vector<std::uint32_t>& targets, PowerStates& states) {
  if (!targets.empty()) take_states(sweep_status(fleet, targets), states);
}

std::vector<std::uint32_t> all_sources(const Fleet& fleet, const std::vector<std::uint32_t>& targets) {
  std::set<std::uint32_t> found;
  for (const std::uint32_t target : targets) {
    for (const std::uint32_t source : power_sources(fleet.inventory, target)) found.insert(source);
  }
  return {found.begin(), found.end()};
}

// Everything on the feeds of devices that did not fit into the budget.
std::vector<std::uint32_t> neighbors(const Fleet& fleet, const PowerPlan& plan, const PowerStates& states) {
  std::set<int> feeds;
  for (const PlanRefusal& refusal : plan.refused) {
    if (refusal.problem != PlanProblem::budget) continue;
    const std::vector<int>& own = fleet.inventory.targets()[refusal.target].feeds;
    feeds.insert(own.begin(), own.end());
  }
  std::vector<std::uint32_t> found;
  if (feeds.empty()) return found;
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    const std::vector<int>& own = fleet.inventory.targets()[i].feeds;
    const bool shares = std::any_of(own.begin(), own.end(), [&](int feed) { return feeds.count(feed) > 0; });
    if (shares && states[i] == PowerState::unknown) found.push_back(i);
  }
  return found;
}

Value begin_value(const Fleet& fleet, const PowerRequest& request) {
  return Value::map()
      .set("hosts", fleet.inventory.fold(request.targets))
      .set("devices", request.targets.size())
      .set("reason", request.reason)
      .set("force", request.options.force)
      .set("finish_on", request.options.finish_on)
      .set("deadline_ms", request.options.deadline.count() / 1'000'000);
}

Error no_such(const std::string& operation) {
  return {ErrorCode::not_found,
          fmt::format("the journal has no incomplete power operation `{}`: it has ended or never started", operation),
          {}};
}

Result<Told> find_open(const Fleet& fleet, const std::string& operation) {
  Result<std::vector<Told>> open = read_open(fleet.journal);
  if (!open.ok()) return open.error();
  for (Told& told : *open) {
    if (told.summary.operation == operation) return std::move(told);
  }
  return no_such(operation);
}

Result<FileLock> own(const Fleet& fleet, const std::string& operation) {
  Result<FileLock> held = lock_operation(fleet.journal, operation, false);
  if (held.ok() || held.error().code != ErrorCode::conflict) return held;
  return Error{ErrorCode::refused, fmt::format("operation {} is still running", operation), {}};
}

}  // namespace

std::uint32_t PowerReport::count(PowerEnd end) const {
  return static_cast<std::uint32_t>(std::count_if(
      devices.begin(), devices.end(), [end](const DeviceOutcome& device) { return device.outcome.end == end; }));
}

bool PowerReport::in_the_dark() const {
  return std::all_of(devices.begin(), devices.end(), [](const DeviceOutcome& device) {
    return device.outcome.end == PowerEnd::unknown || !device.outcome.reached;
  });
}

Result<PowerPlan> prepare_power(const Fleet& fleet, const PowerRequest& request) {
  PowerStates states(fleet.inventory.targets().size(), PowerState::unknown);
  // Refusals by the hierarchy need no reads.
  Result<PowerPlan> plan = plan_power(fleet.inventory, request.verb, request.targets, states, request.limits);
  if (!plan.ok() || request.verb == PowerVerb::off || request.verb == PowerVerb::soft) return plan;
  look_at(fleet, all_sources(fleet, request.targets), states);
  plan = plan_power(fleet.inventory, request.verb, request.targets, states, request.limits);
  if (!plan.ok()) return plan;
  const std::vector<std::uint32_t> others = neighbors(fleet, *plan, states);
  if (others.empty() || fleet.clock.stopped()) return plan;
  look_at(fleet, others, states);
  return plan_power(fleet.inventory, request.verb, request.targets, states, request.limits);
}

Result<PowerReport> run_operation(const Fleet& fleet, const PowerRequest& request) {
  if (Status alone = check_no_open_operation(fleet, request); !alone.ok()) return alone.error();
  const Result<PowerPlan> plan = prepare_power(fleet, request);
  if (!plan.ok()) return plan.error();
  if (fleet.clock.stopped()) return Error{ErrorCode::refused, "stopped before anything was started", {}};
  const std::string id = request.operation.empty() ? new_operation_id() : request.operation;
  Operation operation(fleet, request, id);
  Result<FileLock> mine = FileLock();
  {
    // Checking for open operations on the devices and claiming them is atomic.
    const Result<FileLock> one_at_a_time = lock_operation(fleet.journal, {}, true);
    if (!one_at_a_time.ok()) return one_at_a_time.error();
    if (Status alone = check_no_open_operation(fleet, request); !alone.ok()) return alone.error();
    mine = lock_operation(fleet.journal, id, false);
    if (!mine.ok()) return mine.error();
    if (Status begun = operation.write(Phase::begin, begin_value(fleet, request)); !begun.ok()) return begun.error();
  }
  operation.expect(*plan, 0);
  operation.add_refused(*plan);
  operation.run_plan(*plan);
  return operation.finish();
}

Result<PowerReport> resume_operation(const Fleet& fleet, const std::string& operation, PowerRequest with) {
  if (Result<Told> open = find_open(fleet, operation); !open.ok()) return open.error();
  const Result<FileLock> mine = own(fleet, operation);
  if (!mine.ok()) return mine.error();
  // Read again: the operation may have continued until its process released the lock.
  const Result<Told> told = find_open(fleet, operation);
  if (!told.ok()) return told.error();
  with.verb = told->summary.verb;
  with.options.force = told->force;
  with.options.finish_on = told->finish_on;
  with.targets.clear();
  Operation resumed(fleet, with, operation);
  std::vector<std::uint32_t> watched;
  std::vector<PowerResume> resumes;
  const bool once = with.verb == PowerVerb::cycle || with.verb == PowerVerb::reset;
  const Status noted = resumed.write(Phase::note, Value::map().set("resumed", true).set("reason", with.reason));
  if (!noted.ok()) return noted.error();
  for (const std::string& host : told->hosts) {
    const std::optional<std::uint32_t> target = fleet.inventory.find(host);
    const auto outcome = told->outcomes.find(host);
    const auto intent = told->intents.find(host);
    if (!target) {
      if (outcome == told->outcomes.end()) resumed.add_missing(host);
    } else if (outcome != told->outcomes.end()) {
      resumed.add_earlier(*target, outcome->second);
    } else if (once && intent != told->intents.end()) {
      watched.push_back(*target);
      resumes.push_back(intent->second);
    } else {
      with.targets.push_back(*target);
    }
  }
  const Result<PowerPlan> plan = prepare_power(fleet, with);
  if (!plan.ok()) return plan.error();
  resumed.expect(*plan, watched.size());
  if (!watched.empty()) resumed.run_wave(watched, resumes);
  resumed.add_refused(*plan);
  resumed.run_plan(*plan);
  return resumed.finish();
}

Result<PowerReport> abandon_operation(const Fleet& fleet, const std::string& operation, const std::string& reason) {
  if (Result<Told> open = find_open(fleet, operation); !open.ok()) return open.error();
  const Result<FileLock> mine = own(fleet, operation);
  if (!mine.ok()) return mine.error();
  const Result<Told> told = find_open(fleet, operation);
  if (!told.ok()) return told.error();
  PowerRequest request;
  request.verb = told->summary.verb;
  Operation abandoned(fleet, request, operation);
  const Status noted = abandoned.write(Phase::note, Value::map().set("abandoned", true).set("reason", reason));
  if (!noted.ok()) return noted.error();
  for (const std::string& host : told->hosts) {
    const std::optional<std::uint32_t> target = fleet.inventory.find(host);
    const auto outcome = told->outcomes.find(host);
    if (!target) {
      if (outcome == told->outcomes.end()) abandoned.add_missing(host);
    } else if (outcome != told->outcomes.end()) {
      abandoned.add_earlier(*target, outcome->second);
    } else {
      abandoned.add_abandoned(*target, told->intents.count(host) > 0);
    }
  }
  return abandoned.finish();
}

Result<std::vector<OpenPower>> open_power(const Journal& journal) {
  const Result<std::vector<Told>> open = read_open(journal);
  if (!open.ok()) return open.error();
  std::vector<OpenPower> found;
  found.reserve(open->size());
  for (const Told& told : *open) {
    found.push_back(told.summary);
    found.back().running = is_operation_running(journal, told.summary.operation);
  }
  return found;
}

}  // namespace weft::oob
