#include "oob/manage/rotate.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/host_range.h"
#include "oob/durable/file.h"
#include "oob/manage/rotate_target.h"

namespace weft::oob {
namespace {

constexpr std::array<std::string_view, 3> kResults = {"done", "not done", "unknown"};
constexpr std::size_t kMaxHosts = 2'000;  // bytes of host ranges in one journal entry

std::string folded(const Fleet& fleet, const std::vector<std::uint32_t>& targets) {
  std::vector<std::string> names;
  names.reserve(targets.size());
  for (const std::uint32_t target : targets) names.push_back(fleet.inventory.targets()[target].name);
  std::string text = fold_hosts(std::move(names));
  if (text.size() > kMaxHosts) text = text.substr(0, kMaxHosts) + "...";
  return text;
}

Status note(Fleet& fleet, const std::string& operation, Phase phase, Value detail) {
  JournalEntry entry;
  entry.operation = operation;
  entry.phase = phase;
  entry.verb = "rotate";
  entry.detail = std::move(detail);
  return fleet.journal.append(std::move(entry));
}

// Two names of one controller would overwrite each other's password.
std::vector<bool> find_shared(const Fleet& fleet, const std::vector<std::uint32_t>& targets) {
  std::set<std::pair<std::string, std::uint16_t>> seen;
  std::vector<bool> shared(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Endpoint& endpoint = fleet.inventory.targets()[targets[i]].endpoint;
    shared[i] = endpoint.protocol != Protocol::none && !seen.emplace(endpoint.host, endpoint.real_port()).second;
  }
  return shared;
}

// Processes that share a journal do not rotate at the same time, even if the store has no lock.
Result<std::shared_ptr<void>> hold_journal(const Fleet& fleet) {
  if (fleet.journal.path().empty()) return std::shared_ptr<void>();
  const std::string path = fleet.journal.path() + ".rotate";
  Result<FileDescriptor> file = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return file.error();
  if (!lock(file.value(), LockKind::exclusive, path, Duration(0)).ok())
    return Error{ErrorCode::conflict, "another weft process is rotating passwords: wait for it to finish", path};
  return std::shared_ptr<void>(std::make_shared<FileDescriptor>(std::move(file).value()));
}

// Ends interrupted rotations that have no pending devices any more.
void close_earlier(Fleet& fleet, const std::string& operation) {
  const Result<std::vector<JournalEntry>> entries = fleet.journal.read();
  if (!entries.ok()) return;
  for (const OpenOperation& open : open_operations(entries.value())) {
    if (open.verb != "rotate" || open.operation == operation) continue;
    const bool settled = std::all_of(open.entries.begin(), open.entries.end(), [&](const JournalEntry& entry) {
      if (entry.device.empty()) return true;
      const Result<Credential> credential = fleet.credentials.find(entry.device, {});
      return !credential.ok() || !credential->pending;
    });
    if (settled) (void)note(fleet, open.operation, Phase::end, Value::map().set("resumed_by", operation));
  }
}

}  // namespace

std::string_view to_text(RotateResult result) { return kResults[static_cast<std::size_t>(result)]; }

std::uint32_t RotateReport::count(RotateResult result) const {
  return static_cast<std::uint32_t>(std::count_if(
      outcomes.begin(), outcomes.end(), [&](const RotateOutcome& outcome) { return outcome.result == result; }));
}

bool RotateReport::none_reached() const {
  return !outcomes.empty() &&
         std::none_of(outcomes.begin(), outcomes.end(), [](const RotateOutcome& outcome) { return outcome.reached; });
}

std::vector<std::uint32_t> pending_targets(const Fleet& fleet, const std::vector<std::uint32_t>& targets) {
  std::vector<std::uint32_t> pending;
  for (const std::uint32_t target : targets) {
    const Target& device = fleet.inventory.targets()[target];
    if (!fleet.credentials.has_own(device.name)) continue;
    const Result<Credential> credential = fleet.credentials.find(device.name, device.group);
    if (credential.ok() && credential->pending) pending.push_back(target);
  }
  return pending;
}

Result<RotateReport> rotate(Fleet& fleet, const std::vector<std::uint32_t>& targets, const RotateOptions& options) {
  if (!fleet.credentials.writable())
    return Error{ErrorCode::refused, "new passwords cannot be stored: this credential store is read-only",
                 fleet.credentials.name()};
  const Result<std::shared_ptr<void>> held = fleet.credentials.hold();
  if (!held.ok()) return held.error();
  const Result<std::shared_ptr<void>> alone = hold_journal(fleet);
  if (!alone.ok()) return alone.error();
  const std::vector<std::uint32_t> chosen = options.resume ? pending_targets(fleet, targets) : targets;
  RotateReport report;
  report.operation = new_operation_id();
  Status begun = note(fleet, report.operation, Phase::begin,
                      Value::map()
                          .set("devices", chosen.size())
                          .set("hosts", folded(fleet, chosen))
                          .set("reason", options.reason)
                          .set("resume", options.resume));
  if (!begun.ok()) return begun.error();
  const std::vector<bool> shared = find_shared(fleet, chosen);
  report.outcomes.reserve(chosen.size());
  for (const std::uint32_t target : chosen)
    report.outcomes.push_back({target, RotateResult::not_done, false, "stopped before its turn"});
  (void)fan_out(
      static_cast<std::uint32_t>(chosen.size()), fleet.width, fleet.clock,
      [&](std::uint32_t i) {
        if (shared[i]) {
          report.outcomes[i].text = "another selected device has the same BMC";
        } else {
          report.outcomes[i] = TargetRotation(fleet, chosen[i], options, report.operation).run();
        }
      },
      options.progress);
  // Without its end entry the operation shows up as open; nothing else is lost.
  (void)note(fleet, report.operation, Phase::end,
             Value::map()
                 .set("done", report.count(RotateResult::done))
                 .set("not_done", report.count(RotateResult::not_done))
                 .set("unknown", report.count(RotateResult::unknown)));
  if (options.resume) close_earlier(fleet, report.operation);
  return report;
}

}  // namespace weft::oob
