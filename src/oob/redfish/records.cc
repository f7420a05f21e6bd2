// RedfishBmc: collections, and the event log of the machine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "oob/redfish/bmc.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

// Pages per collection: enough for kMaxEvents at iDRAC's 50 per page, and a bound for cyclic links.
constexpr int kMaxPages = 250;
// Timeout for a whole collection, as a multiple of the request timeout.
constexpr int kCollectionPatience = 30;

// Names of logs equivalent to the IPMI SEL, best first (idrac_exporter, bmcweb, Supermicro and AMI firmware).
constexpr std::array<std::string_view, 8> kLogs{"SEL", "Sel", "Log1", "EventLog", "Event", "IML", "PlatformLog", "Log"};

}  // namespace

std::string RedfishBmc::expanded(const std::string& path) const {
  const ServiceRoot& root = session_->root();
  // DSP0266, "Query parameters": "." expands subordinate resources, without links.
  if (!root.expand_links || path.find('?') != std::string::npos) return path;
  return path + (root.expand_levels ? "?$expand=.($levels=1)" : "?$expand=.");
}

Status RedfishBmc::add_page(const Value& page, std::size_t most, bool strict, std::vector<Value>& out) {
  const Collection collection = parse_collection(page);
  std::vector<std::string> links = collection.members;
  if (collection.expanded.size() == collection.members.size()) {
    for (const Value* whole : collection.expanded) {
      if (out.size() < most) out.push_back(*whole);
    }
    return {};
  }
  links.resize(std::min(links.size(), most - std::min(most, out.size())));
  std::optional<Error> problem;
  for (Result<Value>& value : session_->get_many(links)) {
    if (value.ok()) {
      out.push_back(std::move(value).value());
    } else if (!problem && (strict || value.error().code != ErrorCode::not_found)) {
      problem = value.error();
    }
  }
  if (problem && (strict || out.empty())) return *problem;
  return {};
}

std::string RedfishBmc::next_page(const std::string& first, const Value& page, std::size_t got) const {
  const Collection collection = parse_collection(page);
  if (!collection.next.empty()) return collection.next;
  const int skip = session_->quirk().skip_page;
  if (skip == 0 || collection.members.size() != static_cast<std::size_t>(skip)) return {};
  return fmt::format("{}?$skip={}", first, got);
}

Result<std::vector<Value>> RedfishBmc::members(const std::string& path, std::size_t most, bool strict) {
  Clock& clock = session_->clock();
  const Duration end = clock.now() + session_->endpoint().request_limit * kCollectionPatience;
  std::vector<Value> out;
  std::set<std::string> seen;        // pages requested
  std::set<std::string> first_ones;  // first member of each page: a service that ignores $skip repeats pages
  std::string next = expanded(path);
  for (int pages = 0; !next.empty() && pages < kMaxPages && out.size() < most; ++pages) {
    if (!seen.insert(next).second) break;
    Result<RedfishReply> reply = session_->get(next);
    // If a service advertises $expand but rejects it, retry without.
    if (!reply.ok() && pages == 0 && next != path && reply.error().code != ErrorCode::refused)
      reply = session_->get(path);
    if (!reply.ok()) return reply.error();
    const Collection collection = parse_collection(reply->value);
    if (collection.members.empty() || !first_ones.insert(collection.members.front()).second) break;
    if (const Status added = add_page(reply->value, most, strict, out); !added.ok()) return added.error();
    next = next_page(path, reply->value, out.size());
    if (clock.now() > end) return error(ErrorCode::timeout, "reading a collection took too long");
  }
  return out;
}

Result<LogService> RedfishBmc::log_service() {
  const Result<const Resettable*> found = thing();
  if (!found.ok() && found.error().code != ErrorCode::not_found) return found.error();
  const Result<const ManagerInfo*> bmc = manager();
  if (!bmc.ok() && bmc.error().code != ErrorCode::not_found) return bmc.error();
  const std::string of_system = found.ok() ? (*found)->log_services : std::string();
  const std::string of_manager = bmc.ok() ? (*bmc)->log_services : std::string();
  const std::vector<std::string>& wanted = session_->quirk().logs;
  const auto rank = [&](const LogService& log) {
    const auto quirk = std::find(wanted.begin(), wanted.end(), log.id) - wanted.begin();
    if (quirk < static_cast<std::ptrdiff_t>(wanted.size())) return quirk;
    const auto base = static_cast<std::ptrdiff_t>(wanted.size());
    if (log.sel) return base;
    return base + 1 + (std::find(kLogs.begin(), kLogs.end(), log.id) - kLogs.begin());
  };
  std::optional<LogService> best;
  for (const std::string& path : {of_system, of_manager}) {
    if (path.empty()) continue;
    const Result<std::vector<Value>> logs = members(path, kMaxMembers, false);
    if (!logs.ok() && logs.error().code != ErrorCode::not_found) return logs.error();
    for (const Value& value : logs.ok() ? *logs : std::vector<Value>()) {
      LogService log = parse_log_service(value);
      if (!log.entries.empty() && (!best || rank(log) < rank(*best))) best = std::move(log);
    }
    // A system log with a known name is preferred; the manager's log is about the BMC itself.
    if (best && rank(*best) <= static_cast<std::ptrdiff_t>(wanted.size() + kLogs.size())) break;
  }
  if (!best) return error(ErrorCode::not_found, "has no event log");
  return *best;
}

Result<std::vector<LogEvent>> RedfishBmc::events() {
  const Result<LogService> log = log_service();
  if (!log.ok()) return log.error();
  const Result<std::vector<Value>> entries = members(log->entries, kMaxEvents, true);
  if (!entries.ok()) return entries.error();
  std::vector<LogEvent> out;
  out.reserve(entries->size());
  for (const Value& entry : *entries) out.push_back(parse_log_entry(entry));
  return out;
}

Status RedfishBmc::clear_events() {
  const Result<LogService> log = log_service();
  if (!log.ok()) return log.error();
  if (log->clear_target.empty()) return error(ErrorCode::not_found, "the event log cannot be cleared");
  const Result<RedfishReply> reply = session_->post(log->clear_target, "{}");
  if (!reply.ok()) return reply.error();
  return finish(*reply);
}

}  // namespace weft::oob
