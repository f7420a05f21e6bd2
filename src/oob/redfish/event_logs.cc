// RedfishBmc: the entries of all logs of systems, managers and chassis. A machine with accelerators has dozens: errors
// of GPUs are in logs of their chassis, and one empty log must not hide the others.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "oob/redfish/bmc.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

constexpr int kMaxPages = 250;
// Limit for one kind of resource of all logs, as a multiple of the request timeout.
constexpr int kPatience = 30;
constexpr std::size_t kMaxLogs = 256;
constexpr std::size_t kMaxRegistries = 16;  // those that are read

// The path without a query.
std::string plain(const std::string& path) { return path.substr(0, path.find('?')); }

// A resource that is linked to, but does not exist, has no entries.
bool is_absent(const Error& error) { return error.code == ErrorCode::not_found; }

bool is_wanted(const LogService& log, const std::string& only) {
  return only.empty() || equals_ignoring_case(log.id, only) || equals_ignoring_case(log_name(log.path), only);
}

}  // namespace

void RedfishBmc::read_pages(const std::string& path, Result<Value> first, std::size_t most, Duration end,
                            Members& out) {
  std::set<std::string> seen{path};  // of a service whose pages link to each other in a circle
  std::set<std::string> first_ones;  // first member of each page: a service that ignores $skip repeats pages
  // Path and id ("" of a link): pages may overlap while entries are added, some of them expanded and some not.
  std::set<std::pair<std::string, std::string>> known;
  const auto is_known = [&](const std::string& member, const std::string& id) {
    const auto found = known.lower_bound({member, std::string()});  // the link, or else any of the path
    if (found == known.end() || found->first != member) return false;
    return id.empty() || found->second.empty() || known.contains({member, id});
  };
  Result<Value> page = std::move(first);
  for (int pages = 0; pages < kMaxPages; ++pages) {
    if (!page.ok()) {
      out.problem = page.error();
      return;
    }
    const Collection collection = parse_collection(*page);
    if (collection.members.empty() || !first_ones.insert(collection.members.front()).second) return;
    const bool whole = collection.expanded.size() == collection.members.size();
    for (std::size_t i = 0; i < collection.members.size() && out.members.size() < most; ++i) {
      const std::string& member = collection.members[i];
      const std::string id = whole ? raw_text(*collection.expanded[i], {"Id"}) : std::string();
      if (is_known(member, id)) continue;
      known.emplace(member, id);
      out.members.push_back({member, whole ? *collection.expanded[i] : Value()});
    }
    const std::string next = next_page(plain(path), *page, out.members.size());
    if (next.empty() || !seen.insert(next).second) return;
    if (out.members.size() >= most) break;
    if (session_->clock().now() > end) {
      out.problem = error(ErrorCode::timeout, "reading took too long; the rest was not read");
      return;
    }
    Result<RedfishReply> reply = session_->get(next);
    page = reply.ok() ? Result<Value>(std::move(reply->value)) : Result<Value>(reply.error());
  }
  out.problem = error(ErrorCode::conflict, "has too many entries; the rest was not read");
}

std::vector<RedfishBmc::Members> RedfishBmc::members_of(const std::vector<std::string>& paths, std::size_t most) {
  const Duration end = session_->clock().now() + session_->endpoint().request_limit * kPatience;
  std::vector<std::string> asked;
  asked.reserve(paths.size());
  for (const std::string& path : paths) asked.push_back(expanded(path));
  std::vector<Result<Value>> pages = session_->get_many(asked);
  std::vector<Members> out(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    // If a service advertises $expand but rejects it, ask without.
    if (!pages[i].ok() && asked[i] != paths[i] && pages[i].error().code != ErrorCode::refused) {
      Result<RedfishReply> reply = session_->get(paths[i]);
      pages[i] = reply.ok() ? Result<Value>(std::move(reply->value)) : Result<Value>(reply.error());
    }
    read_pages(asked[i], std::move(pages[i]), most, end, out[i]);
  }
  std::vector<std::string> links;
  std::vector<Member*> places;
  for (Members& collection : out) {
    for (Member& member : collection.members) {
      if (member.value->is_map()) continue;
      links.push_back(member.path);
      places.push_back(&member);
    }
  }
  std::vector<Result<Value>> values = session_->get_many(links);
  for (std::size_t i = 0; i < values.size(); ++i) places[i]->value = std::move(values[i]);
  return out;
}

// Of chassis first: where a log of a GPU and one of the board have the same entry, the former says more.
std::vector<std::string> RedfishBmc::log_collections(EventLogs& out) {
  std::vector<std::string> roots;
  for (const std::string& path : {session_->root().chassis, session_->root().systems, session_->root().managers}) {
    if (!path.empty()) roots.push_back(path);
  }
  std::vector<std::string> paths;
  const std::vector<Members> owners = members_of(roots, kMaxMembers);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].problem && !is_absent(*owners[i].problem))
      out.unread.push_back({log_name(roots[i]), *owners[i].problem});
    for (const Member& owner : owners[i].members) {
      if (!owner.value.ok()) {
        if (!is_absent(owner.value.error())) out.unread.push_back({log_name(owner.path), owner.value.error()});
        continue;
      }
      std::string path = path_of(*owner.value, {"LogServices"});
      if (!path.empty() && paths.size() < kMaxLogs) paths.push_back(std::move(path));
    }
  }
  return paths;
}

std::vector<LogService> RedfishBmc::log_services(const std::string& only, EventLogs& out) {
  const std::vector<std::string> paths = log_collections(out);
  const std::vector<Members> collections = members_of(paths, kMaxMembers);
  std::vector<LogService> logs;
  std::set<std::string> known;  // a log may be listed by a system and by its manager
  for (std::size_t i = 0; i < collections.size(); ++i) {
    if (collections[i].problem && !is_absent(*collections[i].problem))
      out.unread.push_back({log_name(paths[i]), *collections[i].problem});
    for (const Member& member : collections[i].members) {
      if (!member.value.ok()) {
        if (!is_absent(member.value.error())) out.unread.push_back({log_name(member.path), member.value.error()});
        continue;
      }
      LogService log = parse_log_service(*member.value);
      if (log.path.empty()) log.path = member.path;
      if (log.entries.empty() || !is_wanted(log, only) || logs.size() >= kMaxLogs) continue;
      if (known.insert(log.entries).second) logs.push_back(std::move(log));
    }
  }
  return logs;
}

Result<EventLogs> RedfishBmc::event_logs(const std::string& only) {
  EventLogs out;
  const std::vector<LogService> logs = log_services(only, out);
  if (logs.empty()) {
    if (!out.unread.empty()) return out.unread.front().error;
    return error(ErrorCode::not_found, only.empty() ? "has no event log" : "has no log " + in_backticks(only));
  }
  std::vector<std::string> paths;
  paths.reserve(logs.size());
  for (const LogService& log : logs) paths.push_back(log.entries);
  const std::vector<Members> entries = members_of(paths, kMaxEvents);
  std::map<std::string, std::size_t> seen;  // the log in which an entry was found
  std::vector<MessageToFill> missing;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const std::string name = log_name(logs[i].path);
    std::optional<Error> problem = entries[i].problem;
    for (const Member& entry : entries[i].members) {
      if (!entry.value.ok()) {
        if (!problem) problem = entry.value.error();
        continue;
      }
      const std::string path = path_of(*entry.value, {"@odata.id"});
      if (!path.empty() && seen.emplace(path, i).first->second != i) continue;
      if (std::optional<MessageNeed> need = message_need(*entry.value))
        missing.push_back({out.events.size(), *std::move(need)});
      out.events.push_back(parse_log_entry(*entry.value));
      out.events.back().log = name;
    }
    // Also if there is no resource of the entries: it is linked to, so it is not known that there are none.
    if (problem) out.unread.push_back({name, *std::move(problem)});
  }
  fill_messages(missing, out.events);
  return out;
}

// Without a registry the id stands for the message.
void RedfishBmc::fill_messages(const std::vector<MessageToFill>& missing, std::vector<LogEvent>& events) {
  if (missing.empty() || session_->root().registries.empty()) return;
  if (registry_files_.empty()) registry_files_ = members_of({session_->root().registries}, kMaxMembers);
  for (const auto& [index, need] : missing) {
    const std::string& name = need.id.registry;
    if (!registries_.contains(name)) {
      if (registries_.size() >= kMaxRegistries) continue;
      registries_.emplace(name, registry_texts(registry_files_.front().members, name));
    }
    const MessageTexts& texts = registries_.find(name)->second;
    const auto text = texts.find(need.id.key);
    if (text == texts.end()) continue;
    if (std::optional<std::string> filled = fill_message(text->second, need.arguments))
      events[index].message = *std::move(filled);
  }
}

MessageTexts RedfishBmc::registry_texts(const std::vector<Member>& files, const std::string& registry) {
  std::vector<RegistryPlace> places;
  for (const Member& file : files) {
    if (!file.value.ok()) continue;
    RegistryPlace place = registry_place(*file.value, registry);
    if (!place.path.empty()) places.push_back(std::move(place));
  }
  std::stable_partition(places.begin(), places.end(), [](const RegistryPlace& place) { return place.exact; });
  for (const RegistryPlace& place : places) {
    const Result<RedfishReply> reply = session_->get(place.path);
    if (!reply.ok()) continue;
    MessageTexts texts = parse_message_registry(reply->value);
    if (!texts.empty()) return texts;
  }
  return {};
}

}  // namespace weft::oob
