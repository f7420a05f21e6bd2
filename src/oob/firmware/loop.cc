#include "oob/firmware/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/enum_names.h"

namespace weft::oob {
namespace {

using TaskState = UpdateTask::State;

// Logins refused in a row before weft stops: accounts are locked after three (the usual AccountLockoutThreshold).
constexpr int kMaxRefusals = 2;
constexpr int kReadTries = 3;  // of what is read before an update
constexpr std::string_view kLook = "check its versions with `weft oob firmware list`, and its state at the console";

// One image that was, or may have been, sent.
struct Attempt {
  bool rollback = false;
  ComponentVersions before{};  // of the update
  ComponentVersions first{};   // of the rollback: what it has to restore
  std::vector<std::string> tasks{};
  std::string task{};
  bool accepted = false;
  bool ended = false;  // the task has ended, or is lost
  bool lost = false;
  TaskState state = TaskState::running;
  std::string text{};  // "Exception: verification failed"
};

enum class Verdict : std::uint8_t { verified, staged, failed, unchanged, unknown };

struct Judged {
  Verdict verdict = Verdict::unknown;
  std::string reason{};
};

struct Before {
  FirmwareInventory inventory{};
  UpdateService service{};
  std::vector<std::string> tasks{};
  BmcIdentity identity{};
  PowerState power = PowerState::unknown;
};

std::string task_text(const UpdateTask& task) {
  std::string text = task.state_text.empty() ? std::string("ended") : task.state_text;
  if (task.percent && task.state == TaskState::running) text += fmt::format(" {} %", *task.percent);
  return task.message.empty() ? text : text + ": " + task.message;
}

UpdateOutcome refusal(std::string reason, std::string next) {
  UpdateOutcome outcome;
  outcome.end = UpdateEnd::not_done;
  outcome.reason = std::move(reason);
  outcome.next = std::move(next);
  outcome.reached = true;
  return outcome;
}

std::optional<std::string> method_problem(const UpdateService& service, const FirmwareImage& image) {
  if (!service.enabled) return "its update service is disabled";
  if (!image.uri.empty()) return service.simple.empty() ? std::optional("has no SimpleUpdate") : std::nullopt;
  if (!service.multipart.empty() || !service.push.empty()) return std::nullopt;
  return service.push_elsewhere ? "takes images only through its web page or with SimpleUpdate: use --image-uri"
                                : "takes no images by push: use --image-uri";
}

class UpdateLoop {
 public:
  UpdateLoop(const Fleet& fleet, std::uint32_t target, const UpdateOptions& options, const std::string& operation)
      : fleet_(fleet), index_(target), options_(options), operation_(operation), began_(fleet.clock.now()) {}

  UpdateOutcome run(const UpdateResume* resume) {
    UpdateOutcome outcome = resume != nullptr ? go_on(*resume) : begin();
    outcome.took = fleet_.clock.now() - began_;
    outcome.reached = reached_;
    outcome.evidence = evidence_;
    if (stopped_ && outcome.end == UpdateEnd::unknown) outcome.stopped = true;
    return outcome;
  }

  Result<std::string> preview() {
    const Result<Before> before = read_before();
    if (!before.ok()) return before.error();
    if (const auto refused = check(*before)) return Error{ErrorCode::refused, refused->reason, name()};
    const ComponentVersions versions = versions_of(before->inventory, options_.component);
    if (already_there(versions)) return fmt::format("nothing: it has {} already", options_.expected);
    const std::string how(to_text(method_of(before->service, options_.image)));
    return fmt::format(
        "{}{}: {}", how, options_.component.empty() ? "" : " to " + options_.component,
        describe_versions(versions) + (options_.expected.empty() ? std::string() : " to " + options_.expected));
  }

 private:
  [[nodiscard]] const std::string& name() const { return fleet_.inventory.targets()[index_].name; }

  bool time_left() {
    if (fleet_.clock.stopped()) stopped_ = true;
    return !stopped_ && !gave_up_ && fleet_.clock.now() - began_ < options_.deadline;
  }
  bool pause(Duration time) {
    if (!time_left()) return false;
    time = std::min(time, options_.deadline - (fleet_.clock.now() - began_));
    if (time.count() > 0 && !fleet_.clock.sleep(time)) stopped_ = true;
    return time_left();
  }
  void see(const std::string& text) {
    if (text == last_seen_) return;
    last_seen_ = text;
    evidence_ += (evidence_.empty() ? "" : "; ") + text;
  }

  void failed(const Error& error) {
    last_error_ = error.message;
    bmc_.reset();  // a restarted BMC does not know the session
    if (!away_) see("no answer: " + error.message.substr(0, error.message.find("; ")));
    away_ = true;
  }
  bool open() {
    if (bmc_) return true;
    Result<OpenBmc> opened = open_bmc(fleet_, index_);
    if (opened.ok()) {
      bmc_ = std::move(opened->bmc);
      if (bmc_->firmware() != nullptr) return true;
      last_error_ = "IPMI has no firmware update; use Redfish";
      bmc_.reset();
      gave_up_ = true;
      return false;
    }
    // A BMC that restarts may refuse logins for a while: only at the beginning this is final.
    const bool is_refused = opened.error().code == ErrorCode::refused;
    if (opened.error().code == ErrorCode::not_found || (is_refused && !reached_ && ++refusals_ >= kMaxRefusals))
      gave_up_ = !reached_;
    failed(opened.error());
    return false;
  }
  void answered() {
    if (away_) see("answers again");
    reached_ = true;
    away_ = false;
  }

  Result<Before> read_once() {
    if (!open()) return Error{ErrorCode::unavailable, last_error_, name()};
    FirmwareAccess& access = *bmc_->firmware();
    Before before;
    Result<FirmwareInventory> inventory = access.firmware_inventory();
    if (!inventory.ok()) return inventory.error();
    Result<UpdateService> service = access.update_service();
    if (!service.ok()) return service.error();
    Result<std::vector<std::string>> tasks = access.task_paths();
    if (!tasks.ok()) return tasks.error();
    const Result<PowerReading> power = bmc_->power();
    if (power.ok()) before.power = power->state;
    const Result<BmcIdentity> identity = bmc_->identity();
    if (identity.ok()) before.identity = *identity;
    before.inventory = std::move(inventory).value();
    before.service = std::move(service).value();
    before.tasks = std::move(tasks).value();
    answered();
    return before;
  }
  Result<Before> read_before() {
    Result<Before> before = read_once();
    for (int i = 1; i < kReadTries && !before.ok() && before.error().code != ErrorCode::not_found; ++i) {
      if (!pause(options_.look_every)) break;
      before = read_once();
    }
    return before;
  }

  [[nodiscard]] static PushMethod method_of(const UpdateService& service, const FirmwareImage& image) {
    if (!image.uri.empty()) return PushMethod::simple;
    return service.multipart.empty() ? PushMethod::http_push : PushMethod::multipart;
  }
  [[nodiscard]] bool already_there(const ComponentVersions& versions) const {
    return !options_.force && !options_.expected.empty() && !options_.component.empty() &&
           has_expected(versions, versions, options_.expected, true);
  }

  // Why nothing is sent; empty if all is well.
  std::optional<UpdateOutcome> check(const Before& before) {
    if (const auto problem = method_problem(before.service, options_.image))
      return refusal(*problem, "nothing was sent");
    const std::size_t size = options_.image.bytes.size();
    if (before.service.max_bytes > 0 && size > before.service.max_bytes) {
      return refusal(fmt::format("takes images of at most {} bytes, this one has {}", before.service.max_bytes, size),
                     "nothing was sent");
    }
    if (options_.apply_time != ApplyTime::unset && !before.service.apply_times.empty()) {
      const std::vector<std::string>& times = before.service.apply_times;
      if (std::find(times.begin(), times.end(), to_text(options_.apply_time)) == times.end()) {
        return refusal(
            fmt::format("offers the apply times {}, not {}", fmt::join(times, ", "), to_text(options_.apply_time)),
            "nothing was sent");
      }
    }
    return check_components(before);
  }
  std::optional<UpdateOutcome> check_components(const Before& before) {
    bool found = options_.component.empty();
    for (const FirmwareItem& item : before.inventory.items) {
      if (!is_running(item) || !names_component(options_.component, item)) continue;
      found = true;
      if (!options_.component.empty() && item.updateable == false && !options_.force)
        return refusal(item.component + " is not updateable", "nothing was sent; --force sends it nevertheless");
      if (auto refused = check_baseline(before, item)) return refused;
    }
    if (!found) return refusal("has no component " + options_.component, "see `weft oob firmware list`");
    if (!before.inventory.unread.empty() && !options_.force) {
      return refusal("a part of its inventory could not be read: " + before.inventory.unread.front().log,
                     "nothing was sent; --force goes on without it");
    }
    if (before.power != PowerState::off && !options_.force) {
      return refusal(fmt::format("is not powered off, but {}", to_text(before.power)),
                     "drain it and power it off; --force updates it while it runs");
    }
    return std::nullopt;
  }
  std::optional<UpdateOutcome> check_baseline(const Before& before, const FirmwareItem& item) {
    if (options_.baseline == nullptr || options_.expected.empty() || options_.component.empty()) return std::nullopt;
    FirmwareItem after = item;
    after.version = options_.expected;
    const std::string& model = fleet_.inventory.targets()[index_].model;
    for (const FirmwareFinding& finding : judge_firmware(*options_.baseline, before.identity, model, after)) {
      if (finding.severity == Severity::note) continue;
      return refusal(fmt::format("the baseline has {} for {} {}", finding.rule, item.component, options_.expected),
                     "nothing was sent");
    }
    return std::nullopt;
  }

  UpdateOutcome begin() {
    const Result<Before> before = read_before();
    if (!before.ok()) {
      UpdateOutcome outcome = refusal("could not be read: " + before.error().message, "nothing was sent");
      if (stopped_) outcome.end = UpdateEnd::unknown;
      return outcome;
    }
    if (auto refused = check(*before)) return *std::move(refused);
    Attempt attempt;
    attempt.before = versions_of(before->inventory, options_.component);
    attempt.tasks = before->tasks;
    if (already_there(attempt.before)) {
      UpdateOutcome outcome;
      outcome.end = UpdateEnd::done;
      outcome.reason = "was already " + describe_versions(attempt.before);
      return outcome;
    }
    if (auto ended = push(options_.image, *before, attempt)) return *std::move(ended);
    return finish(attempt);
  }

  UpdateOutcome go_on(const UpdateResume& resume) {
    Attempt attempt;
    attempt.rollback = resume.rollback;
    attempt.before = resume.before;
    attempt.first = resume.first;
    attempt.tasks = resume.tasks;
    attempt.task = resume.task;
    attempt.accepted = !resume.task.empty();
    see("resumed: observes, sends nothing");
    return finish(attempt);
  }

  bool write(Phase phase, Value detail) {
    JournalEntry entry;
    entry.operation = operation_;
    entry.phase = phase;
    entry.verb = kFirmwareVerb;
    entry.device = name();
    entry.detail = std::move(detail);
    return fleet_.journal.append(std::move(entry)).ok();
  }

  // Sends the image once. An outcome only if nothing was flashed for sure.
  std::optional<UpdateOutcome> push(const FirmwareImage& image, const Before& before, Attempt& attempt) {
    if (!time_left() || !open()) {
      UpdateOutcome outcome = refusal("no time left before the image was sent", "nothing was sent");
      if (stopped_) outcome.end = UpdateEnd::unknown;
      return outcome;
    }
    FirmwarePush push;
    push.method = method_of(before.service, image);
    push.image = image.bytes;
    push.file_name = image.name;
    push.uri = image.uri;
    if (!options_.component.empty()) push.targets = paths_of(before.inventory, options_.component);
    push.apply_time = options_.apply_time;
    push.limit = options_.upload;
    Value detail = Value::map()
                       .set("action", attempt.rollback ? "rollback" : "push")
                       .set("method", to_text(push.method))
                       .set("image", image.uri.empty() ? image.name : image.uri)
                       .set("sha256", image.sha256)
                       .set("before", versions_value(attempt.before))
                       .set("tasks", Value::texts(attempt.tasks));
    if (attempt.rollback) detail.set("first", versions_value(attempt.first));
    if (!write(Phase::intent, std::move(detail)))
      return refusal("the journal could not be written", "nothing was sent; check the state folder");
    const Result<UpdateTask> task = bmc_->firmware()->push_firmware(before.service, push);
    if (!task.ok()) return after_failed_push(task.error());
    attempt.accepted = true;
    attempt.task = task->path;
    see("image accepted");
    (void)write(Phase::seen, Value::map().set("task", attempt.task));
    return std::nullopt;
  }
  std::optional<UpdateOutcome> after_failed_push(const Error& error) {
    const bool declined =
        error.code == ErrorCode::not_found || error.code == ErrorCode::refused || error.code == ErrorCode::conflict;
    if (declined) return refusal("the BMC declined the image: " + error.message, "nothing was flashed");
    failed(error);
    see("it is not known whether the image was received");
    return std::nullopt;
  }

  // False: the BMC did not answer.
  bool look_at_task(Attempt& attempt) {
    if (attempt.ended) return true;
    if (attempt.task.empty()) return find_task(attempt);
    const Result<UpdateTask> task = bmc_->firmware()->update_task(attempt.task);
    if (!task.ok() && task.error().code == ErrorCode::not_found) {
      answered();
      attempt.ended = attempt.lost = true;
      see("the task is gone");
      return true;
    }
    if (!task.ok()) {
      failed(task.error());
      return false;
    }
    answered();
    attempt.state = task->state;
    attempt.text = task_text(*task);
    attempt.ended = task->state == TaskState::done || task->state == TaskState::failed;
    if (attempt.ended || task->state == TaskState::waiting) see("task " + attempt.text);
    return true;
  }
  // A task that was not there before the image was sent.
  bool find_task(Attempt& attempt) {
    const Result<std::vector<std::string>> tasks = bmc_->firmware()->task_paths();
    if (!tasks.ok()) {
      failed(tasks.error());
      return false;
    }
    answered();
    for (const std::string& path : *tasks) {
      if (std::find(attempt.tasks.begin(), attempt.tasks.end(), path) == attempt.tasks.end()) attempt.task = path;
    }
    if (attempt.task.empty()) return true;
    see("found its task");
    (void)write(Phase::seen, Value::map().set("task", attempt.task));
    return true;
  }

  // Until there is evidence, or the deadline.
  Judged follow(Attempt& attempt) {
    std::optional<Duration> calm;  // since when the BMC answers and no task runs
    ComponentVersions last;
    int same = 0;
    while (pause(options_.look_every)) {
      const bool busy = !open() || !look_at_task(attempt) || (!attempt.task.empty() && !attempt.ended);
      if (!away_ && attempt.state == TaskState::waiting && options_.apply_time == ApplyTime::on_reset)
        return {Verdict::staged, "staged: " + attempt.text};
      std::optional<FirmwareInventory> inventory;
      if (!busy) inventory = read_inventory();
      if (!inventory) {
        calm.reset();
        same = 0;
        continue;
      }
      if (!calm) calm = fleet_.clock.now();
      ComponentVersions now = versions_of(*inventory, options_.component);
      same = now == last ? same + 1 : 1;
      last = std::move(now);
      if (same < 2) continue;
      const bool is_quiet = fleet_.clock.now() - *calm >= options_.quiet;
      if (auto judged = judge(attempt, *inventory, last, is_quiet)) return *std::move(judged);
    }
    return {Verdict::unknown, why_unknown(attempt)};
  }
  std::optional<FirmwareInventory> read_inventory() {
    Result<FirmwareInventory> inventory = bmc_->firmware()->firmware_inventory();
    if (!inventory.ok()) {
      failed(inventory.error());
      return std::nullopt;
    }
    answered();
    if (!inventory->unread.empty()) return std::nullopt;  // while it restarts
    return std::move(inventory).value();
  }
  std::optional<Judged> judge(const Attempt& attempt, const FirmwareInventory& inventory, const ComponentVersions& now,
                              bool is_quiet) {
    const bool unhealthy = is_unhealthy(inventory, options_.component);
    const std::string changed = changes_between(attempt.before, now);
    const bool named = !options_.component.empty();
    bool reached = false;
    if (attempt.rollback) {
      reached = now == attempt.first;
    } else if (!options_.expected.empty()) {
      reached = has_expected(attempt.before, now, options_.expected, named) && (!changed.empty() || attempt.ended);
    } else {
      reached = !changed.empty();
    }
    const bool task_failed = attempt.ended && !attempt.lost && attempt.state == TaskState::failed;
    if (reached && !unhealthy && !task_failed) {
      see(changed.empty() ? "version unchanged" : changed);
      return Judged{Verdict::verified, changed.empty() ? describe_versions(now) : changed};
    }
    if (task_failed) return Judged{Verdict::failed, "the flash failed: " + attempt.text};
    if (!is_quiet) return std::nullopt;
    if (unhealthy) return Judged{Verdict::failed, "its health is bad after the update: " + describe_versions(now)};
    if (!changed.empty())
      return Judged{Verdict::failed, fmt::format("has {}, expected {}", changed, expected_text(attempt))};
    if (attempt.ended && !attempt.lost)
      return Judged{Verdict::unchanged, "the task completed, but the version is unchanged: " + describe_versions(now)};
    return Judged{Verdict::unknown, attempt.lost
                                        ? "the BMC lost the task, and the version is unchanged"
                                        : "it is not known whether the image was received; the version is unchanged"};
  }
  [[nodiscard]] std::string expected_text(const Attempt& attempt) const {
    return attempt.rollback ? describe_versions(attempt.first) : options_.expected;
  }
  [[nodiscard]] std::string why_unknown(const Attempt& attempt) const {
    if (away_) return "the BMC does not answer: " + last_error_;
    if (!attempt.task.empty() && !attempt.ended) return "the task has not ended: " + attempt.text;
    return "not verified before the deadline";
  }

  UpdateOutcome finish(Attempt& attempt) {
    const Judged judged = follow(attempt);
    UpdateOutcome outcome;
    outcome.reason = judged.reason;
    switch (judged.verdict) {
      case Verdict::verified:
        outcome.end = attempt.rollback ? UpdateEnd::not_done : UpdateEnd::done;
        if (attempt.rollback) {
          outcome.reason = "the update failed and was rolled back: " + judged.reason;
          outcome.next = "find out why the image fails before the next update";
        }
        return outcome;
      case Verdict::staged:
        outcome.end = UpdateEnd::staged;
        outcome.next = "it takes effect at the next reset; check it then with `weft oob firmware list`";
        return outcome;
      case Verdict::failed:
        if (!attempt.rollback && options_.rollback) return roll_back(attempt, judged.reason);
        outcome.end = UpdateEnd::not_done;
        outcome.next = fmt::format("do not power it off; {}", kLook);
        break;
      case Verdict::unchanged:
        outcome.end = UpdateEnd::not_done;
        outcome.next = "it may take effect at a reset of the machine or the BMC: check it then";
        break;
      case Verdict::unknown:
        outcome.end = UpdateEnd::unknown;
        outcome.next = fmt::format("do not power it off; {}", kLook);
        break;
    }
    outcome.half_flashed = true;
    return outcome;
  }

  // Only after a proven failure: the task has ended, so no flash is running.
  UpdateOutcome roll_back(const Attempt& update, const std::string& why) {
    see("rollback");
    const Result<Before> before = read_before();
    Attempt attempt;
    attempt.rollback = true;
    attempt.first = update.before;
    UpdateOutcome outcome;
    outcome.half_flashed = true;
    outcome.end = stopped_ ? UpdateEnd::unknown : UpdateEnd::not_done;
    outcome.next = fmt::format("do not power it off; {}", kLook);
    if (!before.ok()) {
      outcome.reason = fmt::format("{}; no rollback: {}", why, before.error().message);
      return outcome;
    }
    if (const auto problem = method_problem(before->service, *options_.rollback)) {
      outcome.reason = fmt::format("{}; no rollback: {}", why, *problem);
      return outcome;
    }
    attempt.before = versions_of(before->inventory, options_.component);
    attempt.tasks = before->tasks;
    if (const auto ended = push(*options_.rollback, *before, attempt)) {
      outcome.reason = fmt::format("{}; no rollback: {}", why, ended->reason);
      return outcome;
    }
    outcome = finish(attempt);
    if (outcome.half_flashed) outcome.reason = fmt::format("{}; rollback: {}", why, outcome.reason);
    return outcome;
  }

  const Fleet& fleet_;
  std::uint32_t index_;
  const UpdateOptions& options_;
  const std::string& operation_;
  Duration began_;
  std::unique_ptr<Bmc> bmc_;
  std::string last_error_;
  std::string evidence_;
  std::string last_seen_;
  int refusals_ = 0;
  bool away_ = false;
  bool reached_ = false;
  bool stopped_ = false;
  bool gave_up_ = false;
};

const Value* find_in(const Value& map, std::string_view key) { return map.is_map() ? map.find(key) : nullptr; }

}  // namespace

UpdateOutcome run_update(const Fleet& fleet, std::uint32_t target, const UpdateOptions& options,
                         const std::string& operation, const UpdateResume* resume) {
  UpdateOutcome outcome = UpdateLoop(fleet, target, options, operation).run(resume);
  if (!outcome.stopped)
    outcome.journalled = record_update(fleet, fleet.inventory.targets()[target].name, operation, outcome);
  return outcome;
}

Result<std::string> preview_update(const Fleet& fleet, std::uint32_t target, const UpdateOptions& options) {
  const std::string none;
  return UpdateLoop(fleet, target, options, none).preview();
}

bool record_update(const Fleet& fleet, const std::string& device, const std::string& operation,
                   const UpdateOutcome& outcome) {
  JournalEntry entry;
  entry.operation = operation;
  entry.phase = Phase::outcome;
  entry.verb = kFirmwareVerb;
  entry.device = device;
  entry.detail = Value::map()
                     .set("end", to_text(outcome.end))
                     .set("reason", outcome.reason)
                     .set("next", outcome.next)
                     .set("half_flashed", outcome.half_flashed)
                     .set("evidence", outcome.evidence);
  return fleet.journal.append(std::move(entry)).ok();
}

void add_to_resume(const JournalEntry& entry, std::optional<UpdateResume>& resume) {
  if (entry.phase == Phase::intent) {
    UpdateResume next;
    const Value* action = find_in(entry.detail, "action");
    next.rollback = action != nullptr && action->is_text() && action->text() == "rollback";
    if (const Value* before = find_in(entry.detail, "before")) next.before = versions_in(*before);
    if (const Value* first = find_in(entry.detail, "first")) next.first = versions_in(*first);
    const Value* tasks = find_in(entry.detail, "tasks");
    for (std::size_t i = 0; tasks != nullptr && tasks->is_list() && i < tasks->items().size(); ++i) {
      if (tasks->items()[i].is_text()) next.tasks.push_back(tasks->items()[i].text());
    }
    resume = std::move(next);
  } else if (entry.phase == Phase::seen && resume) {
    const Value* task = find_in(entry.detail, "task");
    if (task != nullptr && task->is_text()) resume->task = task->text();
  }
}

std::string_view to_text(UpdateEnd end) {
  switch (end) {
    case UpdateEnd::done:
      return "done";
    case UpdateEnd::staged:
      return "staged";
    case UpdateEnd::not_done:
      return "not done";
    case UpdateEnd::unknown:
      break;
  }
  return "unknown";
}

std::optional<UpdateEnd> update_end_named(std::string_view text) {
  return find_enum({UpdateEnd::done, UpdateEnd::staged, UpdateEnd::not_done, UpdateEnd::unknown}, text);
}

}  // namespace weft::oob
