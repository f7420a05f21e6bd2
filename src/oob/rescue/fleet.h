// Rescue actions on a real cluster: the power loop and the status sweep over BMCs, consoles, programs, sockets, and
// switch configs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oob/bmc/fleet.h"
#include "oob/rescue/actions.h"
#include "oob/switches/store.h"
#include "oob/switches/transport.h"

namespace weft::oob {

struct RescueFleet {
  Fleet& fleet;
  const model::Cluster& cluster;
  SwitchTransport& transport;
  ConfigStore& store;
  std::string consoles{};  // folder of the console logs
};

class FleetRescueHands final : public RescueActions {
 public:
  explicit FleetRescueHands(const RescueFleet& parts) : parts_(parts) {}

  [[nodiscard]] RescuePowerAnswer power(const RescuePowerCall& call) override;
  [[nodiscard]] std::optional<RescuePowerAnswer> recall_power(const RescuePowerCall& call) override;
  [[nodiscard]] std::vector<RescueHostAnswer> status(const std::vector<std::string>& hosts) override;
  [[nodiscard]] Result<RescueConsoleAnswer> console(const std::string& host, Duration time,
                                                    const std::function<bool(const std::string&)>& until,
                                                    const std::function<void(std::string_view)>& sink) override;
  [[nodiscard]] Result<RescueRunAnswer> run(const std::vector<std::string>& words, Duration limit) override;
  [[nodiscard]] std::vector<bool> connect(const std::vector<std::string>& addresses, std::uint16_t port,
                                          Duration limit) override;
  [[nodiscard]] Result<std::string> config_now(const std::string& host) override;
  [[nodiscard]] Result<std::string> config_kept(const std::string& host, const std::string& which) override;
  [[nodiscard]] Status install_config(const std::string& host, const std::string& config) override;
  [[nodiscard]] bool same_config(const std::string& host, const std::string& a, const std::string& b) override;

 private:
  [[nodiscard]] std::vector<std::uint32_t> targets_of(const std::vector<std::string>& hosts) const;
  [[nodiscard]] Result<SwitchDevice> switch_named(const std::string& host) const;

  RescueFleet parts_;
};

// Result of a power operation, from the outcomes in the journal; empty if it never began. A cycle or reset counts as
// not done only on hosts to which nothing was sent.
struct RescuePowerTold {
  bool begun = false;
  bool ended = false;
  RescuePowerAnswer answer{};
};
[[nodiscard]] RescuePowerTold told_of_power(const std::vector<JournalEntry>& entries, const RescuePowerCall& call);

// Whether a TCP connection is accepted within the limit.
[[nodiscard]] bool takes_connection(const std::string& address, std::uint16_t port, Duration limit);

}  // namespace weft::oob
