// Maps configuration files to devices and interface names to ports of the model. All code that compares a file with the
// model uses it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

// Devices that a switch configuration applies to: those named by DEVICE=PATH, else the device with its hostname, else
// the one with its file name. Empty if none matches.
[[nodiscard]] std::vector<model::DeviceId> devices_of(const model::Cluster& cluster, const config::ConfigSet& set,
                                                      const config::SwitchConfig& config);

// The cabled port of `device` that an interface of its configuration refers to; kNone if there is none. Matched by
// front-panel number and breakout port: Ethernet1/12/2, swp12s1 and SONiC's index and lanes all mean cage 12, second
// breakout port.
[[nodiscard]] model::PortId port_of(const model::Cluster& cluster, model::DeviceId device,
                                    const config::InterfaceConfig& interface);
// The same for a bare name, as LLDP reports it: weft's own "p12/2", a dialect's name, an alias, "etp12b", or a server's
// "be1". kNone for a kernel name that no file mentions.
[[nodiscard]] model::PortId port_named(const model::Cluster& cluster, model::DeviceId device, std::string_view name);
// The interface of `config` for a port of the model; null if the file has none.
[[nodiscard]] const config::InterfaceConfig* interface_of(const model::Cluster& cluster, model::DeviceId device,
                                                          const config::SwitchConfig& config, model::PortId port);

}  // namespace weft::check
