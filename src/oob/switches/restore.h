// Restores a switch to a stored config in a closed loop: store the running config (for rollback), push, fetch and
// compare. Reports done only after verification. If the switch ends up with another config, the former one is pushed
// again; if the result is unknown, the operator is told what to do. Every push is journaled first, so an interrupted
// command is found and verified by reading, not by pushing again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oob/switches/backup.h"

namespace weft::oob {

inline constexpr std::string_view kRestoreVerb = "switch.restore";

struct RestoreRequest {
  std::string version = "good";  // in the syntax of ConfigStore::find()
  std::string reason{};
  bool back = true;  // roll back to the former config if the result differs from the wanted one
  Duration settle_limit = milliseconds(120'000);  // for the switch to respond and to show what was pushed
};

enum class RestoreState : std::uint8_t { done, not_done, unknown };

struct RestoreResult {
  std::string device{};
  RestoreState state = RestoreState::not_done;
  std::string wanted{};   // name of the version
  std::string former{};   // name of what ran before; empty when it could not be read
  std::string diff{};     // from the former to the wanted, secrets hidden
  std::string message{};  // what was observed, in a sentence
  std::string advice{};   // what the operator must do; empty if nothing
};

// Dry run: the wanted version, the running config and the difference. Changes and stores nothing.
[[nodiscard]] RestoreResult plan_restore(SwitchFleet& fleet, const SwitchDevice& device, const RestoreRequest& request);
// One switch at a time, to limit the blast radius of a bad change. Stops at the first that is not done.
[[nodiscard]] Result<std::vector<RestoreResult>> restore(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                                         const RestoreRequest& request);

// A restore in the journal without an outcome.
struct OpenRestore {
  std::string operation{};
  std::string device{};
  std::string wanted{};
  std::string former{};
  bool pushed = false;  // a push was journaled: the switch may have any config
};
[[nodiscard]] Result<std::vector<OpenRestore>> open_restores(const Journal& journal);
// Reads each switch and journals its outcome: done, not done or unknown. Pushes nothing.
[[nodiscard]] Result<std::vector<RestoreResult>> resume_restores(SwitchFleet& fleet,
                                                                 const std::vector<SwitchDevice>& devices);

[[nodiscard]] std::string_view to_text(RestoreState state);

}  // namespace weft::oob
