// One Ethernet switch as its configuration needs it, whatever the dialect: its ports with their far ends, its VLANs and
// gateways, pairs, what manages it. Names of interfaces and the words of a dialect are the renderers' own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/lossless.h"
#include "render/core/file_sink.h"
#include "render/core/plan.h"
#include "render/switches/system.h"

namespace weft::render {

inline constexpr int kPeerVlan = 4094;  // between the two switches of a pair, on their peer link only

struct SwitchPort {
  enum class Use : std::uint8_t {
    host,      // in a VLAN: a server, a BMC, a PDU
    routed,    // a link of the fabric, or out of the room
    trunk,     // an out-of-band uplink: the VLAN goes on
    pair_link  // to the other switch of a pair
  };
  model::PortId id = model::kNone<model::PortId>;
  model::DeviceId peer = model::kNone<model::DeviceId>;
  std::string peer_port;  // "be1", "p12/2"
  Use use = Use::host;
  std::uint32_t cage = 0;        // from 0
  std::uint32_t cage_lanes = 1;  // electrical lanes of the whole cage
  std::uint32_t first_lane = 0;  // of the cage, counted through the switch
  std::uint32_t lane = 0;        // of the port, within the cage
  std::uint32_t lanes = 1;
  model::FormFactor form = model::FormFactor::osfp;
  BitRate speed;
  Length cable;
  Ipv4 address;                // numbered links
  Ipv4 peer_address;           // of the far end of a numbered link
  std::uint32_t peer_asn = 0;  // 0: not known here
  std::uint16_t vlan = 0;
  std::uint32_t bond = 0;  // number of the server's bond, the same on both switches of a pair; 0: none

  [[nodiscard]] std::uint32_t pieces() const { return cage_lanes / lanes; }
  [[nodiscard]] std::uint32_t piece() const { return lane / lanes; }
  [[nodiscard]] bool external() const { return peer_asn == 0 && use == Use::routed; }
};

struct SwitchVlan {
  std::uint16_t id = 0;
  std::string name;
  std::vector<model::SubnetId> subnets;  // whose hosts hang on the switch, in order
  // Own address beside the gateway's that a pair shares; none where the gateway's is the switch's alone.
  Ipv4 own;
};

// Where the services are that a switch leans on, over the out-of-band network.
struct SwitchServices {
  std::string syslog;  // as the file says; free text, see is_host_text()
  Ipv4 time;           // none where the file puts it elsewhere
  Ipv4 dns;
};
// Addresses of the out-of-band network's own services are among the first sixteen of its subnet, which no device gets:
// 10 for logs unless the file says otherwise, 11 for time, 12 for names.
[[nodiscard]] SwitchServices switch_services(const model::Cluster& cluster);

struct SwitchPlan {
  model::DeviceId id = model::kNone<model::DeviceId>;
  const model::Device* device = nullptr;
  const model::DeviceGroup* group = nullptr;
  const model::SwitchModel* model = nullptr;
  const model::FabricSpec* fabric = nullptr;  // none: out-of-band
  std::string name;
  std::string vrf;  // of the fabric, as the file names it where a switch can: at most fifteen characters
  std::int64_t mtu = 0;
  std::vector<SwitchPort> ports;  // without the management port, in cage order
  std::vector<SwitchVlan> vlans;  // by number
  Ipv4 management;                // on the out-of-band network
  Ipv4Prefix management_subnet;
  Ipv4 management_gateway;
  model::DeviceId pair = model::kNone<model::DeviceId>;  // the other switch, where servers are bonded over both
  std::uint32_t pair_number = 0;                         // from 1, among the pairs of the fabric
  bool pair_first = false;
  bool stretched = false;  // a leaf whose hosts' subnet goes on behind other leaves

  [[nodiscard]] bool oob() const { return fabric == nullptr; }
  [[nodiscard]] bool lossless() const {
    return fabric != nullptr && fabric->qos->lossless.value && model->lossless.value;
  }
  [[nodiscard]] bool routes() const { return fabric != nullptr; }
};

[[nodiscard]] SwitchPlan plan_switch(const RenderPlan& plan, model::DeviceId id);

// What a lossless fabric does with a class, resolved for rendering.
struct ClassPlan {
  int priority = 0;  // of the lossless data: 802.1p, traffic class, group and queue alike
  int dscp = 0;
  int cnp_priority = 0;
  int cnp_dscp = 0;
  int best_effort = 0;  // class of everything else
  std::vector<int> pfc;
  int bandwidth_percent = 0;
  model::WatchdogTimes watchdog;
};
[[nodiscard]] ClassPlan plan_classes(const model::Cluster& cluster, const SwitchPlan& plan);

// Addresses from which BMCs may be reached: the jump hosts' ports on the out-of-band network, BMCs of their own left
// out where they have others.
[[nodiscard]] std::vector<Ipv4> jump_addresses(const RenderPlan& plan);

// Stage in which the files of a fabric's switches are applied.
// An address or a name as RFC 6991 (host) takes it: what the file's free text must be to stand in a configuration.
[[nodiscard]] bool is_host_text(std::string_view text);
// A fabric's key in the cluster file: "fabrics.backend".
[[nodiscard]] std::string fabric_source(model::FabricKind kind);

// The address of a gateway in an IPv6 subnet: the IPv4 one in the last 32 bits, as hosts have theirs.
[[nodiscard]] Ipv6 gateway_ipv6(const model::Subnet& subnet);

}  // namespace weft::render
