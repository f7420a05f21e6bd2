// What one Ethernet switch must be configured with, whatever its operating system: its ports with their far ends, its
// VLANs and gateways, its pair, its management. Worked out once from the Cluster so that SONiC, NVUE, NX-OS and EOS
// files state the same facts; names of interfaces and the syntax are the renderers' own.
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

inline constexpr int kPeerVlan = 4094;  // between the two switches of a pair, on their peer link only

struct SwitchPort {
  enum class Use : std::uint8_t {
    host,      // in a VLAN: a server, a BMC, a PDU
    fabric,    // routed, between tiers
    external,  // routed, to the site's network
    trunk,     // an out-of-band uplink: the VLAN goes on
    pair_link  // to the other switch of a pair
  };
  model::PortId id = model::kNone<model::PortId>;
  model::DeviceId peer = model::kNone<model::DeviceId>;
  std::string peer_name;  // "train001"
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
  std::uint32_t peer_asn = 0;  // of fabric links
  std::uint16_t vlan = 0;      // of host ports and trunks
  std::uint32_t bond = 0;      // number of the server's bond, the same on both switches of a pair; 0: none

  [[nodiscard]] std::uint32_t pieces() const { return cage_lanes / lanes; }
  [[nodiscard]] std::uint32_t piece() const { return lane / lanes; }
  [[nodiscard]] std::uint32_t number() const { return cage + 1; }  // of the cage, as printed on the front
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
  Ipv4 own;                 // of this switch alone, beside the gateway's; none where it has no need of one
  Ipv4 pair_own;            // the other switch's, where the two share the gateway's address
  Ipv6Prefix ipv6;          // length 0: none
  bool shared = false;      // the two switches of a pair share the gateway's address
  bool stretched = false;   // other leaves have hosts of it too: each announces its own as /32
  std::vector<Ipv4> hosts;  // of a stretched subnet: those on this switch or its pair, in order

  // What the interface itself has, the primary one first; a shared gateway comes on top of it.
  [[nodiscard]] std::vector<Ipv4> addresses() const;
};

struct SwitchVlan {
  std::uint16_t id = 0;
  std::string name;                     // one word: "backend-rail1"
  std::string description;              // "backend rail 1"
  std::vector<SwitchGateway> gateways;  // by subnet

  [[nodiscard]] bool is_stretched() const;
};

// Kubernetes nodes that announce addresses of services to a frontend leaf.
struct NodePeering {
  std::uint32_t asn = 0;  // 0: none do
  Ipv4Prefix hosts;       // where the nodes are
  Ipv4Prefix services;    // what they may announce, an address at a time
};

struct SwitchPlan {
  model::DeviceId id = model::kNone<model::DeviceId>;
  const model::Device* device = nullptr;
  const model::DeviceGroup* group = nullptr;
  const model::SwitchModel* model = nullptr;
  const model::FabricSpec* fabric = nullptr;  // none: out-of-band
  std::string name;
  std::string vrf;  // of the fabric, as the file names it unless the switch has that name for something else
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
  [[nodiscard]] bool is_stretched() const;  // a subnet of it is
  [[nodiscard]] std::uint32_t fabric_links() const;
  [[nodiscard]] bool has_fabric_links() const { return fabric_links() > 0; }
  // Spanning tree of the out-of-band network: the first switch of its top tier is the root, the second takes over, so
  // that no leaf carries others' traffic. Where its leaves hang off the frontend, the frontend's leaves are above them;
  // the two of a pair are one bridge and have one priority. 0: as switches have it by default, 32768.
  [[nodiscard]] int spanning_tree_priority() const;
  // The VRF's name where it is an interface to Linux: at most fifteen characters.
  [[nodiscard]] std::string kernel_vrf() const;
};

// One walk over the cluster, then the plan of any switch at the cost of its ports.
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

// The other switch of a pair, none where there are no links between the two.
[[nodiscard]] model::DeviceId pair_of(const model::Cluster& cluster, model::DeviceId leaf);

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

  [[nodiscard]] bool is_paused(int number) const;
};
[[nodiscard]] ClassPlan plan_classes(const model::Cluster& cluster, const SwitchPlan& plan);

// A fabric's key in the cluster file: "fabrics.backend".
[[nodiscard]] std::string fabric_source(model::FabricKind kind);

// The address with an IPv4 address in its last 32 bits, as hosts have theirs (Cluster::ipv6_of).
[[nodiscard]] Ipv6 embed_address(const Ipv6Prefix& prefix, Ipv4 address);

}  // namespace weft::render
