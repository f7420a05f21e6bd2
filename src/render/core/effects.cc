// Effect of a configuration change on traffic, by consumer and by the part that changes. From the vendors' guides:
// SONiC applies config_db tables as they change, except where its daemons need a reload (buffers, device metadata);
// NX-OS and EOS reset the link or session that a command belongs to; the SR-IOV and NIC operators drain and reset the
// node.
#include <array>

#include "render/core/compare.h"

namespace weft::render {
namespace {

struct EffectRule {
  std::string_view target;  // or its prefix
  std::string_view begins;  // prefix of the key; "" for all
  std::string_view holds;   // substring of the key; "" for all
  Effect effect;
};

constexpr Effect kNothing{Risk::none, "applied immediately, no impact"};
constexpr Effect kLink{Risk::traffic, "the link flaps"};
constexpr Effect kSession{Risk::traffic, "the routing session resets; its routes are withdrawn meanwhile"};
constexpr Effect kClass{Risk::traffic, "frames of the class may be dropped while the maps change"};
constexpr Effect kBuffers{Risk::traffic, "buffers are reallocated; queued frames are dropped"};
constexpr Effect kGateway{Risk::traffic, "hosts of the network briefly lose their gateway"};
constexpr Effect kSwitch{Risk::traffic, "the switch reloads its configuration and does not forward meanwhile"};
constexpr Effect kNode{Risk::traffic, "each node is drained and its adapters are reset"};
constexpr Effect kPods{Risk::reload, "rolling restart of the pods"};
constexpr Effect kCut{Risk::traffic, "connections that are no longer allowed are dropped"};
constexpr Effect kDaemon{Risk::reload, "the service restarts; running jobs continue"};
constexpr Effect kNetwork{Risk::traffic, "the server's interfaces are reconfigured"};

constexpr std::array kRules = {
    EffectRule{"sonic", "PORT.", ".description", kNothing},
    EffectRule{"sonic", "PORT.", "", kLink},
    EffectRule{"sonic", "BREAKOUT_CFG", "", kLink},
    EffectRule{"sonic", "DEVICE_METADATA", "", kSwitch},
    EffectRule{"sonic", "BUFFER_", "", kBuffers},
    EffectRule{"sonic", "CABLE_LENGTH", "", kBuffers},
    EffectRule{"sonic", "DSCP_TO_TC_MAP", "", kClass},
    EffectRule{"sonic", "TC_TO_", "", kClass},
    EffectRule{"sonic", "MAP_PFC_", "", kClass},
    EffectRule{"sonic", "PORT_QOS_MAP", "", kClass},
    EffectRule{"sonic", "BGP_", "", kSession},
    EffectRule{"sonic", "DEVICE_NEIGHBOR", "", kNothing},
    EffectRule{"sonic", "VLAN", "", kGateway},
    EffectRule{"sonic", "INTERFACE", "", kSession},
    EffectRule{"sonic", "LOOPBACK_INTERFACE", "", kSession},
    EffectRule{"sonic", "VRF", "", kGateway},
    EffectRule{"sonic", "MCLAG", "", kGateway},
    EffectRule{"sonic", "PORTCHANNEL", "", kLink},
    EffectRule{"sonic", "", "", kNothing},
    EffectRule{"nxos", "interface ", "description", kNothing},
    EffectRule{"eos", "interface ", "description", kNothing},
    EffectRule{"nvue", "nv set interface ", " description ", kNothing},
    EffectRule{"nxos", "interface Vlan", "", kGateway},
    EffectRule{"eos", "interface Vlan", "", kGateway},
    EffectRule{"nvue", "nv set interface vlan", "", kGateway},
    EffectRule{"nxos", "interface ", "", kLink},
    EffectRule{"eos", "interface ", "", kLink},
    EffectRule{"nvue", "nv set interface ", "", kLink},
    EffectRule{"nxos", "router bgp", "", kSession},
    EffectRule{"eos", "router bgp", "", kSession},
    EffectRule{"nvue", "nv set router bgp", "", kSession},
    EffectRule{"nvue", "nv set vrf ", "", kSession},
    EffectRule{"nxos", "class-map", "", kClass},
    EffectRule{"nxos", "policy-map", "", kClass},
    EffectRule{"nxos", "system qos", "", kClass},
    EffectRule{"eos", "qos ", "", kClass},
    EffectRule{"eos", "priority-flow-control", "", kClass},
    EffectRule{"nvue", "nv set qos", "", kClass},
    EffectRule{"nxos", "vpc domain", "", kGateway},
    EffectRule{"eos", "mlag configuration", "", kGateway},
    EffectRule{"nxos", "vlan ", "", kGateway},
    EffectRule{"eos", "vlan ", "", kGateway},
    EffectRule{"nxos", "hardware ", "", kSwitch},
    EffectRule{"nxos", "ip access-list", "", kCut},
    EffectRule{"eos", "ip access-list", "", kCut},
    EffectRule{"nxos", "", "", kNothing},
    EffectRule{"eos", "", "", kNothing},
    EffectRule{"nvue", "", "", kNothing},
    EffectRule{"kubernetes", "SriovNetworkNodePolicy", "", kNode},
    EffectRule{"kubernetes", "NicConfigurationTemplate", "", kNode},
    EffectRule{"kubernetes", "NicClusterPolicy", "", kNode},
    EffectRule{"kubernetes", "ClusterPolicy", "driver", kNode},
    EffectRule{"kubernetes", "Deployment", ".replicas", kNothing},
    EffectRule{"kubernetes", "Deployment", "spec.template", kPods},
    EffectRule{"kubernetes", "NetworkPolicy", "", kCut},
    EffectRule{"kubernetes", "CiliumNetworkPolicy", "", kCut},
    EffectRule{"kubernetes", "CiliumBGP", "", kSession},
    EffectRule{"kubernetes", "Node ", "taints",
               Effect{Risk::reload, "pods without a matching toleration are no longer scheduled there"}},
    EffectRule{"kubernetes", "", "", kNothing},
    EffectRule{"slurm", "SelectType", "",
               Effect{Risk::traffic, "slurmctld must restart; a change of the selector plugin loses running jobs"}},
    EffectRule{"slurm", "AuthType", "", kDaemon},
    EffectRule{"slurm", "SlurmctldHost", "", kDaemon},
};

}  // namespace

Effect effect_of(std::string_view target, std::string_view path, std::string_view key, Risk own) {
  if (path.find("/netplan/") != std::string_view::npos) return kNetwork;
  for (const EffectRule& rule : kRules) {
    const bool same = target == rule.target || (target.starts_with(rule.target) && target[rule.target.size()] == '/');
    if (same && key.starts_with(rule.begins) && key.find(rule.holds) != std::string_view::npos) return rule.effect;
  }
  switch (own) {
    case Risk::none:
      return kNothing;
    case Risk::reload:
      return kDaemon;
    case Risk::traffic:
      return {Risk::traffic, "the affected service stops meanwhile"};
  }
  return kNothing;
}

}  // namespace weft::render
