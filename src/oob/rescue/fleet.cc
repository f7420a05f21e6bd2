#include "oob/rescue/fleet.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/host_range.h"
#include "base/process.h"
#include "base/socket.h"
#include "oob/console/session.h"
#include "oob/power/run.h"
#include "oob/power/status_sweep.h"
#include "oob/switches/transport_text.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxConsole = 16U << 20U;           // bytes per capture; a verbose boot prints 1 MiB
constexpr Duration kConsoleWait = milliseconds(500);      // per read
constexpr Duration kSwitchLimit = milliseconds(120'000);  // fetch or push of one config
constexpr int kConnectWidth = 64;                         // sockets in parallel
constexpr std::uint16_t kSshPort = 22;                    // RFC 4253, 4.1

PowerVerb verb_of(RunbookPower verb) {
  switch (verb) {
    case RunbookPower::on:
      return PowerVerb::on;
    case RunbookPower::off:
      return PowerVerb::off;
    case RunbookPower::cycle:
      return PowerVerb::cycle;
    case RunbookPower::reset:
      break;
  }
  return PowerVerb::reset;
}

bool once(RunbookPower verb) { return verb == RunbookPower::cycle || verb == RunbookPower::reset; }

// "30 done; not done: train004 (is still off)".
std::string outcome_text(const Inventory& inventory, const PowerReport& report) {
  std::string text = fmt::format("{} of {} done", report.count(PowerEnd::done), report.devices.size());
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const DeviceOutcome& device : report.devices) {
    if (device.outcome.end != PowerEnd::done)
      by_reason[fmt::format("{}: {}", to_text(device.outcome.end), device.outcome.reason)].push_back(
          inventory.targets()[device.target].name);
  }
  for (auto& [reason, names] : by_reason) text += fmt::format("; {} {}", fold_hosts(std::move(names)), reason);
  return text;
}

std::int64_t number_in(const Value& detail, std::string_view key) {
  const Value* found = detail.is_map() ? detail.find(key) : nullptr;
  const auto* number = found != nullptr ? std::get_if<std::int64_t>(&found->state()) : nullptr;
  return number != nullptr ? *number : 0;
}

std::string text_in(const Value& detail, std::string_view key) {
  const Value* found = detail.is_map() ? detail.find(key) : nullptr;
  return found != nullptr && found->is_text() ? found->text() : std::string();
}

}  // namespace

std::vector<std::uint32_t> FleetRescueHands::targets_of(const std::vector<std::string>& hosts) const {
  std::vector<std::uint32_t> targets;
  targets.reserve(hosts.size());
  for (const std::string& host : hosts) {
    if (const auto target = parts_.fleet.inventory.find(host)) targets.push_back(*target);
  }
  return targets;
}

RescuePowerAnswer FleetRescueHands::power(const RescuePowerCall& call) {
  PowerRequest request;
  request.verb = verb_of(call.verb);
  request.targets = targets_of(call.hosts);
  request.reason = call.reason;
  request.operation = call.operation;
  if (call.limit > Duration(0)) request.options.deadline = call.limit;
  const Result<PowerReport> report = run_operation(parts_.fleet, request);
  // Refused before it began: nothing was sent.
  if (!report.ok()) return {RescuePowerEnd::not_done, report.error().text(), call.hosts};
  RescuePowerAnswer answer;
  answer.text = outcome_text(parts_.fleet.inventory, *report);
  answer.end = report->count(PowerEnd::unknown) > 0 || !report->missing.empty() ? RescuePowerEnd::unknown
               : report->all_done()                                             ? RescuePowerEnd::done
                                                                                : RescuePowerEnd::not_done;
  return answer;
}

RescuePowerTold told_of_power(const std::vector<JournalEntry>& entries, const RescuePowerCall& call) {
  RescuePowerTold told;
  std::map<std::string, const JournalEntry*> outcomes;
  for (const JournalEntry& entry : entries) {
    if (entry.operation != call.operation || !power_verb_of_journal(entry.verb)) continue;
    told.begun = told.begun || entry.phase == Phase::begin;
    told.ended = told.ended || entry.phase == Phase::end;
    if (entry.phase == Phase::outcome) outcomes[entry.device] = &entry;
  }
  std::size_t done = 0;
  std::size_t unknown = 0;
  for (const std::string& host : call.hosts) {
    const auto found = outcomes.find(host);
    const std::optional<PowerEnd> end =
        found == outcomes.end() ? std::nullopt : power_end_named(text_in(found->second->detail, "end"));
    if (end == PowerEnd::done) {
      ++done;
    } else if (end == PowerEnd::not_done && (!once(call.verb) || number_in(found->second->detail, "sends") == 0)) {
      told.answer.rest.push_back(host);
    } else {
      ++unknown;
    }
  }
  told.answer.end = done == call.hosts.size() ? RescuePowerEnd::done
                    : unknown > 0             ? RescuePowerEnd::unknown
                                              : RescuePowerEnd::not_done;
  told.answer.text = fmt::format("{} of {} done, by the journal", done, call.hosts.size());
  return told;
}

std::optional<RescuePowerAnswer> FleetRescueHands::recall_power(const RescuePowerCall& call) {
  Result<std::vector<JournalEntry>> entries = parts_.fleet.journal.read();
  if (!entries.ok()) return RescuePowerAnswer{RescuePowerEnd::unknown, entries.error().text(), {}};
  RescuePowerTold told = told_of_power(*entries, call);
  if (!told.begun) return std::nullopt;
  if (told.ended) return told.answer;
  PowerRequest with;
  with.reason = call.reason;
  if (call.limit > Duration(0)) with.options.deadline = call.limit;
  const Result<PowerReport> report = resume_operation(parts_.fleet, call.operation, with);
  if (!report.ok()) return RescuePowerAnswer{RescuePowerEnd::unknown, report.error().text(), {}};
  entries = parts_.fleet.journal.read();
  if (!entries.ok()) return RescuePowerAnswer{RescuePowerEnd::unknown, entries.error().text(), {}};
  told = told_of_power(*entries, call);
  told.answer.text = outcome_text(parts_.fleet.inventory, *report);
  return told.answer;
}

std::vector<RescueHostAnswer> FleetRescueHands::status(const std::vector<std::string>& hosts) {
  const std::vector<std::uint32_t> targets = targets_of(hosts);
  std::vector<RescueHostAnswer> answers(hosts.size());
  if (targets.size() != hosts.size()) return answers;
  const StatusReport report = sweep_status(parts_.fleet, targets);
  std::vector<std::string> silent;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < report.devices.size() && i < answers.size(); ++i) {
    const DeviceStatus& device = report.devices[i];
    answers[i].answered = device.answered;
    answers[i].state = device.state();
    if (device.error) answers[i].why = device.error->text();
    if (device.asked || device.answered) continue;
    silent.push_back(parts_.fleet.inventory.targets()[targets[i]].endpoint.host);
    places.push_back(i);
  }
  // A device without a controller is reachable if its own OS accepts a connection; its power state is unknown.
  const std::vector<bool> taken = silent.empty() ? std::vector<bool>{} : connect(silent, kSshPort, milliseconds(5'000));
  for (std::size_t k = 0; k < taken.size(); ++k) answers[places[k]].answered = taken[k];
  return answers;
}

Result<RescueConsoleAnswer> FleetRescueHands::console(const std::string& host, Duration time,
                                                      const std::function<bool(const std::string&)>& until,
                                                      const std::function<void(std::string_view)>& sink) {
  Fleet& fleet = parts_.fleet;
  const std::optional<std::uint32_t> target = fleet.inventory.find(host);
  if (!target) return Error{ErrorCode::not_found, "no such device", host};
  // The holder of the log holds the console.
  const Result<std::unique_ptr<ConsoleLog>> log =
      ConsoleLog::open(parts_.consoles, host, "weft rescue", "rescue", fleet.clock);
  if (!log.ok()) return log.error();
  ConsoleAccess access(fleet.journal, host);
  if (const Status begun = access.begin("capture", "rescue"); !begun.ok()) return begun.error();
  ConsoleSession session(fleet, *target, [&](const std::string& text) { (void)(*log)->note(text); });
  const Duration end = fleet.clock.now() + time;
  if (const Status opened = session.open(); !opened.ok()) return opened.error();
  RescueConsoleAnswer answer;
  while (fleet.clock.now() < end && !fleet.clock.stopped() && answer.text.size() < kMaxConsole) {
    const std::string piece = session.read(std::min(kConsoleWait, end - fleet.clock.now()));
    (void)(*log)->tick();
    if (piece.empty()) continue;
    access.count(piece.size(), 0);
    (void)(*log)->append(piece);
    sink(piece);
    answer.text += piece;
    answer.seen = until(answer.text);
    if (answer.seen) break;
  }
  return answer;
}

Result<RescueRunAnswer> FleetRescueHands::run(const std::vector<std::string>& words, Duration limit) {
  ProcessRequest request;
  request.words = words;
  request.limit = limit;
  request.stopped = [this] { return parts_.fleet.clock.stopped(); };
  Result<ProcessOutcome> outcome = run_process(request);
  if (!outcome.ok()) return outcome.error();
  return RescueRunAnswer{outcome->code, std::move(outcome->out), std::move(outcome->err)};
}

bool takes_connection(const std::string& address, std::uint16_t port, Duration limit) {
  const Lookup found = look_up_host(address, port, SOCK_STREAM);
  for (const addrinfo* at = found.list.get(); at != nullptr; at = at->ai_next) {
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.count());
    if (connect_socket(*at, deadline).ok()) return true;
  }
  return false;
}

std::vector<bool> FleetRescueHands::connect(const std::vector<std::string>& addresses, std::uint16_t port,
                                            Duration limit) {
  std::vector<char> taken(addresses.size(), 0);  // not bool: each thread writes its own byte
  (void)fan_out(static_cast<std::uint32_t>(addresses.size()), kConnectWidth, parts_.fleet.clock,
                [&](std::uint32_t i) { taken[i] = takes_connection(addresses[i], port, limit) ? 1 : 0; });
  return {taken.begin(), taken.end()};
}

Result<SwitchDevice> FleetRescueHands::switch_named(const std::string& host) const {
  const std::vector<SwitchDevice> found = switches_among(parts_.cluster, parts_.fleet.inventory, targets_of({host}));
  if (found.empty()) return Error{ErrorCode::not_found, "is not a switch", host};
  if (found.front().system == nullptr)
    return Error{ErrorCode::not_found, fmt::format("unsupported switch OS `{}`", found.front().system_name), host};
  return found.front();
}

Result<std::string> FleetRescueHands::config_now(const std::string& host) {
  const Result<SwitchDevice> device = switch_named(host);
  if (!device.ok()) return device.error();
  return fetch_config(parts_.transport, *device, kSwitchLimit);
}

Result<std::string> FleetRescueHands::config_kept(const std::string& host, const std::string& which) {
  const Result<ConfigVersion> version = parts_.store.find(host, which);
  if (!version.ok()) return version.error();
  return parts_.store.read(host, version->sha256);
}

Status FleetRescueHands::install_config(const std::string& host, const std::string& config) {
  const Result<SwitchDevice> device = switch_named(host);
  if (!device.ok()) return device.error();
  const Result<ConfigStore::Hold> held = parts_.store.hold(host);
  if (!held.ok()) return held.error();
  if (Status pushed = push_config(parts_.transport, *device, config, kSwitchLimit); !pushed.ok()) return pushed;
  return save_config(parts_.transport, *device, kSwitchLimit);
}

bool FleetRescueHands::same_config(const std::string& host, const std::string& a, const std::string& b) {
  const Result<SwitchDevice> device = switch_named(host);
  return device.ok() ? normalized(*device->system, a) == normalized(*device->system, b) : a == b;
}

}  // namespace weft::oob
