#include "oob/power/unsettled.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/host_range.h"

namespace weft::oob {

Result<FileLock> lock_operation(const Journal& journal, const std::string& operation, bool wait) {
  if (journal.path().empty()) return FileLock();
  const std::size_t slash = journal.path().rfind('/');
  const std::string folder = slash == std::string::npos ? "." : journal.path().substr(0, slash);
  return FileLock::take(fmt::format("{}/power{}{}.lock", folder, operation.empty() ? "" : "-", operation), wait);
}

bool is_operation_running(const Journal& journal, const std::string& operation) {
  const Result<FileLock> free = lock_operation(journal, operation, false);
  return !free.ok() && free.error().code == ErrorCode::conflict;
}

std::vector<std::string> unsettled_of(const OpenOperation& operation) {
  std::vector<std::string> hosts;
  std::set<std::string> settled;
  for (const JournalEntry& entry : operation.entries) {
    if (entry.phase == Phase::outcome) settled.insert(entry.device);
    if (entry.phase != Phase::begin) continue;
    const Value* text = entry.detail.is_map() ? entry.detail.find("hosts") : nullptr;
    Result<std::vector<std::string>> expanded = expand_hosts(text != nullptr && text->is_text() ? text->text() : "");
    if (expanded.ok()) hosts = std::move(expanded).value();
  }
  std::erase_if(hosts, [&](const std::string& host) { return settled.contains(host); });
  return hosts;
}

Status check_unsettled(const Journal& journal, const std::vector<std::string>& machines, const std::string& verb) {
  const Result<std::vector<JournalEntry>> entries = journal.read();
  if (!entries.ok()) return entries.error();
  const std::set<std::string> wanted(machines.begin(), machines.end());
  for (const OpenOperation& operation : open_operations(*entries)) {
    const bool is_firmware = operation.verb.starts_with("firmware.");
    if (!is_firmware && !operation.verb.starts_with("power.")) continue;
    if (!operation.verb.starts_with(verb)) continue;
    std::vector<std::string> both;
    for (const std::string& host : unsettled_of(operation)) {
      if (wanted.contains(host)) both.push_back(host);
    }
    if (both.empty()) continue;
    const JournalEntry& first = operation.entries.front();
    const std::string what = fmt::format("operation {} ({}, by {} at {}) is incomplete for {}", operation.operation,
                                         operation.verb, first.who, first.time, fold_hosts(std::move(both)));
    const std::string go_on = fmt::format(": continue it first with `weft oob {} --resume {}`",
                                          is_firmware ? "firmware update CLUSTER" : "power", operation.operation);
    return Error{
        ErrorCode::refused,
        is_operation_running(journal, operation.operation) ? what + " and still running: wait for it" : what + go_on,
        {}};
  }
  return {};
}

}  // namespace weft::oob
