// Backups of many switches at once: fetch, doubt, keep. What looks wrong is put aside and never becomes a version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oob/bmc/fan_out.h"
#include "oob/journal/journal.h"
#include "oob/switches/store.h"
#include "oob/switches/transport.h"

namespace weft::oob {

// What every command on configurations works with.
struct SwitchFleet {
  SwitchTransport& transport;
  ConfigStore& store;
  Clock& clock;
  Journal& journal;
  int width = kDefaultFanOut;
  Duration command_limit = milliseconds(60'000);  // of one command on a switch; a large running-config takes seconds
};

enum class BackupState : std::uint8_t { first, changed, unchanged, suspect, failed };

struct BackupResult {
  std::string device{};
  std::string system{};
  BackupState state = BackupState::failed;
  std::string message{};  // why it failed or is suspect, and where the suspect text lies
  std::string version{};  // name of the version that holds what runs now
  std::string former{};   // of the version before, where it changed
};

// The running configuration, doubted; kept as a version when it is new.
struct FetchedConfig {
  std::string text{};
  KeptVersion kept{};
  std::string former{};
};
// Errors of the transport as they are; invalid_input when it cannot be a configuration, which then was set aside.
[[nodiscard]] Result<FetchedConfig> fetch_and_keep(SwitchFleet& fleet, const SwitchDevice& device,
                                                   std::string_view cause, std::string_view operation);

// One result for each device, in their order. `good`: mark what is kept as good.
[[nodiscard]] std::vector<BackupResult> back_up(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                                bool good);

[[nodiscard]] std::string_view to_text(BackupState state);

}  // namespace weft::oob
