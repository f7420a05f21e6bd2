// The configuration of one Ethernet switch, independent of its OS: its ports with their far ends, its VLANs and
// gateways, its pair, its management. Computed once from the Cluster so that SONiC, NVUE, NX-OS and EOS files agree;
// interface names and syntax are up to the renderers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/lossless.h"
#include "render/core/plan.h"
#include "render/switches/system.h"

namespace weft::render {

inline constexpr int kPeerVlan = 4094;  // between the two switches of a pair, only on their peer link

struct SwitchPort {
  enum class Use : std::uint8_t {
    host,      // in a VLAN: a server, a BMC, a PDU
    fabric,    // routed, between tiers
    external,  // routed, to the site's network
    trunk,     // an out-of-band uplink: carries the VLAN
    pair_link  // to the other switch of a pair
  };
  model::PortId id = model::kNone<model::PortId>;
  model::DeviceId peer = model::kNone<model::DeviceId>;
  std::string peer_name;  // "train001"
  std::string peer_port;  // "be1", "p12/2"
  Use use = Use::host;
  std::uint32_t cage = 0;        // from 0
  std::uint32_t cage_lanes = 1;  // electrical lanes of the whole cage
  std::uint32_t first_lane = 0;  // of the cage, numbered across the switch
  std::uint32_t lane = 0;        // of the port, within the cage
  std::uint32_t lanes = 1;
  model::FormFactor form = model::FormFactor::osfp;
  BitRate speed;
  Length cable;
  Ipv4 address;                // numbered links
  Ipv4 peer_address;           // of the far end of a numbered link
  std::uint32_t peer_asn = 0;  // of fabric links
  std::uint16_t vlan = 0;      // of host ports and trunks
  std::uint32_t bond = 0;      // number of the server's bond, the same on both switches of a pair; 0: none

  [[nodiscard]] std::uint32_t pieces() const { return cage_lanes / lanes; }
  [[nodiscard]] std::uint32_t piece() const { return lane / lanes; }
  [[nodiscard]] std::uint32_t number() const { return cage + 1; }  // of the cage, as printed on the front panel
  [[nodiscard]] bool is_split() const { return lanes != cage_lanes; }
  [[nodiscard]] bool is_routed() const { return use == Use::fabric || use == Use::external; }
  [[nodiscard]] bool is_numbered() const { return address != Ipv4{} && peer_address != Ipv4{}; }
  [[nodiscard]] std::string far_end() const { return peer_name + " " + peer_port; }  // "train001 be1"
};

// A subnet that the switch has an address in.
struct SwitchGateway {
  model::SubnetId subnet = model::kNone<model::SubnetId>;
  Ipv4Prefix prefix;
  Ipv4 address;             // the hosts' gateway; none on out-of-band switches, which do not route
  Ipv4 own;                 // this switch's own address in addition to the gateway's; none if not needed
  Ipv4 pair_own;            // the other switch's, if the two share the gateway address
  Ipv6Prefix ipv6;          // length 0: none
  bool shared = false;      // the two switches of a pair share the gateway address
  bool stretched = false;   // other leaves have hosts in it too: each announces its own as /32
  std::vector<Ipv4> hosts;  // of a stretched subnet: those on this switch or its pair, in order

  // Addresses of the interface itself, the primary first; a shared gateway is added to them.
  [[nodiscard]] std::vector<Ipv4> addresses() const;
};

struct SwitchVlan {
  std::uint16_t id = 0;
  std::string name;                     // one word: "backend-rail1"
  std::string description;              // "backend rail 1"
  std::vector<SwitchGateway> gateways;  // by subnet

  [[nodiscard]] bool is_stretched() const;
};

// Kubernetes nodes that announce service addresses to a frontend leaf.
struct NodePeering {
  std::uint32_t asn = 0;  // 0: none do
  Ipv4Prefix hosts;       // subnet of the nodes
  Ipv4Prefix services;    // addresses they may announce, as /32
};

struct SwitchPlan {
  model::DeviceId id = model::kNone<model::DeviceId>;
  const model::Device* device = nullptr;
  const model::DeviceGroup* group = nullptr;
  const model::SwitchModel* model = nullptr;
  const model::FabricSpec* fabric = nullptr;  // null: out-of-band
  std::string name;
  std::string vrf;  // of the fabric, named as in the file unless the switch reserves that name
  std::int64_t mtu = 0;
  std::vector<SwitchPort> ports;  // without the management port, in cage order
  std::vector<SwitchVlan> vlans;  // by number
  Ipv4 management;                // on the out-of-band network
  Ipv4Prefix management_subnet;
  Ipv4 management_gateway;
  model::DeviceId pair = model::kNone<model::DeviceId>;  // the other switch of a pair with links between the two
  std::uint32_t pair_number = 0;                         // from 1, among the pairs of the fabric
  std::uint32_t side = 0;                                // 0 or 1, within the pair
  Ipv4 pair_management;
  NodePeering nodes;

  [[nodiscard]] bool oob() const { return fabric == nullptr; }
  [[nodiscard]] bool routes() const { return fabric != nullptr; }
  [[nodiscard]] bool has_pair() const { return pair != model::kNone<model::DeviceId>; }
  [[nodiscard]] bool lossless() const;
  [[nodiscard]] bool has_ipv6() const {
    return fabric != nullptr && fabric->ipv6.has_value() && fabric->ipv6->length > 0;
  }
  [[nodiscard]] bool is_stretched() const;  // one of its subnets is
  [[nodiscard]] std::uint32_t fabric_links() const;
  [[nodiscard]] bool has_fabric_links() const { return fabric_links() > 0; }
  // Spanning tree of the out-of-band network: the first switch of its top tier is the root, the second the backup, so
  // that no leaf carries transit traffic. If its leaves connect to the frontend, the frontend leaves are above them;
  // the two switches of a pair act as one bridge and have one priority. 0: the default, 32768.
  [[nodiscard]] int spanning_tree_priority() const;
  // The VRF name for Linux, where it is an interface: at most fifteen characters.
  [[nodiscard]] std::string kernel_vrf() const;
};

// Scans the cluster once; the plan of each switch then costs time proportional to its ports.
class SwitchPlanner {
 public:
  explicit SwitchPlanner(const RenderPlan& plan);

  [[nodiscard]] SwitchPlan plan(model::DeviceId id) const;
  // Whether a subnet of the fabric has hosts on several leaves (or pairs of them).
  [[nodiscard]] bool is_stretched(model::FabricKind fabric) const;
  [[nodiscard]] const RenderPlan& render_plan() const { return plan_; }
  [[nodiscard]] const model::Cluster& cluster() const { return plan_.cluster(); }
  [[nodiscard]] const model::OobSpec& oob() const { return cluster().spec().fabrics->oob.value; }

 private:
  void find_homes();
  void plan_ports(SwitchPlan& plan) const;
  void plan_pair(SwitchPlan& plan) const;
  void plan_vlans(SwitchPlan& plan) const;
  void plan_nodes(SwitchPlan& plan) const;
  [[nodiscard]] SwitchGateway gateway_of(const SwitchPlan& plan, model::SubnetId id) const;
  [[nodiscard]] std::vector<Ipv4> hosts_of(const SwitchPlan& plan, model::SubnetId id) const;

  const RenderPlan& plan_;
  std::vector<std::uint32_t> homes_;  // by subnet: its leaf, kNowhere or kEverywhere
};

// The other switch of a pair, none if there are no links between the two.
[[nodiscard]] model::DeviceId pair_of(const model::Cluster& cluster, model::DeviceId leaf);

// QoS class settings of a lossless fabric, resolved for rendering.
struct ClassPlan {
  int priority = 0;  // of the lossless data: 802.1p, traffic class, group and queue have the same number
  int dscp = 0;
  int cnp_priority = 0;
  int cnp_dscp = 0;
  int best_effort = 0;  // class of all other traffic
  std::vector<int> pfc;
  int bandwidth_percent = 0;
  model::WatchdogTimes watchdog;

  [[nodiscard]] bool is_paused(int number) const;
};
[[nodiscard]] ClassPlan plan_classes(const model::Cluster& cluster, const SwitchPlan& plan);

// A fabric's key in the cluster file: "fabrics.backend".
[[nodiscard]] std::string fabric_source(model::FabricKind kind);

// The address with an IPv4 address in its last 32 bits, as for hosts (Cluster::ipv6_of).
[[nodiscard]] Ipv6 embed_address(const Ipv6Prefix& prefix, Ipv4 address);

}  // namespace weft::render
