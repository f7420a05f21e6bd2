// The out-of-band network as seen by switches: the services they use there, and the access list that lets only jump
// hosts reach managed devices (`fabrics.oob.jump_only`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "render/core/plan.h"
#include "render/switches/switch_plan.h"

namespace weft::render {

// Addresses of the services that a switch needs, on the out-of-band network.
struct SwitchServices {
  std::string syslog;  // as in the file; free text, see is_host_text()
  Ipv4 time;           // none if the file sets it elsewhere
  Ipv4 dns;
};
// The out-of-band network's own services have addresses among the first sixteen of its subnet, which are not assigned
// to devices: 10 for syslog unless the file sets one, 11 for NTP, 12 for DNS.
[[nodiscard]] SwitchServices switch_services(const model::Cluster& cluster);

// An address or a name as defined by RFC 6991 (host): required of free text from the file before it is used in a
// configuration.
[[nodiscard]] bool is_host_text(std::string_view text);

// Addresses that may reach BMCs: the jump hosts' ports on the out-of-band network, without their own BMCs if they have
// other ports.
[[nodiscard]] std::vector<Ipv4> jump_addresses(const RenderPlan& plan);

// An entry of the access list that protects managed devices. Ports: 0 for any.
struct GuardRule {
  enum class Protocol : std::uint8_t { any, udp, tcp };
  Protocol protocol = Protocol::any;
  Ipv4Prefix source;
  int source_port = 0;
  Ipv4Prefix destination;
  int destination_port = 0;
  bool to_managed = false;  // not needed if the list applies only to inbound traffic on managed devices' ports
};
// Traffic that an out-of-band switch permits: jump hosts to managed devices and back, requests of managed devices to
// services there, and the keepalive between the leaves of a pair whose management ports are on this switch. If the
// design has no jump host, only traffic within the network is permitted. Empty if the file has no such list.
[[nodiscard]] std::vector<GuardRule> guard_rules(const RenderPlan& render, const SwitchPlan& plan);

}  // namespace weft::render
