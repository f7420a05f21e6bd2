// The tables of one SONiC switch's config_db.json, grouped into separate source files. Names and fields are those of
// SONiC's YANG models (sonic-buildimage, src/sonic-yang-models); every value is a string there.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"
#include "render/switches/out_of_band.h"
#include "render/switches/switch_plan.h"

namespace weft::render::sonic_render {

struct Tables {
  const RenderInput& input;
  const SwitchPlan& plan;
  std::vector<std::string> names;  // of plan.ports, in their order
  std::string vrf;                 // SONiC name of the fabric's VRF; "" on out-of-band switches: the default VRF
  Value root = Value::map();

  [[nodiscard]] const model::Cluster& cluster() const { return input.cluster; }
};

// "ACS-SN5600" and "x86_64-nvidia_sn5600-r0"; both "" for hardware without known SONiC names.
struct Hardware {
  std::string_view hwsku;
  std::string_view platform;
};
[[nodiscard]] Hardware hardware_of(const model::SwitchModel& model);

[[nodiscard]] std::string port_name(const SwitchPort& port);
[[nodiscard]] std::string vrf_name(const SwitchPlan& plan);
[[nodiscard]] std::string bundle_name(const SwitchPort& port);  // the PortChannel of a bond or peer link; "" if none
[[nodiscard]] Value text(std::int64_t number);
// Addresses of the two switches of a pair on kPeerVlan: link-local (RFC 3927), not announced.
[[nodiscard]] Ipv4 pair_address(bool first);

void add_metadata(Tables& tables);
void add_ports(Tables& tables);
void add_bundles(Tables& tables);
void add_neighbors(Tables& tables);

void add_vlans(Tables& tables);
void add_spanning_tree(Tables& tables);
void add_access_lists(Tables& tables);

void add_interfaces(Tables& tables);
void add_bgp(Tables& tables);
void add_hashing(Tables& tables);

void add_qos(Tables& tables);
void add_buffers(Tables& tables);

void add_management(Tables& tables);

}  // namespace weft::render::sonic_render
