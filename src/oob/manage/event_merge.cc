#include "oob/manage/event_merge.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/random.h"
#include "oob/manage/events_view.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxReported = 10'000;
constexpr std::size_t kMaxRecent = 1'000;
// An undated event can only be told from an older one with the same text by when it came.
constexpr std::uint64_t kReadsUndated = 2;

bool may_be_equal(const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == b; }

bool says_the_same(const LogEvent& sent, const LogEvent& entry) {
  if (!sent.message.empty() && sent.message == entry.message) return true;
  // Texts may differ by their language or by filled placeholders.
  return !sent.message_id.empty() && sent.message_id == entry.message_id && sent.source == entry.source;
}

}  // namespace

Likeness likeness_of(const LogEvent& sent, const LogEvent& entry) {
  const std::optional<std::int64_t> sent_ms = parse_event_time(sent.time);
  const std::optional<std::int64_t> entry_ms = parse_event_time(entry.time);
  const bool dated = sent_ms && entry_ms;
  const bool same_time = dated && std::abs(*sent_ms - *entry_ms) <= kTimeToleranceMs;
  if (!sent.path.empty() && !entry.path.empty()) {
    // A log that was cleared may use a path again.
    if (sent.path != entry.path || (dated && !same_time && !says_the_same(sent, entry))) return Likeness::none;
    return Likeness::same_entry;
  }
  if (!may_be_equal(sent.log, entry.log) || !says_the_same(sent, entry)) return Likeness::none;
  if (dated) return same_time ? Likeness::same_time : Likeness::none;
  return Likeness::similar;
}

EventMerger::Key EventMerger::key_of(const LogEvent& event) {
  Key key = hash64(event.log);
  for (const std::string* part : {event.path.empty() ? &event.id : &event.path, &event.time, &event.message})
    key = hash64(*part, hash64("\n", key));
  return key;
}

bool EventMerger::take_match(std::deque<Reported>& reported, const LogEvent& event, bool event_is_sent) {
  Likeness best = Likeness::none;
  auto found = reported.end();
  for (auto one = reported.begin(); one != reported.end() && best != Likeness::same_entry; ++one) {
    const Likeness likeness = event_is_sent ? likeness_of(event, one->event) : likeness_of(one->event, event);
    if (likeness <= best) continue;
    best = likeness;
    found = one;
  }
  if (found == reported.end()) return false;
  reported.erase(found);
  return true;
}

void EventMerger::report(std::deque<Reported>& list, const LogEvent& event) {
  if (list.size() >= kMaxReported) list.pop_front();
  list.push_back({event, reads_});
}

void EventMerger::forget_old(std::deque<Reported>& list) const {
  std::erase_if(list, [&](const Reported& one) {
    return reads_ - one.read > kReadsUndated && !parse_event_time(one.event.time).has_value();
  });
}

std::vector<LogEvent> EventMerger::take_sent(std::vector<LogEvent> events) {
  std::vector<LogEvent> out;
  for (LogEvent& event : events) {
    const bool identified = !event.id.empty() && !event.time.empty();
    const Key key = hash64(event.id, key_of(event));
    if (identified && std::find(recent_.begin(), recent_.end(), key) != recent_.end()) continue;
    if (identified) {
      if (recent_.size() >= kMaxRecent) recent_.pop_front();
      recent_.push_back(key);
    }
    if (take_match(found_, event, true)) continue;
    report(sent_, event);
    out.push_back(std::move(event));
  }
  return out;
}

bool EventMerger::is_older(const LogEvent& entry) const {
  const bool late = std::any_of(late_.begin(), late_.end(), [&](const std::string& place) {
    return entry.log == place || entry.log.starts_with(place + "/");
  });
  if (reads_ > 1 && !late) return false;
  const std::optional<std::int64_t> from = reads_ > 1 ? since_ms_.value_or(start_ms_) : since_ms_;
  const std::optional<std::int64_t> time = parse_event_time(entry.time);
  return !from || !time || *time < *from;
}

std::vector<LogEvent> EventMerger::take_logs(const EventLogs& logs) {
  ++reads_;
  std::unordered_set<Key> now;
  now.reserve(logs.events.size());
  std::vector<LogEvent> out;
  for (const LogEvent& entry : logs.events) {
    const Key key = key_of(entry);
    const bool known = in_logs_.contains(key);
    if (!now.insert(key).second || known) continue;
    if (take_match(sent_, entry, false) || is_older(entry)) continue;
    report(found_, entry);
    out.push_back(entry);
  }
  // Entries that could not be read this time are no new ones the next time.
  if (!logs.unread.empty()) now.merge(in_logs_);
  in_logs_ = std::move(now);
  const auto is_unread = [&](const std::string& place) {
    return std::any_of(logs.unread.begin(), logs.unread.end(), [&](const UnreadLog& log) { return log.log == place; });
  };
  if (reads_ == 1) {
    for (const UnreadLog& log : logs.unread) late_.push_back(log.log);
  } else {
    std::erase_if(late_, [&](const std::string& place) { return !is_unread(place); });
  }
  forget_old(sent_);
  forget_old(found_);
  return out;
}

}  // namespace weft::oob
