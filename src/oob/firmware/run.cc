#include "oob/firmware/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/host_range.h"
#include "oob/bmc/fan_out.h"
#include "oob/power/lock.h"
#include "oob/power/unsettled.h"

namespace weft::oob {
namespace {

struct Told {
  OpenUpdate summary;
  std::vector<std::string> hosts;
  std::string sha256;
  std::string component;
  std::string expected;
  ApplyTime apply_time = ApplyTime::unset;
  bool force = false;
  std::map<std::string, UpdateOutcome> outcomes;
  std::map<std::string, UpdateResume> resumes;
};

std::string text_in(const Value& map, std::string_view key) {
  const Value* value = map.is_map() ? map.find(key) : nullptr;
  return value != nullptr && value->is_text() ? value->text() : std::string();
}

bool truth_in(const Value& map, std::string_view key) {
  const Value* value = map.is_map() ? map.find(key) : nullptr;
  const bool* truth = value != nullptr ? std::get_if<bool>(&value->state()) : nullptr;
  return truth != nullptr && *truth;
}

UpdateOutcome outcome_in(const Value& detail) {
  UpdateOutcome outcome;
  outcome.end = update_end_named(text_in(detail, "end")).value_or(UpdateEnd::unknown);
  outcome.reason = text_in(detail, "reason");
  outcome.next = text_in(detail, "next");
  outcome.evidence = text_in(detail, "evidence");
  outcome.half_flashed = truth_in(detail, "half_flashed");
  return outcome;
}

void read_begin(const JournalEntry& entry, Told& told) {
  told.summary.who = entry.who;
  told.summary.time = entry.time;
  told.summary.image = text_in(entry.detail, "image");
  told.sha256 = text_in(entry.detail, "sha256");
  told.component = text_in(entry.detail, "component");
  told.expected = text_in(entry.detail, "expected");
  told.force = truth_in(entry.detail, "force");
  for (const ApplyTime time : {ApplyTime::immediate, ApplyTime::on_reset}) {
    if (to_text(time) == text_in(entry.detail, "apply_time")) told.apply_time = time;
  }
  Result<std::vector<std::string>> hosts = expand_hosts(text_in(entry.detail, "hosts"));
  if (hosts.ok()) told.hosts = std::move(hosts).value();
}

Told told_of(const OpenOperation& operation) {
  Told told;
  told.summary.operation = operation.operation;
  std::map<std::string, std::optional<UpdateResume>> resumes;
  for (const JournalEntry& entry : operation.entries) {
    if (entry.phase == Phase::begin) read_begin(entry, told);
    if (entry.device.empty()) continue;
    if (entry.phase == Phase::outcome) told.outcomes[entry.device] = outcome_in(entry.detail);
    add_to_resume(entry, resumes[entry.device]);
  }
  for (auto& [device, resume] : resumes) {
    if (resume) told.resumes.emplace(device, *std::move(resume));
  }
  for (const std::string& host : told.hosts) {
    if (told.outcomes.contains(host)) continue;
    (told.resumes.contains(host) ? told.summary.half_flashed : told.summary.not_started).push_back(host);
  }
  return told;
}

Result<std::vector<Told>> read_open(const Journal& journal) {
  const Result<std::vector<JournalEntry>> entries = journal.read();
  if (!entries.ok()) return entries.error();
  std::vector<Told> found;
  for (const OpenOperation& operation : open_operations(*entries)) {
    if (operation.verb == kFirmwareVerb) found.push_back(told_of(operation));
  }
  return found;
}

Result<Told> find_open(const Fleet& fleet, const std::string& operation) {
  Result<std::vector<Told>> open = read_open(fleet.journal);
  if (!open.ok()) return open.error();
  for (Told& told : *open) {
    if (told.summary.operation == operation) return std::move(told);
  }
  return Error{
      ErrorCode::not_found,
      fmt::format("the journal has no incomplete firmware update `{}`: it has ended or never started", operation),
      {}};
}

std::vector<std::string> names_of(const Fleet& fleet, const std::vector<std::uint32_t>& targets) {
  std::vector<std::string> names;
  names.reserve(targets.size());
  for (const std::uint32_t target : targets) names.push_back(fleet.inventory.targets()[target].name);
  return names;
}

class Operation {
 public:
  Operation(const Fleet& fleet, const UpdateRequest& request, std::string id) : fleet_(fleet), request_(request) {
    report_.operation = std::move(id);
  }

  [[nodiscard]] Status write(Phase phase, Value detail) {
    JournalEntry entry;
    entry.operation = report_.operation;
    entry.phase = phase;
    entry.verb = kFirmwareVerb;
    entry.detail = std::move(detail);
    return fleet_.journal.append(std::move(entry));
  }

  void add_earlier(const std::string& device, const UpdateOutcome& outcome) {
    report_.devices.push_back({device, outcome, true});
  }
  // Nothing is sent to this machine.
  void add_settled(const std::string& device, std::string reason, std::string next, bool half_flashed = false) {
    UpdateOutcome outcome;
    outcome.reached = failed_.empty();  // its BMC did not have to answer
    outcome.end = half_flashed ? UpdateEnd::unknown : UpdateEnd::not_done;
    outcome.reason = std::move(reason);
    outcome.next = std::move(next);
    outcome.half_flashed = half_flashed;
    outcome.journalled = record_update(fleet_, device, report_.operation, outcome);
    report_.devices.push_back({device, std::move(outcome), false});
  }

  // At most `batch` machines at a time, each of another rack. After a failure no further one is started.
  void run_all(std::vector<std::uint32_t> targets) {
    const auto total = static_cast<std::uint32_t>(targets.size());
    std::uint32_t finished = 0;
    while (!targets.empty() && failed_.empty() && !fleet_.clock.stopped()) {
      const std::vector<std::uint32_t> batch = take_batch(targets);
      run_batch(batch, {});
      finished += static_cast<std::uint32_t>(batch.size());
      if (request_.progress) request_.progress(finished, total);
    }
    for (const std::uint32_t target : targets) {
      if (failed_.empty()) return;  // stopped by the operator: they are not settled
      add_settled(fleet_.inventory.targets()[target].name, "not started, because " + failed_ + " failed",
                  "start the update again when the failure is understood");
    }
  }
  void run_batch(const std::vector<std::uint32_t>& targets, const std::vector<const UpdateResume*>& resumes) {
    const std::size_t first = report_.devices.size();
    for (const std::string& name : names_of(fleet_, targets)) report_.devices.push_back({name, {}, false});
    const auto task = [&](std::uint32_t i) {
      report_.devices[first + i].outcome =
          run_update(fleet_, targets[i], request_.options, report_.operation, resumes.empty() ? nullptr : resumes[i]);
    };
    const auto count = static_cast<std::uint32_t>(targets.size());
    const FanOutResult ran = fan_out(count, static_cast<int>(std::max<std::uint32_t>(1, count)), fleet_.clock, task);
    for (std::size_t i = first; i < report_.devices.size(); ++i) {
      UpdateOutcome& outcome = report_.devices[i].outcome;
      if (ran.finished < count && outcome.reason.empty()) outcome.stopped = true;
      const bool fine = outcome.end == UpdateEnd::done || outcome.end == UpdateEnd::staged;
      if (!fine && failed_.empty() && !outcome.stopped) failed_ = report_.devices[i].device;
    }
  }

  [[nodiscard]] UpdateReport finish() {
    const bool settled = std::all_of(report_.devices.begin(), report_.devices.end(), [](const UpdatedDevice& device) {
      return device.earlier || (!device.outcome.stopped && device.outcome.journalled);
    });
    if (settled && report_.devices.size() >= expected_ && !fleet_.clock.stopped())
      report_.ended = write(Phase::end, Value::map().set("all_done", report_.all_done())).ok();
    return std::move(report_);
  }
  void expect(std::size_t devices) { expected_ = devices; }

 private:
  std::vector<std::uint32_t> take_batch(std::vector<std::uint32_t>& targets) const {
    std::vector<std::uint32_t> batch;
    std::set<std::string> racks;
    std::erase_if(targets, [&](std::uint32_t target) {
      if (batch.size() >= std::max<std::uint32_t>(1, request_.batch)) return false;
      const std::string& rack = fleet_.inventory.targets()[target].rack;
      if (!rack.empty() && !racks.insert(rack).second) return false;
      batch.push_back(target);
      return true;
    });
    return batch;
  }

  const Fleet& fleet_;
  const UpdateRequest& request_;
  UpdateReport report_;
  std::string failed_;  // the first machine
  std::size_t expected_ = 0;
};

Value begin_value(const Fleet& fleet, const UpdateRequest& request) {
  const UpdateOptions& options = request.options;
  Value value = Value::map()
                    .set("hosts", fleet.inventory.fold(request.targets))
                    .set("devices", request.targets.size())
                    .set("reason", request.reason)
                    .set("image", options.image.uri.empty() ? options.image.name : options.image.uri)
                    .set("bytes", options.image.bytes.size())
                    .set("sha256", options.image.sha256)
                    .set("component", options.component)
                    .set("expected", options.expected)
                    .set("apply_time", to_text(options.apply_time))
                    .set("batch", request.batch)
                    .set("force", options.force);
  if (options.rollback)
    value.set("rollback_image", options.rollback->name).set("rollback_sha256", options.rollback->sha256);
  return value;
}

}  // namespace

bool UpdateReport::all_done() const {
  return std::all_of(devices.begin(), devices.end(), [](const UpdatedDevice& device) {
    return device.outcome.end == UpdateEnd::done || device.outcome.end == UpdateEnd::staged;
  });
}

bool UpdateReport::has_half_flashed() const {
  return std::any_of(devices.begin(), devices.end(),
                     [](const UpdatedDevice& device) { return device.outcome.half_flashed; });
}

Result<UpdateReport> run_updates(const Fleet& fleet, const UpdateRequest& request) {
  if (fleet.clock.stopped()) return Error{ErrorCode::refused, "stopped before anything was started", {}};
  const std::string id = new_operation_id();
  Operation operation(fleet, request, id);
  Result<FileLock> mine = FileLock();
  {
    // The same lock as for power: checking for open operations on the machines and claiming them is atomic.
    const Result<FileLock> one_at_a_time = lock_operation(fleet.journal, {}, true);
    if (!one_at_a_time.ok()) return one_at_a_time.error();
    if (Status alone = check_unsettled(fleet.journal, names_of(fleet, request.targets)); !alone.ok())
      return alone.error();
    mine = lock_operation(fleet.journal, id, false);
    if (!mine.ok()) return mine.error();
    if (Status begun = operation.write(Phase::begin, begin_value(fleet, request)); !begun.ok()) return begun.error();
  }
  operation.expect(request.targets.size());
  operation.run_all(request.targets);
  return operation.finish();
}

Result<UpdateReport> resume_updates(const Fleet& fleet, const std::string& operation, UpdateRequest with) {
  if (Result<Told> open = find_open(fleet, operation); !open.ok()) return open.error();
  const Result<FileLock> mine = lock_operation(fleet.journal, operation, false);
  if (!mine.ok()) {
    if (mine.error().code != ErrorCode::conflict) return mine.error();
    return Error{ErrorCode::refused, fmt::format("operation {} is still running", operation), {}};
  }
  // Read again: the operation may have continued until its process released the lock.
  const Result<Told> told = find_open(fleet, operation);
  if (!told.ok()) return told.error();
  const bool has_image = !with.options.image.sha256.empty() || !with.options.image.uri.empty();
  if (has_image && with.options.image.sha256 != told->sha256)
    return Error{ErrorCode::refused, "this is not the image of the operation: its SHA-256 is " + told->sha256, {}};
  with.options.component = told->component;
  with.options.expected = told->expected;
  with.options.apply_time = told->apply_time;
  with.options.force = told->force;
  Operation resumed(fleet, with, operation);
  resumed.expect(told->hosts.size());
  const Status noted = resumed.write(Phase::note, Value::map().set("resumed", true).set("reason", with.reason));
  if (!noted.ok()) return noted.error();
  std::vector<std::uint32_t> watched;
  std::vector<const UpdateResume*> resumes;
  std::vector<std::uint32_t> fresh;
  for (const std::string& host : told->hosts) {
    const std::optional<std::uint32_t> target = fleet.inventory.find(host);
    const auto outcome = told->outcomes.find(host);
    const auto resume = told->resumes.find(host);
    if (outcome != told->outcomes.end()) {
      resumed.add_earlier(host, outcome->second);
    } else if (!target) {
      resumed.add_settled(host, "is no longer in the inventory", "check it manually", resume != told->resumes.end());
    } else if (resume != told->resumes.end()) {
      watched.push_back(*target);
      resumes.push_back(&resume->second);
    } else if (has_image) {
      fresh.push_back(*target);
    } else {
      resumed.add_settled(host, "was not started before the operation was interrupted", "start the update again");
    }
  }
  if (!watched.empty()) resumed.run_batch(watched, resumes);
  resumed.run_all(fresh);
  return resumed.finish();
}

Result<std::vector<OpenUpdate>> open_updates(const Journal& journal) {
  const Result<std::vector<Told>> open = read_open(journal);
  if (!open.ok()) return open.error();
  std::vector<OpenUpdate> found;
  found.reserve(open->size());
  for (const Told& told : *open) {
    found.push_back(told.summary);
    found.back().running = is_operation_running(journal, told.summary.operation);
  }
  return found;
}

}  // namespace weft::oob
