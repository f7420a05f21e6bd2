// Event logs of a whole fleet: equal messages are shown once with their devices, newest first; for programs, every
// entry. Also clears logs, only after their entries are saved to local disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document.h"
#include "oob/manage/device_change.h"

namespace weft::oob {

// Milliseconds since 1970 of an ISO 8601 time: date, or date and time with a fraction and an offset; UTC without an
// offset. Empty if it is not a valid time.
[[nodiscard]] std::optional<std::int64_t> parse_event_time(std::string_view text);

// The message on one line, with a note if it says that a condition ended.
[[nodiscard]] std::string event_text(const LogEvent& event);
// Nothing if the event has no date, or one that its BMC cannot have meant: before it was set, or after 9999.
[[nodiscard]] std::optional<std::int64_t> event_time(const LogEvent& event);

struct EventFilter {
  std::optional<std::int64_t> since_ms;  // events without a date are then omitted, and counted
  Health at_least = Health::unknown;     // of severity_of()
  bool keep_entries = false;             // for EventFleet::entries()
};

struct EventFold {
  Health severity = Health::unknown;
  std::string log;
  std::string source;
  std::string message;
  std::uint64_t count = 0;
  std::optional<std::int64_t> first_ms;
  std::optional<std::int64_t> last_ms;
  std::vector<std::uint32_t> targets;
};

struct EventEntry {
  std::uint32_t target = 0;
  std::optional<std::int64_t> time_ms;
  LogEvent event;
};

class EventFleet {
 public:
  // `now_ms`: to detect clocks that run ahead.
  EventFleet(EventFilter filter, std::int64_t now_ms) : filter_(filter), now_ms_(now_ms) {}
  void add(std::uint32_t target, const EventLogs& logs);  // from any thread
  [[nodiscard]] std::size_t added() const;                // number of devices
  // Newest first; those without a date last.
  [[nodiscard]] std::vector<EventFold> folds() const;
  [[nodiscard]] std::vector<std::uint32_t> unset_clocks() const;  // some event has no date, or one before 1987
  [[nodiscard]] std::vector<std::uint32_t> clocks_ahead() const;  // some event is dated tomorrow or later
  [[nodiscard]] std::uint64_t left_out() const;                   // undated events that --since could not filter
  // Newest first; those without a date last, and entries of one time in the order of devices and logs.
  [[nodiscard]] std::vector<EventEntry> entries() const;
  // Logs that could not be read, each with the reason and the devices.
  struct Unread {
    std::string log;
    std::string why;
    std::vector<std::uint32_t> targets;
  };
  [[nodiscard]] std::vector<Unread> unread() const;

 private:
  using Key = std::tuple<Health, std::string, std::string, std::string>;  // severity, log, source, message
  EventFilter filter_;
  std::int64_t now_ms_;
  std::size_t added_ = 0;
  mutable std::mutex mutex_;
  std::map<Key, EventFold> folds_;
  std::set<std::uint32_t> unset_;
  std::set<std::uint32_t> ahead_;
  std::uint64_t left_out_ = 0;
  std::vector<EventEntry> entries_;
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> unread_;  // by log and reason
};

// One row per entry, for programs.
[[nodiscard]] Document event_rows(const Inventory& inventory, const EventFleet& fleet,
                                  const std::vector<Unreached>& unreached);
[[nodiscard]] Document events_document(const Inventory& inventory, const EventFleet& fleet,
                                       const std::vector<Unreached>& unreached);

// Saves each log to FOLDER/DEVICE-DATE.json and then clears it. The log is read again just before it is cleared, and
// saved again if entries were added in between.
[[nodiscard]] Result<std::vector<DeviceEnding>> clear_logs(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                                           const std::string& folder, const std::string& reason,
                                                           bool dry_run = false);

}  // namespace weft::oob
