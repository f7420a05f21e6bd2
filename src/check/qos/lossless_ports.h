// Ports of parsed switch configurations that carry a lossless class, with the data for rules on buffers and marking:
// the model's cable if there is one, the chip, the lossless groups and the data queue.
#pragma once

#include <string>
#include <vector>

#include "check/core/check_input.h"
#include "model/lossless.h"

namespace weft::check {

struct LosslessPort {
  const config::SwitchConfig* config = nullptr;
  const config::InterfaceConfig* interface = nullptr;
  const config::PortQos* qos = nullptr;
  model::DeviceId device = model::kNone<model::DeviceId>;  // none without a cluster
  model::PortId port = model::kNone<model::PortId>;
  model::FabricKind fabric = model::FabricKind::backend;  // valid with a device
  std::string name;                                       // of the device
  BitRate speed;                                          // 0: unknown
  Length cable;                                           // from the model, else from the file; 0: unknown
  std::int64_t mtu = 0;
  int lanes = 4;
  int queue = -1;  // data queue; -1 if the DSCP is unknown or its class is not lossless
};

// With a cluster: ports of its lossless fabrics that the files name. Without: front-panel ports with PFC on any
// priority.
[[nodiscard]] std::vector<LosslessPort> lossless_ports(const CheckInput& input);
// Headroom parameters of the port's switch chip: by hwsku, else by the catalog's model. nullopt if unknown.
[[nodiscard]] std::optional<model::AsicHeadroom> asic_of(const CheckInput& input, const LosslessPort& port);
// Ports of `config` in the model, or its front-panel ports without a cluster.
[[nodiscard]] std::int64_t port_count(const CheckInput& input, const LosslessPort& port);

[[nodiscard]] inline bool is_on(const config::Setting<bool>& setting) { return setting.known() && *setting; }

}  // namespace weft::check
