// Ports of real switch configurations that carry a lossless class, with what a rule about buffers or marking needs to
// know of each: the model's cable where there is one, the chip, the lossless groups and the data's queue.
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
  model::FabricKind fabric = model::FabricKind::backend;  // counts with a device
  std::string name;                                       // of the device
  BitRate speed;                                          // 0: unknown
  Length cable;                                           // of the model, else of the file; 0: unknown
  std::int64_t mtu = 0;
  int lanes = 4;
  int queue = -1;  // of the data; -1 where its DSCP is unknown or leads to no lossless class
};

// With a cluster: ports of its lossless fabrics that the files name. Without: front-panel ports that pause anything.
[[nodiscard]] std::vector<LosslessPort> lossless_ports(const CheckInput& input);
// What the port's switch needs for headroom: by hwsku, else by the catalog's model. Nothing when unknown.
[[nodiscard]] std::optional<model::AsicHeadroom> asic_of(const CheckInput& input, const LosslessPort& port);
// Ports of `config` in the model, or its front-panel ports without one.
[[nodiscard]] std::int64_t port_count(const CheckInput& input, const LosslessPort& port);

[[nodiscard]] inline bool is_on(const config::Setting<bool>& setting) { return setting.known() && *setting; }

}  // namespace weft::check
