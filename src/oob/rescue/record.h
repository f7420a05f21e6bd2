// State of a rescue, read from the journal: which steps are finished, and which was in progress when the tool died. The
// journal is the only state.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "oob/journal/journal.h"

namespace weft::oob {

inline constexpr std::string_view kRescueVerb = "rescue";
inline constexpr std::string_view kRescueStepVerb = "rescue.step";

enum class RescueOutcome : std::uint8_t {
  none,         // not reached
  done,         // verified by evidence
  skipped,      // not needed
  failed,       // not done; no further attempts
  backed,       // not done, and rolled back
  back_failed,  // not done, and the rollback failed
  asked         // the operator must decide
};
[[nodiscard]] std::string_view to_text(RescueOutcome outcome);

struct RescueStepRecord {
  RescueOutcome outcome = RescueOutcome::none;
  std::string why{};   // evidence, or what went wrong
  bool begun = false;  // intent without outcome
  bool acted = false;  // the action was done; evidence is still missing
  std::string acted_text{};
  std::string operation{};           // of its power operation
  std::vector<std::string> hosts{};  // of its power operation, if not all of the step's
  std::int64_t begun_ms = 0;         // wall clock
  std::int64_t ended_ms = 0;
  std::int64_t took_ms = 0;
  std::string file{};                   // its output, in the rescue's folder
  std::set<std::string> hosts_begun{};  // restore: hosts whose config was about to be replaced
  std::set<std::string> hosts_done{};
  std::set<std::size_t> back_done{};  // parts of the rollback
  bool going_back = false;
  std::string failure{};  // reason of the rollback
};

struct RescueRecord {
  std::string operation{};
  std::string runbook{};
  std::string hash{};
  std::string digest{};
  std::string cluster{};
  std::string reason{};
  std::vector<std::pair<std::string, std::string>> parameters{};
  std::map<std::string, RescueStepRecord> steps{};
  bool ended = false;
  std::string result{};  // of the end
};

// The rescue with this id; empty if the journal has none.
[[nodiscard]] std::optional<RescueRecord> read_rescue(const std::vector<JournalEntry>& entries,
                                                      const std::string& operation);
// Rescues that began and did not end, oldest first; only of `runbook` unless it is empty.
[[nodiscard]] std::vector<RescueRecord> open_rescues(const std::vector<JournalEntry>& entries,
                                                     const std::string& runbook);

}  // namespace weft::oob
