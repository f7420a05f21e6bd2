#include "oob/manage/events_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/human_format.h"
#include "base/text.h"

namespace weft::oob {
namespace {

// IPMI 2.0 section 37.1: timestamps up to 0x20000000 count seconds since the BMC started, not since 1970.
constexpr std::int64_t kFirstRealMs = std::int64_t{0x20000000} * 1000;
// 9999-12-31: a time that a service could not write, or "never".
constexpr std::int64_t kLastRealMs = 253'402'214'400'000 - 1;
constexpr std::int64_t kDayMs = 86'400'000;
constexpr int kSaveTries = 3;  // a log that grows faster than it can be read is not cleared

// Days since 1970-01-01 of a date of the Gregorian calendar (H. Hinnant, chrono-compatible date algorithms).
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

class TimeScanner {
 public:
  explicit TimeScanner(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  // Exactly `digits` digits, within [low, high].
  std::optional<std::int64_t> number(std::size_t digits, std::int64_t low, std::int64_t high) {
    if (rest_.size() < digits) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + digits, value);
    if (error != std::errc() || end != rest_.data() + digits || rest_.front() == '-') return std::nullopt;
    if (value < low || value > high) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  bool skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  // ".123456": milliseconds.
  std::optional<std::int64_t> fraction() {
    if (!skip(".,")) return 0;
    std::int64_t ms = 0;
    int digits = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1), ++digits) {
      if (digits < 3) ms = ms * 10 + (rest_.front() - '0');
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 3; ++digits) ms *= 10;
    return ms;
  }
  // "Z", "+02:00", "+0200" or nothing: milliseconds east of UTC.
  std::optional<std::int64_t> offset() {
    if (at_end() || skip("Zz")) return 0;
    const std::int64_t sign = peek() == '-' ? -1 : 1;
    if (!skip("+-")) return std::nullopt;
    const auto hours = number(2, 0, 14);
    if (!hours) return std::nullopt;
    if (at_end()) return sign * *hours * 3'600'000;
    (void)skip(":");
    const auto minutes = number(2, 0, 59);
    if (!minutes) return std::nullopt;
    return sign * (*hours * 3'600'000 + *minutes * 60'000);
  }

 private:
  std::string_view rest_;
};

std::string date_or_nothing(const std::optional<std::int64_t>& ms) { return ms ? format_utc(*ms) : std::string(); }

void widen(EventFold& fold, const std::optional<std::int64_t>& time) {
  if (!time) return;
  if (!fold.first_ms || *time < *fold.first_ms) fold.first_ms = time;
  if (!fold.last_ms || *time > *fold.last_ms) fold.last_ms = time;
}

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> targets) {
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

void add_unread(Document& document, const Inventory& inventory, const EventFleet& fleet) {
  const std::vector<EventFleet::Unread> unread = fleet.unread();
  if (unread.empty()) return;
  TableSection table{"unread_logs", "Logs that could not be read", {}, {}};
  table.columns = {
      {.key = "devices", .title = "Devices"}, {.key = "log", .title = "Log"}, {.key = "why", .title = "Why"}};
  for (const EventFleet::Unread& one : unread) table.rows.push_back({inventory.fold(one.targets), one.log, one.why});
  document.sections.emplace_back(std::move(table));
}

void add_clock_notes(Document& document, const Inventory& inventory, const EventFleet& fleet) {
  if (const auto unset = fleet.unset_clocks(); !unset.empty()) {
    document.notes.push_back(
        fmt::format("the clock of {} was not set when events were logged ({}); `weft oob settings "
                    "CLUSTER HOSTS --ntp ADDRESS` sets where it comes from",
                    plural(unset.size(), "BMC"), inventory.fold(unset)));
  }
  if (const auto ahead = fleet.clocks_ahead(); !ahead.empty()) {
    document.notes.push_back(fmt::format("the clock of {} is more than a day ahead ({})", plural(ahead.size(), "BMC"),
                                         inventory.fold(ahead)));
  }
  if (fleet.left_out() > 0) {
    document.notes.push_back(
        fmt::format("{} without a date omitted because of --since", plural(fleet.left_out(), "event")));
  }
}

}  // namespace

std::optional<std::int64_t> parse_event_time(std::string_view text) {
  TimeScanner scan(text);
  const auto year = scan.number(4, 1970, 9999);
  if (!year || !scan.skip("-")) return std::nullopt;
  const auto month = scan.number(2, 1, 12);
  if (!month || !scan.skip("-")) return std::nullopt;
  const bool leap = *year % 4 == 0 && (*year % 100 != 0 || *year % 400 == 0);
  const std::int64_t last = *month == 2                                                   ? (leap ? 29 : 28)
                            : (*month == 4 || *month == 6 || *month == 9 || *month == 11) ? 30
                                                                                          : 31;
  const auto day = scan.number(2, 1, last);
  if (!day) return std::nullopt;
  const std::int64_t midnight = days_of(*year, *month, *day) * kDayMs;
  if (scan.at_end()) return midnight;
  if (!scan.skip("Tt ")) return std::nullopt;
  const auto hour = scan.number(2, 0, 23);
  if (!hour || !scan.skip(":")) return std::nullopt;
  const auto minute = scan.number(2, 0, 59);
  if (!minute) return std::nullopt;
  std::int64_t ms = (*hour * 60 + *minute) * 60'000;
  if (scan.skip(":")) {
    const auto second = scan.number(2, 0, 60);  // 60: a leap second (RFC 3339)
    const auto fraction = second ? scan.fraction() : std::nullopt;
    if (!fraction) return std::nullopt;
    ms += *second * 1000 + *fraction;
  }
  const auto offset = scan.offset();
  if (!offset || !scan.at_end()) return std::nullopt;
  return midnight + ms - *offset;
}

std::optional<std::int64_t> event_time(const LogEvent& event) {
  const std::optional<std::int64_t> time = parse_event_time(event.time);
  return time && *time > kFirstRealMs && *time <= kLastRealMs ? time : std::nullopt;
}

std::string event_text(const LogEvent& event) {
  std::string text = told(event.message);
  if (event.state == EventState::deasserted && to_lower(text).find("deassert") == std::string::npos)
    text += " (deasserted)";
  return text;
}

void EventFleet::add(std::uint32_t target, const EventLogs& logs) {
  const std::lock_guard lock(mutex_);
  ++added_;
  for (const UnreadLog& log : logs.unread) unread_[{told(log.log), reason_of(log.error)}].push_back(target);
  for (const LogEvent& event : logs.events) {
    const std::optional<std::int64_t> time = event_time(event);
    if (!time) unset_.insert(target);
    if (time && *time > now_ms_ + kDayMs) ahead_.insert(target);
    if (severity_of(event) < filter_.at_least) continue;
    if (filter_.since_ms && !time) ++left_out_;
    if (filter_.since_ms && (!time || *time < *filter_.since_ms)) continue;
    EventFold& fold = folds_[Key{severity_of(event), told(event.log), told(event.source), event_text(event)}];
    fold.count += event.count;
    widen(fold, time);
    if (fold.targets.empty() || fold.targets.back() != target) fold.targets.push_back(target);
    if (filter_.keep_entries) entries_.push_back({target, time, event});
  }
}

std::size_t EventFleet::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

std::vector<EventFold> EventFleet::folds() const {
  const std::lock_guard lock(mutex_);
  std::vector<EventFold> all;
  all.reserve(folds_.size());
  for (const auto& [key, fold] : folds_) {
    EventFold one = fold;
    std::tie(one.severity, one.log, one.source, one.message) = key;
    one.targets = sorted(std::move(one.targets));
    all.push_back(std::move(one));
  }
  // Equal times are ordered by the map (severity, log, source, message).
  std::stable_sort(all.begin(), all.end(), [](const EventFold& a, const EventFold& b) {
    if (a.last_ms != b.last_ms) return b.last_ms < a.last_ms;  // events without a date sort last
    return a.severity > b.severity;
  });
  return all;
}

std::vector<EventEntry> EventFleet::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<EventEntry> all = entries_;
  // The entries of one device were added together, so their order does not depend on that of the devices.
  std::stable_sort(all.begin(), all.end(), [](const EventEntry& a, const EventEntry& b) {
    if (a.time_ms != b.time_ms) return b.time_ms < a.time_ms;
    return a.target < b.target;
  });
  return all;
}

std::vector<EventFleet::Unread> EventFleet::unread() const {
  const std::lock_guard lock(mutex_);
  std::vector<Unread> all;
  for (const auto& [key, targets] : unread_) all.push_back({key.first, key.second, sorted(targets)});
  return all;
}

std::vector<std::uint32_t> EventFleet::unset_clocks() const {
  const std::lock_guard lock(mutex_);
  return {unset_.begin(), unset_.end()};
}

std::vector<std::uint32_t> EventFleet::clocks_ahead() const {
  const std::lock_guard lock(mutex_);
  return {ahead_.begin(), ahead_.end()};
}

std::uint64_t EventFleet::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

Document event_rows(const Inventory& inventory, const EventFleet& fleet, const std::vector<Unreached>& unreached) {
  Document document;
  document.kind = "oob-events";
  TableSection table{"events", "", {}, {}};
  table.columns = {{.key = "device", .title = "Device"},
                   {.key = "log", .title = "Log"},
                   {.key = "id", .title = "Id"},
                   {.key = "time", .title = "Time"},
                   {.key = "severity", .title = "Severity"},
                   {.key = "state", .title = "State"},
                   {.key = "source", .title = "Source"},
                   {.key = "message", .title = "Message"},
                   {.key = "message_id", .title = "Message id"},
                   {.key = "resolution", .title = "Resolution"},
                   {.key = "count", .title = "Count", .align = Column::Align::right}};
  const auto text = [](const std::string& value) { return value.empty() ? Cell() : Cell(value); };
  for (const EventEntry& entry : fleet.entries()) {
    const LogEvent& event = entry.event;
    table.rows.push_back({inventory.targets()[entry.target].name, text(event.log), text(event.id),
                          entry.time_ms ? Cell(date_or_nothing(entry.time_ms)) : Cell(), to_text(event.severity),
                          event.state == EventState::unknown ? Cell() : Cell(to_text(event.state)), text(event.source),
                          text(event.message), text(event.message_id), text(event.resolution), event.count});
  }
  document.sections.emplace_back(std::move(table));
  add_unread(document, inventory, fleet);
  add_unreached(document, inventory, unreached);
  add_clock_notes(document, inventory, fleet);
  return document;
}

Document events_document(const Inventory& inventory, const EventFleet& fleet, const std::vector<Unreached>& unreached) {
  Document document;
  document.kind = "oob-events";
  TableSection table{"events", "", {}, {}};
  table.columns = {
      {.key = "last", .title = "Last"},         {.key = "first", .title = "First", .wide = true},
      {.key = "severity", .title = "Severity"}, {.key = "count", .title = "Count", .align = Column::Align::right},
      {.key = "devices", .title = "Devices"},   {.key = "log", .title = "Log"},
      {.key = "source", .title = "Source"},     {.key = "message", .title = "Message"}};
  for (const EventFold& fold : fleet.folds()) {
    table.rows.push_back({fold.last_ms ? Cell(date_or_nothing(fold.last_ms)) : Cell(),
                          fold.first_ms ? Cell(date_or_nothing(fold.first_ms)) : Cell(), to_text(fold.severity),
                          fold.count, inventory.fold(fold.targets), fold.log, fold.source, fold.message});
  }
  document.sections.emplace_back(std::move(table));
  add_unread(document, inventory, fleet);
  add_unreached(document, inventory, unreached);
  add_clock_notes(document, inventory, fleet);
  return document;
}

namespace {

// Clears the log of one device.
class LogClearer {
 public:
  LogClearer(const Fleet& fleet, const std::string& folder, OpenBmc& open, std::uint32_t target)
      : fleet_(fleet), folder_(folder), bmc_(*open.bmc), target_(target) {}

  DeviceEnding run(ActionLog& log) {
    Result<std::vector<LogEvent>> events = bmc_.events();
    if (!events.ok()) return not_done(events.error().message);
    if (events->empty()) return {target_, Ending::already, "the log is empty"};
    if (log.dry_run())
      return {target_, Ending::would, fmt::format("save and clear {}", plural(events->size(), "event"))};
    const Result<std::string> path = save_until_quiet(*events);
    if (!path.ok()) return not_done(path.error().text());
    const Status announced = log.intent(Value::map({{"saved", *path}, {"events", events->size()}}));
    if (!announced.ok()) return not_done("the journal cannot be written: " + announced.error().message);
    const Status cleared = bmc_.clear_events();
    return judge(log, cleared, *events, *path);
  }

 private:
  [[nodiscard]] DeviceEnding not_done(const std::string& why) const { return {target_, Ending::not_done, told(why)}; }

  // Reads again after each save, to minimize the time between the last read and the clearing.
  Result<std::string> save_until_quiet(std::vector<LogEvent>& events) {
    for (int attempt = 0; attempt < kSaveTries; ++attempt) {
      Result<std::string> path = save(events);
      if (!path.ok()) return path.error();
      Result<std::vector<LogEvent>> again = bmc_.events();
      if (!again.ok()) return again.error();
      if (same(*again, events)) return path;
      events = std::move(again).value();
    }
    return Error{ErrorCode::conflict, "the log changed while it was being saved; nothing was cleared", {}};
  }

  static bool same(const std::vector<LogEvent>& a, const std::vector<LogEvent>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const LogEvent& x, const LogEvent& y) {
      return x.id == y.id && x.time == y.time && x.message == y.message && x.source == y.source;
    });
  }

  Result<std::string> save(const std::vector<LogEvent>& events) const {
    const Target& device = fleet_.inventory.targets()[target_];
    const std::string date = format_utc(fleet_.clock.wall_ms());
    Value list = Value::list();
    for (const LogEvent& event : events) {
      list.add(Value::map({{"id", event.id},
                           {"time", event.time},
                           {"severity", to_text(event.severity)},
                           {"source", event.source},
                           {"message", event.message}}));
    }
    const Value document = Value::map({{"weft_events", 1},
                                       {"device", device.name},
                                       {"address", device.endpoint.host},
                                       {"read", date},
                                       {"events", std::move(list)}});
    if (device.name.empty() || device.name.find('/') != std::string::npos || device.name.front() == '.')
      return Error{ErrorCode::invalid_input, "the device's name cannot be part of a file name", device.name};
    std::string path = fmt::format("{}/{}-{}.json", folder_, device.name, date);
    const Status written = write_file(path, write_json(document));
    if (!written.ok()) return written.error();
    return path;
  }

  // The log content afterwards decides, not the BMC's response. It may contain later events, and the entry that it was
  // cleared (IPMI sensor type 10h, "log area reset").
  DeviceEnding judge(ActionLog& log, const Status& cleared, const std::vector<LogEvent>& before,
                     const std::string& path) {
    const Result<std::vector<LogEvent>> after = bmc_.events();
    if (!after.ok()) {
      if (!cleared.ok()) return not_done(cleared.error().message);
      return {target_, Ending::unknown,
              fmt::format("accepted, but the log cannot be read back ({}); saved in {}; check with `weft oob events`",
                          told(after.error().message), path)};
    }
    std::set<std::tuple<std::string, std::string, std::string>> present;
    for (const LogEvent& event : *after) present.emplace(event.id, event.time, event.message);
    const auto is_left = [&](const LogEvent& old) { return present.contains({old.id, old.time, old.message}); };
    const auto left = static_cast<std::size_t>(std::count_if(before.begin(), before.end(), is_left));
    const Status noted = log.seen(Value::map({{"events", after->size()}, {"left", left}}));
    if (!cleared.ok() && left > 0) return not_done(cleared.error().message);
    if (left > 0)
      return not_done(fmt::format("accepted, but {} still in the log",
                                  left == 1 ? "1 event is" : fmt::format("{} events are", left)));
    std::string what = fmt::format("{} saved and cleared", plural(before.size(), "event"));
    if (!noted.ok()) what += "; the journal cannot be written: " + noted.error().message;
    return {target_, Ending::done, std::move(what)};
  }

  const Fleet& fleet_;
  const std::string& folder_;
  Bmc& bmc_;
  std::uint32_t target_;
};

}  // namespace

Result<std::vector<DeviceEnding>> clear_logs(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                             const std::string& folder, const std::string& reason, bool dry_run) {
  std::error_code failed;
  if (!dry_run) std::filesystem::create_directories(folder, failed);
  if (failed) return Error{ErrorCode::unavailable, "cannot create the folder: " + failed.message(), folder};
  const ActionOrder order{"events.clear", reason, Value::map({{"saved_to", folder}}), dry_run};
  return run_action(fleet, order, targets, [&](OpenBmc& open, std::uint32_t target, ActionLog& log) {
    return LogClearer(fleet, folder, open, target).run(log);
  });
}

}  // namespace weft::oob
