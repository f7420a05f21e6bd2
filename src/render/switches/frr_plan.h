// The routed underlay of the Ethernet fabrics, per switch, in a form that a lab of Linux hosts can run: sessions,
// subnets, prefix filters. Internal to the `frr` target; names and numbers are from the Cluster.
//
// Each host subnet of the backend and storage is on one leaf and is routed. The frontend subnet spans all of its
// leaves: there the underlay carries only loopbacks and EVPN stretches the subnet over VXLAN (RFC 7432, RFC 8365).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "render/core/target.h"

namespace weft::render::frr {

struct Session {
  model::PortId port = model::kNone<model::PortId>;
  model::PortId peer = model::kNone<model::PortId>;
  bool up = false;  // toward the spines or cores
};

// An address of the leaf on a VLAN that is its hosts' gateway.
struct Gateway {
  model::SubnetId subnet = model::kNone<model::SubnetId>;
  bool shared = false;  // other leaves have hosts of the subnet too: host routes are announced
};

struct FabricPart {
  model::FabricKind kind = model::FabricKind::backend;
  const model::FabricSpec* spec = nullptr;
  const model::FabricPlan* plan = nullptr;
  bool evpn = false;
};

struct SwitchPart {
  model::DeviceId id = model::kNone<model::DeviceId>;
  std::vector<Session> sessions;
  std::vector<Gateway> gateways;          // by subnet
  std::vector<model::PortId> host_ports;  // of the hosts, in the order of the leaf's cages
  std::uint32_t most_paths = 1;           // maximum number of equal-cost paths per prefix
};

class Underlay {
 public:
  explicit Underlay(const model::Cluster& cluster);

  [[nodiscard]] const std::vector<FabricPart>& fabrics() const { return fabrics_; }
  [[nodiscard]] const FabricPart* fabric(model::FabricKind kind) const;  // null when it is not part of the lab
  [[nodiscard]] SwitchPart switch_part(model::DeviceId id) const;
  // Prefixes allowed in a fabric: "10.60.0.0/16 ge 26 le 26".
  [[nodiscard]] std::vector<std::string> allowed(const FabricPart& fabric) const;
  [[nodiscard]] std::vector<std::string> allowed_ipv6(const FabricPart& fabric) const;
  // The subnets of the plan that have hosts: one per rail.
  [[nodiscard]] const std::vector<Ipv4Prefix>& reach(const FabricPart& fabric) const {
    return reach_[static_cast<std::size_t>(fabric.kind)];
  }
  [[nodiscard]] const model::Cluster& cluster() const { return cluster_; }

  // Calls `visit(DeviceId)` for every switch of a fabric, leaves first.
  template <class Visit>
  void each_switch(const FabricPart& fabric, Visit visit) const {
    for (const model::Tier tier : {model::Tier::leaf, model::Tier::spine, model::Tier::core}) {
      for (const model::DeviceGroup& group : cluster_.groups()) {
        if (group.kind != model::DeviceKind::network_switch || group.fabric != fabric.kind || group.tier != tier)
          continue;
        for (std::uint32_t i = 0; i < group.count; ++i)
          visit(static_cast<model::DeviceId>(model::index_of(group.first) + i));
      }
    }
  }

 private:
  void measure(const FabricPart& fabric);
  [[nodiscard]] std::uint32_t most_paths(const SwitchPart& part) const;

  const model::Cluster& cluster_;
  std::vector<FabricPart> fabrics_;
  std::vector<model::DeviceId> leaf_of_subnet_;  // the first leaf with a host in it
  std::vector<bool> shared_;                     // by subnet: hosts on several leaves
  std::array<std::vector<Ipv4Prefix>, model::kFabrics> reach_{};
  struct Lengths {
    int shortest = 32;
    int longest = 0;
  };
  std::array<Lengths, model::kFabrics> lengths_{};
};

// Linux interface names have at most 15 characters and no slash: "p12/2" is "p12-2" in the lab.
[[nodiscard]] std::string interface_name(const model::Cluster& cluster, model::PortId port);
[[nodiscard]] std::string vlan_name(const model::Cluster& cluster, model::SubnetId subnet);  // "vlan600"
// "train-u001"; "shared-u001" for leaves shared by small pools; "-" if not in a unit.
[[nodiscard]] std::string unit_name(const model::Cluster& cluster, model::UnitId unit);
// Lines of `heading` after a comment marker.
[[nodiscard]] std::string comment_heading(const model::Cluster& cluster, std::string_view what, std::string_view sign);

// lab.sh, lab.tsv and topology.clab.yml.
void render_lab(const Underlay& underlay, FileSink& sink);

}  // namespace weft::render::frr
