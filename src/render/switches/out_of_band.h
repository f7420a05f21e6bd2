// The out-of-band network as switches need it: the services they use there, and the access list that lets jump hosts
// alone reach what is managed (`fabrics.oob.jump_only`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "render/core/plan.h"
#include "render/switches/switch_plan.h"

namespace weft::render {

// Where the services are that a switch needs, over the out-of-band network.
struct SwitchServices {
  std::string syslog;  // as the file says; free text, see is_host_text()
  Ipv4 time;           // none where the file puts it elsewhere
  Ipv4 dns;
};
// Addresses of the out-of-band network's own services are among the first sixteen of its subnet, which no device gets:
// 10 for logs unless the file says otherwise, 11 for time, 12 for names.
[[nodiscard]] SwitchServices switch_services(const model::Cluster& cluster);

// An address or a name as RFC 6991 (host) takes it: what the file's free text must be to stand in a configuration.
[[nodiscard]] bool is_host_text(std::string_view text);

// Addresses from which BMCs may be reached: the jump hosts' ports on the out-of-band network, BMCs of their own left
// out where they have others.
[[nodiscard]] std::vector<Ipv4> jump_addresses(const RenderPlan& plan);

// An entry of the list that guards what is managed. Ports: 0 for any.
struct GuardRule {
  enum class Protocol : std::uint8_t { any, udp, tcp };
  Protocol protocol = Protocol::any;
  Ipv4Prefix source;
  int source_port = 0;
  Ipv4Prefix destination;
  int destination_port = 0;
  bool to_managed = false;  // no use where the ports of managed devices alone are guarded, on their way in
};
// What passes an out-of-band switch: jump hosts to what is managed and back, what managed devices ask of services
// there, and the keepalive between the leaves of a pair whose management ports are on this switch. Where the design has
// no jump host, the network at least keeps to itself. Empty where the file has no such list.
[[nodiscard]] std::vector<GuardRule> guard_rules(const RenderPlan& render, const SwitchPlan& plan);

}  // namespace weft::render
