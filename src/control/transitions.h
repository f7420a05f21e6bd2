// States of the control plane's objects and the transitions between them, as tables. apply() refuses any other
// transition, the documentation draws its diagrams from the same tables, and a test compares the two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "control/record.h"

namespace weft::control {

enum class JobState : std::uint8_t {
  submitted,
  queued,         // waits for a placement; also while it is held
  placed,         // has nodes; nothing was sent to the engine
  starting,       // the start was sent
  running,        // every part was seen running
  checkpointing,  // asked for a checkpoint before it is stopped
  stopping,       // the stop was sent; ends when every part is sealed
  done,
  failed,
  canceled
};
inline constexpr std::uint8_t kJobStates = 10;
[[nodiscard]] std::string_view to_text(JobState state);
[[nodiscard]] std::optional<JobState> find_job_state(std::string_view name);
[[nodiscard]] constexpr bool is_final(JobState state) { return state >= JobState::done; }

// Why an attempt is stopped.
enum class StopCause : std::uint8_t {
  none,
  canceled,
  preempted,
  node_lost,
  drained,
  failed,
  limit,
  timeout,
  drill,
  reserved,  // for maintenance
  moved      // the node goes to another engine
};
inline constexpr std::uint8_t kStopCauses = 11;
[[nodiscard]] std::string_view to_text(StopCause cause);

// How a part ended.
enum class PartEnd : std::uint8_t {
  exited,    // with an exit status
  stopped,   // sealed by a stop, or refused
  rebooted,  // its node has booted since
  off        // its node was verified to be off
};
inline constexpr std::uint8_t kPartEnds = 4;
[[nodiscard]] std::string_view to_text(PartEnd end);

enum class AttemptEnd : std::uint8_t { succeeded, application, infrastructure, preempted, canceled };
inline constexpr std::uint8_t kAttemptEnds = 5;
[[nodiscard]] std::string_view to_text(AttemptEnd end);

enum class DrillResult : std::uint8_t { pending, passed, failed };
inline constexpr std::uint8_t kDrillResults = 3;
[[nodiscard]] std::string_view to_text(DrillResult result);

// Outcome of an operation: retrying is decided by it, never by a loop.
enum class OperationEnd : std::uint8_t { succeeded, transient, permanent, superseded, canceled };
inline constexpr std::uint8_t kOperationEnds = 5;
[[nodiscard]] std::string_view to_text(OperationEnd end);

enum class SessionStep : std::uint8_t {
  quarantine,  // cordon sent
  drain,       // waits until nothing of ours runs there
  remediate,   // power cycle sent
  validate,    // acceptance checks sent
  release,     // uncordon sent
  person       // handed over: an operator must act
};
inline constexpr std::uint8_t kSessionSteps = 6;
[[nodiscard]] std::string_view to_text(SessionStep step);

enum class SessionEnd : std::uint8_t { repaired, recovered, superseded, by_person };
inline constexpr std::uint8_t kSessionEnds = 4;
[[nodiscard]] std::string_view to_text(SessionEnd end);

template <class State>
struct Transition {
  State from;
  RecordKind record;
  State to;
  std::string_view when;
};
[[nodiscard]] std::span<const Transition<JobState>> job_transitions();
[[nodiscard]] std::span<const Transition<SessionStep>> session_transitions();
[[nodiscard]] bool is_allowed(JobState from, RecordKind record, JobState to);
[[nodiscard]] bool is_allowed(SessionStep from, SessionStep to);
// Mermaid state diagrams, for docs/operate.md.
[[nodiscard]] std::string draw_job_diagram();
[[nodiscard]] std::string draw_session_diagram();

}  // namespace weft::control
