// Merges what one BMC sends with what its logs say, so that each event is reported once: a sent event and its log entry
// are recognized as one, and what was not sent, or sent while nothing listened, is found in the logs. Where it is not
// certain that two are the same, both are reported: an event too many is better than one too few. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "oob/bmc/bmc.h"

namespace weft::oob {

// How alike a sent event and a log entry are, or two sent events.
enum class Likeness : std::uint8_t { none, similar, same_time, same_entry };
[[nodiscard]] Likeness likeness_of(const LogEvent& sent, const LogEvent& entry);

// Clocks of the sender and of the log of one BMC may differ by as much.
inline constexpr std::int64_t kTimeToleranceMs = 5'000;

class EventMerger {
 public:
  // `since_ms`: of what is in the logs at the start, later entries are reported too. `start_ms`: when that is.
  explicit EventMerger(std::int64_t start_ms = 0, std::optional<std::int64_t> since_ms = std::nullopt)
      : start_ms_(start_ms), since_ms_(since_ms) {}

  // The events to report, in the order of the BMC.
  [[nodiscard]] std::vector<LogEvent> take_sent(std::vector<LogEvent> events);
  // The entries to report. Those of the first call, and later those of a log that could not be read then, are what was
  // there at the start.
  [[nodiscard]] std::vector<LogEvent> take_logs(const EventLogs& logs);

 private:
  struct Reported {
    LogEvent event;
    std::uint64_t read = 0;  // number of the log read after which it was reported
  };
  // A hash of what identifies an event: logs have thousands of entries per machine. A BMC that forges an equal one
  // hides an event of its own, which it could have left out.
  using Key = std::uint64_t;
  [[nodiscard]] static Key key_of(const LogEvent& event);
  // Takes the most similar one out of the list. False if there is none.
  [[nodiscard]] static bool take_match(std::deque<Reported>& reported, const LogEvent& event, bool event_is_sent);
  void report(std::deque<Reported>& list, const LogEvent& event);
  void forget_old(std::deque<Reported>& list) const;
  // Whether an entry that is read for the first time was there at the start, and is not wanted.
  [[nodiscard]] bool is_older(const LogEvent& entry) const;

  std::int64_t start_ms_;
  std::optional<std::int64_t> since_ms_;
  std::unordered_set<Key> in_logs_;  // of the last read
  std::vector<std::string> late_;    // logs, or places with logs, that could not be read so far
  std::deque<Reported> sent_;        // reported as sent, entry not seen so far
  std::deque<Reported> found_;       // reported as an entry, not sent so far
  std::deque<Key> recent_;           // of the last sent ones: a BMC may send one twice
  std::uint64_t reads_ = 0;
};

}  // namespace weft::oob
