// Backs up the configs of many switches in parallel: fetch, validate, store. Implausible configs are set aside and
// never become a version.
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

// Context shared by all commands on switch configs.
struct SwitchFleet {
  SwitchTransport& transport;
  ConfigStore& store;
  Clock& clock;
  Journal& journal;
  int width = kDefaultFanOut;
  Duration command_limit = milliseconds(60'000);  // per command on a switch; a large running config takes seconds
};

enum class BackupState : std::uint8_t { first, changed, unchanged, suspect, failed };

struct BackupResult {
  std::string device{};
  std::string system{};
  BackupState state = BackupState::failed;
  std::string message{};  // why it failed or is suspect, and the path of the suspect text
  std::string version{};  // name of the version with the running config
  std::string former{};   // of the previous version, if it changed
};

// The running config after validation; stored as a version if it is new.
struct FetchedConfig {
  std::string text{};
  KeptVersion kept{};
  std::string former{};
};
// Transport errors unchanged; invalid_input if the text cannot be a config, which was then set aside.
[[nodiscard]] Result<FetchedConfig> fetch_and_keep(SwitchFleet& fleet, const SwitchDevice& device,
                                                   std::string_view cause, std::string_view operation);

// One result per device, in their order. `good`: mark the stored version as good.
[[nodiscard]] std::vector<BackupResult> back_up(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                                bool good);

[[nodiscard]] std::string_view to_text(BackupState state);

}  // namespace weft::oob
