#include "oob/switches/restore.h"

#include <fmt/format.h>

#include <algorithm>

#include "oob/switches/drift_diff.h"
#include "oob/switches/transport_text.h"

namespace weft::oob {
namespace {

constexpr Duration kFirstLook = milliseconds(500);
constexpr Duration kLongestLook = milliseconds(10'000);
// The same wrong config this many times in a row: it will not change any more.
constexpr int kSettled = 3;

std::string short_name(const std::string& version) { return version.substr(0, 12); }

JournalEntry entry(const std::string& operation, Phase phase, const std::string& device, Value detail) {
  JournalEntry made;
  made.operation = operation;
  made.phase = phase;
  made.verb = std::string(kRestoreVerb);
  made.device = device;
  made.detail = std::move(detail);
  return made;
}

// Result of reading the switch after a push.
enum class Look : std::uint8_t { same, other, silent };

class Restorer {
 public:
  Restorer(SwitchFleet& fleet, const SwitchDevice& device, const RestoreRequest& request, std::string operation)
      : fleet_(fleet), device_(device), request_(request), operation_(std::move(operation)) {
    result_.device = device.name;
  }

  RestoreResult run() {
    if (prepare()) change();
    finish();
    return result_;
  }

 private:
  // Stores the running config. False: nothing is to be pushed, the result has the reason.
  bool prepare() {
    if (device_.system == nullptr) return stop_before(fmt::format("unsupported switch OS `{}`", device_.system_name));
    const Result<ConfigVersion> version = fleet_.store.find(device_.name, request_.version);
    if (!version.ok()) return stop_before(version.error().message);
    result_.wanted = version->sha256;
    Result<std::string> wanted = fleet_.store.read(device_.name, version->sha256);
    if (!wanted.ok()) return stop_before(wanted.error().text());
    wanted_ = std::move(wanted).value();
    Result<FetchedConfig> now = fetch_and_keep(fleet_, device_, "before restore", operation_);
    if (!now.ok())
      return stop_before("the running config could not be backed up, so a rollback would be impossible: " +
                         now.error().message);
    former_ = std::move(now->text);
    result_.former = now->kept.version.sha256;
    const TextDiff diff = unified_diff(normalized(*device_.system, former_), normalized(*device_.system, wanted_),
                                       device_.name + " running", device_.name + " " + short_name(result_.wanted));
    result_.diff = masked(diff.text);
    if (diff.empty()) {
      result_.state = RestoreState::done;
      result_.message = "already running";
      return false;
    }
    if (fleet_.clock.stopped()) return stop_before("stopped before anything was sent");
    return true;
  }

  void change() {
    if (!announce("push", result_.wanted)) return;
    const Status pushed = push_config(fleet_.transport, device_, wanted_, fleet_.command_limit);
    const Look look = look_for(wanted_);
    if (look == Look::same) {
      result_.state = RestoreState::done;
      result_.message = "verified running";
      make_lasting();
      return;
    }
    const std::string why = !pushed.ok()           ? pushed.error().message
                            : look == Look::silent ? "the switch has not responded since the push"
                                                   : "the running config differs from what was pushed";
    if (look == Look::other && matches(last_seen_, former_)) {
      result_.message = "the switch still runs the previous configuration: " + why;
      return;
    }
    go_back(why, look);
  }

  void go_back(const std::string& why, Look look) {
    result_.state = RestoreState::unknown;
    result_.message = why;
    advise();
    if (!request_.back || fleet_.clock.stopped()) return;
    if (!announce("back", result_.former)) return;
    const Status pushed = push_config(fleet_.transport, device_, former_, fleet_.command_limit);
    const Look after = look_for(former_);
    if (after == Look::same) {
      result_.state = RestoreState::not_done;
      result_.message = why + "; rolled back to the previous configuration";
      result_.advice.clear();
      return;
    }
    result_.message =
        fmt::format("{}; the rollback failed too: {}", why,
                    !pushed.ok()                                    ? pushed.error().message
                    : after == Look::silent || look == Look::silent ? "no response"
                                                                    : "the running config matches neither of the two");
  }

  void make_lasting() {
    const Status saved = save_config(fleet_.transport, device_, fleet_.command_limit);
    if (!saved.ok()) {
      result_.message += "; it could not be saved as the startup config: " + saved.error().message;
      result_.advice = fmt::format("save it manually (`{}`); otherwise a reload restores the previous configuration",
                                   device_.system->save);
    }
    // The resulting config becomes a separate version if it differs.
    const Result<FetchedConfig> after = fetch_and_keep(fleet_, device_, "after restore", operation_);
    if (!after.ok()) result_.message += "; it could not be backed up afterwards: " + after.error().message;
  }

  [[nodiscard]] bool matches(const std::string& running, const std::string& wanted) const {
    return normalized(*device_.system, running) == normalized(*device_.system, wanted);
  }

  // Polls until the switch shows `wanted`, settles on another config, or the deadline has passed.
  Look look_for(const std::string& wanted) {
    const Duration end = fleet_.clock.now() + request_.settle_limit;
    Duration wait = kFirstLook;
    int same_answers = 0;
    std::string answer;
    Look look = Look::silent;
    for (;;) {
      const Result<std::string> running = fetch_config(fleet_.transport, device_, fleet_.command_limit);
      const bool told = running.ok() && plausible_config(*device_.system, *running, std::nullopt).ok();
      if (told) {
        if (matches(*running, wanted)) return Look::same;
        const std::string text = normalized(*device_.system, *running);
        same_answers = text == answer ? same_answers + 1 : 1;
        answer = text;
        last_seen_ = *running;
        look = Look::other;
        if (same_answers >= kSettled) return look;
      } else {
        same_answers = 0;
        look = Look::silent;
      }
      if (fleet_.clock.now() + wait > end || !fleet_.clock.sleep(wait)) return look;
      wait = std::min(wait * 2, kLongestLook);
    }
  }

  void advise() {
    result_.advice = fmt::format(
        "check the switch on its console (`weft oob console CLUSTER {}`); the previous configuration is in {}",
        device_.name, fleet_.store.path_of(device_.name, result_.former));
  }

  bool stop_before(std::string why) {
    result_.state = RestoreState::not_done;
    result_.message = std::move(why);
    return false;
  }

  // On disk before the push. If this fails, nothing is pushed.
  bool announce(std::string_view step, const std::string& version) {
    const Status written = fleet_.journal.append(entry(
        operation_, Phase::intent, device_.name,
        Value::map({{"step", step}, {"version", version}, {"wanted", result_.wanted}, {"former", result_.former}})));
    if (written.ok()) return true;
    result_.message = fmt::format("{}the journal cannot be written: {}",
                                  result_.message.empty() ? "" : result_.message + "; ", written.error().text());
    return false;
  }

  void finish() {
    const Status written = fleet_.journal.append(entry(operation_, Phase::outcome, device_.name,
                                                       Value::map({{"outcome", to_text(result_.state)},
                                                                   {"wanted", result_.wanted},
                                                                   {"former", result_.former},
                                                                   {"message", result_.message}})));
    if (!written.ok()) result_.message += "; the journal cannot be written: " + written.error().text();
  }

  SwitchFleet& fleet_;
  const SwitchDevice& device_;
  const RestoreRequest& request_;
  std::string operation_;
  std::string wanted_;
  std::string former_;
  std::string last_seen_;
  RestoreResult result_;
};

std::string detail_text(const JournalEntry& entry, std::string_view key) {
  const Value* value = entry.detail.is_map() ? entry.detail.find(key) : nullptr;
  return value != nullptr && value->is_text() ? value->text() : std::string();
}

// State of a switch whose restore died: read-only.
RestoreResult look_at(SwitchFleet& fleet, const SwitchDevice& device, const OpenRestore& open) {
  RestoreResult result{.device = open.device, .wanted = open.wanted, .former = open.former};
  if (!open.pushed) {
    result.message = "the command ended before anything was sent";
    return result;
  }
  result.state = RestoreState::unknown;
  result.advice =
      fmt::format("restore {} (desired) or {} (previous) with --to", short_name(open.wanted), short_name(open.former));
  const Result<FetchedConfig> now = fetch_and_keep(fleet, device, "after restore", open.operation);
  if (!now.ok()) {
    result.message = "the outcome is unknown: " + now.error().message;
    return result;
  }
  const std::string running = normalized(*device.system, now->text);
  const auto runs = [&](const std::string& version) {
    const Result<std::string> text = fleet.store.read(open.device, version);
    return text.ok() && normalized(*device.system, *text) == running;
  };
  if (runs(open.wanted)) {
    result.state = RestoreState::done;
    result.message = "verified running";
    result.advice.clear();
    if (const Status saved = save_config(fleet.transport, device, fleet.command_limit); !saved.ok()) {
      result.message += "; it could not be saved as the startup config: " + saved.error().message;
      result.advice = fmt::format("save it manually (`{}`); otherwise a reload restores the previous configuration",
                                  device.system->save);
    }
  } else if (runs(open.former)) {
    result.state = RestoreState::not_done;
    result.message = "the previous configuration is running";
    result.advice.clear();
  } else {
    result.message = "the running config is neither the desired nor the previous configuration";
  }
  return result;
}

Status end_operation(Journal& journal, const std::string& operation, std::string_view outcome) {
  return journal.append(entry(operation, Phase::end, {}, Value::map({{"outcome", outcome}})));
}

}  // namespace

RestoreResult plan_restore(SwitchFleet& fleet, const SwitchDevice& device, const RestoreRequest& request) {
  RestoreResult result{.device = device.name};
  const auto fail = [&](const std::string& why) {
    result.message = why;
    return result;
  };
  if (device.system == nullptr) return fail(fmt::format("unsupported switch OS `{}`", device.system_name));
  const Result<ConfigVersion> version = fleet.store.find(device.name, request.version);
  if (!version.ok()) return fail(version.error().message);
  result.wanted = version->sha256;
  const Result<std::string> wanted = fleet.store.read(device.name, version->sha256);
  if (!wanted.ok()) return fail(wanted.error().text());
  const Result<std::string> running = fetch_config(fleet.transport, device, fleet.command_limit);
  if (!running.ok()) return fail(running.error().message);
  const TextDiff diff = unified_diff(normalized(*device.system, *running), normalized(*device.system, *wanted),
                                     device.name + " running", device.name + " " + short_name(result.wanted));
  result.diff = masked(diff.text);
  result.message =
      diff.empty() ? "already running" : fmt::format("{} lines removed, {} added", diff.removed, diff.added);
  if (!device.system->replaces && diff.removed > 0)
    result.advice =
        fmt::format("{} only adds to the running config: remove the obsolete lines manually", device.system->title);
  return result;
}

Result<std::vector<RestoreResult>> restore(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                           const RestoreRequest& request) {
  const Result<std::vector<OpenRestore>> open = open_restores(fleet.journal);
  if (!open.ok()) return open.error();
  for (const OpenRestore& former : *open) {
    const bool ours = std::any_of(devices.begin(), devices.end(),
                                  [&](const SwitchDevice& device) { return device.name == former.device; });
    if (ours)
      return Error{ErrorCode::conflict,
                   fmt::format("an earlier restore is incomplete (operation {}): run --settle first", former.operation),
                   former.device};
  }
  // Held from before the first journal entry: an operation without a lock holder and without an outcome is dead.
  std::vector<ConfigStore::Hold> holds;
  holds.reserve(devices.size());
  for (const SwitchDevice& device : devices) {
    Result<ConfigStore::Hold> hold = fleet.store.hold(device.name);
    if (!hold.ok()) return hold.error();
    holds.push_back(std::move(hold).value());
  }
  const std::string operation = new_operation_id();
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const SwitchDevice& device : devices) names.push_back(device.name);
  const Status begun = fleet.journal.append(
      entry(operation, Phase::begin, {},
            Value::map({{"devices", Value::texts(names)}, {"version", request.version}, {"reason", request.reason}})));
  if (!begun.ok()) return begun.error();
  std::vector<RestoreResult> results;
  results.reserve(devices.size());
  bool go_on = true;
  for (const SwitchDevice& device : devices) {
    if (!go_on || fleet.clock.stopped()) {
      results.push_back({.device = device.name, .message = "not started"});
      continue;
    }
    results.push_back(Restorer(fleet, device, request, operation).run());
    go_on = results.back().state == RestoreState::done;
  }
  if (const Status ended = end_operation(fleet.journal, operation, go_on ? "done" : "not done"); !ended.ok())
    return ended.error();
  return results;
}

Result<std::vector<OpenRestore>> open_restores(const Journal& journal) {
  const Result<std::vector<JournalEntry>> entries = journal.read();
  if (!entries.ok()) return entries.error();
  std::vector<OpenRestore> open;
  for (const OpenOperation& operation : open_operations(*entries)) {
    if (operation.verb != kRestoreVerb) continue;
    const auto begin = std::find_if(operation.entries.begin(), operation.entries.end(),
                                    [](const JournalEntry& entry) { return entry.phase == Phase::begin; });
    const Value* names = begin == operation.entries.end() ? nullptr : begin->detail.find("devices");
    if (names == nullptr || !names->is_list()) continue;
    for (const Value& name : names->items()) {
      if (!name.is_text()) continue;
      OpenRestore found{.operation = operation.operation, .device = name.text()};
      bool ended = false;
      for (const JournalEntry& entry : operation.entries) {
        if (entry.device != found.device) continue;
        ended = ended || entry.phase == Phase::outcome;
        if (entry.phase != Phase::intent) continue;
        found.pushed = true;
        found.wanted = detail_text(entry, "wanted");
        found.former = detail_text(entry, "former");
      }
      if (!ended) open.push_back(std::move(found));
    }
  }
  return open;
}

namespace {

// Ends the operations whose devices all have an outcome.
Status close_finished(Journal& journal) {
  const Result<std::vector<OpenRestore>> left = open_restores(journal);
  if (!left.ok()) return left.error();
  const Result<std::vector<JournalEntry>> entries = journal.read();
  if (!entries.ok()) return entries.error();
  for (const OpenOperation& operation : open_operations(*entries)) {
    const bool waits = std::any_of(left->begin(), left->end(),
                                   [&](const OpenRestore& other) { return other.operation == operation.operation; });
    if (operation.verb != kRestoreVerb || waits) continue;
    if (Status ended = end_operation(journal, operation.operation, "resumed"); !ended.ok()) return ended;
  }
  return {};
}

}  // namespace

Result<std::vector<RestoreResult>> resume_restores(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices) {
  const Result<std::vector<OpenRestore>> open = open_restores(fleet.journal);
  if (!open.ok()) return open.error();
  std::vector<RestoreResult> results;
  for (const OpenRestore& former : *open) {
    const auto device = std::find_if(devices.begin(), devices.end(),
                                     [&](const SwitchDevice& known) { return known.name == former.device; });
    if (device == devices.end() || device->system == nullptr) continue;
    const Result<ConfigStore::Hold> hold = fleet.store.hold(former.device);
    if (!hold.ok()) {
      results.push_back({.device = former.device,
                         .state = RestoreState::unknown,
                         .message = "it is still running: " + hold.error().message});
      continue;
    }
    RestoreResult result = look_at(fleet, *device, former);
    const Status written = fleet.journal.append(
        entry(former.operation, Phase::outcome, former.device,
              Value::map({{"outcome", to_text(result.state)}, {"resumed", true}, {"message", result.message}})));
    if (!written.ok()) return written.error();
    results.push_back(std::move(result));
  }
  if (const Status closed = close_finished(fleet.journal); !closed.ok()) return closed.error();
  return results;
}

std::string_view to_text(RestoreState state) {
  switch (state) {
    case RestoreState::done:
      return "done";
    case RestoreState::not_done:
      return "not done";
    case RestoreState::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace weft::oob
