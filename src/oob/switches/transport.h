// The way to a switch's command line: one command with its input and its answer. By default the system's ssh, with keys
// alone (no password is ever asked for or given), known host keys and a jump host; a site may plug in a program of its
// own. Fetches and pushes configurations by switches/transport_systems.h; keeps nothing.
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
  const SwitchSystem* system = nullptr;  // null: nothing is known of what it runs
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
  // Runs one command on the switch; gives what it printed. Errors: unavailable, timeout, refused (it ran and failed).
  // Safe to call from many threads.
  [[nodiscard]] virtual Result<std::string> run(const SwitchDevice& device, const std::string& command,
                                                const std::string& input, Duration limit) = 0;
};

struct TransportOptions {
  std::string words{};  // "COMMAND {host} {address} {command}"; empty: ssh
  std::string jump{};   // ssh's ProxyJump; empty: none
  std::string user{};   // empty: as ssh's configuration says
  Duration connect_limit = milliseconds(10'000);
};
// An error when the words make no sense. Words are split once, then the places filled: no shell sees them.
[[nodiscard]] Result<std::unique_ptr<SwitchTransport>> open_transport(const TransportOptions& options, Clock& clock);

// The running configuration as the switch tells it, line ends made "\n".
[[nodiscard]] Result<std::string> fetch_config(SwitchTransport& transport, const SwitchDevice& device, Duration limit);
// Every step of the push in turn, the first that fails ends it. Ok means that no step complained, and no more.
[[nodiscard]] Status push_config(SwitchTransport& transport, const SwitchDevice& device, const std::string& text,
                                 Duration limit);
[[nodiscard]] Status save_config(SwitchTransport& transport, const SwitchDevice& device, Duration limit);

}  // namespace weft::oob
