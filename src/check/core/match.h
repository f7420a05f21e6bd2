// Which device a piece of configuration belongs to, and which port of the model an interface name means. All code
// that compares a file with the model uses it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

// Devices that a switch configuration stands for: those that DEVICE=PATH names, else the one of its hostname, else the
// one of its file name. Empty when none fits.
[[nodiscard]] std::vector<model::DeviceId> devices_of(const model::Cluster& cluster, const config::ConfigSet& set,
                                                      const config::SwitchConfig& config);

// The cabled port of `device` that an interface of its configuration means, kNone when it is none. Front-panel number
// and piece decide: Ethernet1/12/2, swp12s1 and SONiC's index and lanes all mean cage 12, second piece.
[[nodiscard]] model::PortId port_of(const model::Cluster& cluster, model::DeviceId device,
                                    const config::InterfaceConfig& interface);
// The same for a name alone, as LLDP gives it: weft's own "p12/2", a dialect's, an alias or "etp12b"; also a server's
// "be1" or a kernel name mentioned in no file (kNone then).
[[nodiscard]] model::PortId port_named(const model::Cluster& cluster, model::DeviceId device, std::string_view name);
// The interface of `config` for a port of the model; null when the file has none.
[[nodiscard]] const config::InterfaceConfig* interface_of(const model::Cluster& cluster, model::DeviceId device,
                                                          const config::SwitchConfig& config, model::PortId port);

}  // namespace weft::check
