// Transport to a switch's command line: runs one command with its input and returns its output. By default the system's
// ssh, with keys only (no password prompts), known host keys and a jump host; a site may configure its own program.
// Fetches and pushes configs with the commands of switches/transport_systems.h; stores nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "oob/bmc/inventory.h"
#include "oob/durable/clock.h"
#include "oob/switches/transport_systems.h"

namespace weft::oob {

struct SwitchDevice {
  std::string name{};
  std::string address{};
  std::string fabric{};
  const SwitchSystem* system = nullptr;  // null: unsupported switch OS
  std::string system_name{};
};

// The switches among `targets`, in their order; other devices are left out.
[[nodiscard]] std::vector<SwitchDevice> switches_among(const model::Cluster& cluster, const Inventory& inventory,
                                                       const std::vector<std::uint32_t>& targets);

class SwitchTransport {
 public:
  SwitchTransport() = default;
  SwitchTransport(const SwitchTransport&) = delete;
  SwitchTransport& operator=(const SwitchTransport&) = delete;
  virtual ~SwitchTransport() = default;
  // Runs one command on the switch; returns its output. Errors: unavailable, timeout, refused (it ran and failed). Safe
  // to call from many threads.
  [[nodiscard]] virtual Result<std::string> run(const SwitchDevice& device, const std::string& command,
                                                const std::string& input, Duration limit) = 0;
};

struct TransportOptions {
  std::string words{};  // "COMMAND {host} {address} {command}"; empty: ssh
  std::string jump{};   // ssh's ProxyJump; empty: none
  std::string user{};   // empty: from the ssh configuration
  Duration connect_limit = milliseconds(10'000);
};
// An error if `words` is invalid. It is split into words first, then the placeholders are filled: no shell is involved.
[[nodiscard]] Result<std::unique_ptr<SwitchTransport>> open_transport(const TransportOptions& options, Clock& clock);

// The running config as printed by the switch, line ends converted to "\n".
[[nodiscard]] Result<std::string> fetch_config(SwitchTransport& transport, const SwitchDevice& device, Duration limit);
// Runs every step of the push in order and stops at the first failure. Ok means only that no step reported an error.
[[nodiscard]] Status push_config(SwitchTransport& transport, const SwitchDevice& device, const std::string& text,
                                 Duration limit);
[[nodiscard]] Status save_config(SwitchTransport& transport, const SwitchDevice& device, Duration limit);

}  // namespace weft::oob
