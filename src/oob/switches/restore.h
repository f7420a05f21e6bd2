// Brings a switch back to a kept configuration, as a closed loop: keep what runs (the way back), push, look again, and
// say what is so. Never says done without having seen it. When the switch comes to hold something else, the former
// configuration is pushed again; when nobody can tell, a person is told what to do. Every push is announced in the
// journal first, so that a command that died half way is found, and answered by looking, not by pushing again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oob/switches/backup.h"

namespace weft::oob {

inline constexpr std::string_view kRestoreVerb = "switch.restore";

struct RestoreRequest {
  std::string version = "good";  // as ConfigStore::find() takes it
  std::string reason{};
  bool back = true;                               // go back to the former when the result is not as asked
  Duration settle_limit = milliseconds(120'000);  // for the switch to answer and to show what was pushed
};

enum class RestoreState : std::uint8_t { done, not_done, unknown };

struct RestoreResult {
  std::string device{};
  RestoreState state = RestoreState::not_done;
  std::string wanted{};   // name of the version
  std::string former{};   // name of what ran before; empty when it could not be read
  std::string diff{};     // from the former to the wanted, secrets hidden
  std::string message{};  // what was seen, in a sentence
  std::string advice{};   // what a person must do; empty when nothing
};

// What would be done: the wanted version, what runs now and the difference. Changes nothing and keeps nothing.
[[nodiscard]] RestoreResult plan_restore(SwitchFleet& fleet, const SwitchDevice& device, const RestoreRequest& request);
// One after the other: a change that goes wrong must not go wrong everywhere. Stops at the first that is not done.
[[nodiscard]] Result<std::vector<RestoreResult>> restore(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                                         const RestoreRequest& request);

// A restore that was announced and has no outcome.
struct OpenRestore {
  std::string operation{};
  std::string device{};
  std::string wanted{};
  std::string former{};
  bool pushed = false;  // a push was announced: the switch may hold anything
};
[[nodiscard]] Result<std::vector<OpenRestore>> open_restores(const Journal& journal);
// Looks at each and writes down what it is: done, not done or unknown. Pushes nothing.
[[nodiscard]] Result<std::vector<RestoreResult>> resume_restores(SwitchFleet& fleet,
                                                                 const std::vector<SwitchDevice>& devices);

[[nodiscard]] std::string_view to_text(RestoreState state);

}  // namespace weft::oob
