// SONiC: device metadata, ports, port channels and the devices at their far ends.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "render/switches/sonic_tables.h"
#include "render/switches/system.h"

namespace weft::render::sonic_render {
namespace {

struct KnownHardware {
  std::string_view model;
  Hardware hardware;
};
// Folders of device/ in sonic-net/sonic-buildimage: platform, then hwsku.
constexpr std::array<KnownHardware, 8> kHardware = {{
    {"sn2201", {"ACS-SN2201", "x86_64-nvidia_sn2201-r0"}},
    {"sn3700", {"ACS-MSN3700", "x86_64-mlnx_msn3700-r0"}},
    {"sn4600c", {"ACS-MSN4600C", "x86_64-mlnx_msn4600c-r0"}},
    {"sn4700", {"ACS-MSN4700", "x86_64-mlnx_msn4700-r0"}},
    {"sn5400", {"ACS-SN5400", "x86_64-nvidia_sn5400-r0"}},
    {"sn5600", {"ACS-SN5600", "x86_64-nvidia_sn5600-r0"}},
    {"arista-7060x6-64pe", {"Arista-7060X6-64PE", "x86_64-arista_7060x6_64pe"}},
    {"arista-7060dx5-64s", {"Arista-7060DX5-64S", "x86_64-arista_7060dx5_64s"}},
}};

constexpr std::uint32_t kPeerBundle = 9999;  // port channels of servers are numbered from 1
constexpr std::size_t kLongestVrf = 15;      // IFNAMSIZ without the terminating zero

bool is_nvidia(const SwitchPlan& plan) { return plan.model->vendor.value == "NVIDIA"; }

// The role also seeds ECMP hashing, differently for each role (docker-orchagent/switch.json.j2: ToRRouter 0, LeafRouter
// 10, SpineRouter 25): tiers with the same hash send all flows of a leaf over one uplink (polarization).
std::string_view role_of(const SwitchPlan& plan) {
  if (plan.oob()) return plan.group->tier == model::Tier::leaf ? "MgmtToRRouter" : "MgmtLeafRouter";
  if (!plan.fabric->hash_seeds.value) return "LeafRouter";
  switch (plan.group->tier) {
    case model::Tier::leaf:
      return "ToRRouter";
    case model::Tier::spine:
      return "LeafRouter";
    case model::Tier::core:
      return "SpineRouter";
    case model::Tier::none:
      break;
  }
  return "LeafRouter";
}

std::string lanes_text(const SwitchPlan& plan, const SwitchPort& port) {
  // NVIDIA counts SerDes lanes from 0, Broadcom's SDK from 1.
  const std::uint32_t first = port.first_lane + port.lane + (is_nvidia(plan) ? 0 : 1);
  std::string out;
  for (std::uint32_t lane = 0; lane < port.lanes; ++lane) {
    if (lane > 0) out += ',';
    out += std::to_string(first + lane);
  }
  return out;
}

std::string alias_of(const SwitchPlan& plan, const SwitchPort& port) {
  const bool whole = port.pieces() == 1;
  if (is_nvidia(plan)) {
    return whole ? fmt::format("etp{}", port.cage + 1)
                 : fmt::format("etp{}{}", port.cage + 1, static_cast<char>('a' + port.piece()));
  }
  return whole ? fmt::format("Eth1/{}", port.cage + 1) : fmt::format("Eth1/{}/{}", port.cage + 1, port.piece() + 1);
}

// Ethernet at 25G, 50G and 100G per lane includes RS-FEC (IEEE 802.3 clauses 91, 108, 134, 161); slower lanes have
// none.
bool has_rs_fec(BitRate speed) { return speed == gigabits(25) || speed == gigabits(50) || speed >= gigabits(100); }

Value port_row(const Tables& tables, const SwitchPort& port, bool cabled) {
  const bool copper = port.form == model::FormFactor::rj45;
  Value row = Value::map();
  row.put("index", text(port.cage + 1));
  row.put("lanes", lanes_text(tables.plan, port));
  row.put("alias", alias_of(tables.plan, port));
  if (cabled) row.put("description", port.far_end());
  row.put("speed", text(port.speed.count() / 1'000'000));
  row.put("mtu", text(tables.plan.mtu));
  if (!copper) row.put("fec", has_rs_fec(port.speed) ? "rs" : "none");
  row.put("autoneg", copper ? "on" : "off");  // 1000BASE-T requires it (IEEE 802.3 clause 40)
  row.put("admin_status", cabled ? "up" : "down");
  return row;
}

}  // namespace

Hardware hardware_of(const model::SwitchModel& model) {
  for (const KnownHardware& known : kHardware) {
    if (known.model == model.id->text) return known.hardware;
  }
  return {};
}

Value text(std::int64_t number) { return Value(std::to_string(number)); }

// Ports are named after the number of their first lane, as on NVIDIA and Broadcom platforms.
std::string port_name(const SwitchPort& port) { return fmt::format("Ethernet{}", port.first_lane + port.lane); }

// SONiC requires the prefix "Vrf", and Linux at most fifteen characters.
std::string vrf_name(const SwitchPlan& plan) {
  if (plan.oob()) return {};
  const std::string wanted = "Vrf_" + plan.vrf;
  return wanted.size() <= kLongestVrf ? wanted : fmt::format("Vrf_{}", model::to_text(plan.group->fabric));
}

std::string bundle_name(const SwitchPort& port) {
  if (port.use == SwitchPort::Use::pair_link) return fmt::format("PortChannel{}", kPeerBundle);
  return port.bond == 0 ? std::string() : fmt::format("PortChannel{}", port.bond);
}

void add_metadata(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  Value local = Value::map();
  local.put("hostname", plan.name);
  if (const Hardware known = hardware_of(*plan.model); !known.hwsku.empty()) {
    local.put("hwsku", known.hwsku);
    local.put("platform", known.platform);
  }
  local.put("type", role_of(plan));
  if (plan.device->asn != 0) local.put("bgp_asn", text(plan.device->asn));
  if (plan.lossless()) {
    local.put("buffer_model", "traditional");
    local.put("default_pfcwd_status", plan.fabric->qos->pfc_watchdog.value ? "enable" : "disable");
  }
  if (plan.routes()) {
    local.put("default_bgp_status", "up");
    // The management framework's tables: neighbors by interface, VRFs, peer groups (frrcfgd instead of bgpcfgd).
    local.put("docker_routing_config_mode", "unified");
    local.put("frr_mgmt_framework_config", "true");
  }
  local.put("synchronous_mode", "enable");
  tables.root["DEVICE_METADATA"].put("localhost", std::move(local));
}

void add_ports(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  Value ports = Value::map();
  Value breakouts = Value::map();
  for (std::size_t i = 0; i < plan.ports.size();) {
    const SwitchPort& first = plan.ports[i];
    if (first.cage_lanes > 1) {
      Value mode = Value::map();
      mode.put("brkout_mode", fmt::format("{}x{}", first.pieces(), to_text(first.speed)));
      breakouts.put(fmt::format("Ethernet{}", first.first_lane), std::move(mode));
    }
    // A cage in breakout mode has all of its breakout ports, including those without a cable.
    for (std::uint32_t piece = 0; piece < first.pieces(); ++piece) {
      SwitchPort spare = first;
      spare.lane = piece * first.lanes;
      const bool cabled = i < plan.ports.size() && plan.ports[i].cage == first.cage && plan.ports[i].lane == spare.lane;
      const SwitchPort& port = cabled ? plan.ports[i] : spare;
      ports.put(port_name(port), port_row(tables, port, cabled));
      if (cabled) ++i;
    }
  }
  tables.root.put("PORT", std::move(ports));
  if (!breakouts.empty()) tables.root.put("BREAKOUT_CFG", std::move(breakouts));
}

// Servers bonded over a pair, and the link between its two switches.
void add_bundles(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  Value bundles = Value::map();
  Value members = Value::map();
  Value over_pair = Value::map();
  const std::string domain = std::to_string(plan.pair_number);
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const SwitchPort& port = plan.ports[i];
    const std::string name = bundle_name(port);
    if (name.empty()) continue;
    members.put(fmt::format("{}|{}", name, tables.names[i]), Value::map());
    if (bundles.find(name) != nullptr) continue;
    Value row = Value::map();
    row.put("admin_status", "up");
    row.put("description", port.peer_name);
    row.put("mtu", text(plan.mtu));
    row.put("min_links", "1");
    row.put("lacp_key", "auto");
    // A server boots over the network before it bonds its links.
    if (port.bond != 0) row.put("fallback", "true");
    bundles.put(name, std::move(row));
    if (port.bond == 0) continue;
    Value both = Value::map();
    both.put("if_type", "PortChannel");
    over_pair.put(fmt::format("{}|{}", domain, name), std::move(both));
  }
  if (bundles.empty()) return;
  tables.root.put("PORTCHANNEL", std::move(bundles));
  tables.root.put("PORTCHANNEL_MEMBER", std::move(members));
  if (!plan.has_pair()) return;
  Value row = Value::map();
  row.put("source_ip", to_text(pair_address(plan.side == 0)));
  row.put("peer_ip", to_text(pair_address(plan.side != 0)));
  row.put("peer_link", fmt::format("PortChannel{}", kPeerBundle));
  tables.root["MCLAG_DOMAIN"].put(domain, std::move(row));
  if (!over_pair.empty()) tables.root.put("MCLAG_INTERFACE", std::move(over_pair));
}

// The switch at the far end of each fabric link; servers are in the port descriptions.
void add_neighbors(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  const model::Cluster& cluster = tables.cluster();
  Value neighbors = Value::map();
  Value about = Value::map();
  std::set<model::DeviceId> known;
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const SwitchPort& port = plan.ports[i];
    const model::DeviceGroup& group = cluster.group_of(port.peer);
    if (group.kind != model::DeviceKind::network_switch) continue;
    Value row = Value::map();
    row.put("name", port.peer_name);
    row.put("port", port.peer_port);
    neighbors.put(tables.names[i], std::move(row));
    if (!known.insert(port.peer).second) continue;
    Value far = Value::map();
    if (system_of(cluster, group) == "sonic") {
      if (const Hardware hardware = hardware_of(*group.network_switch); !hardware.hwsku.empty())
        far.put("hwsku", hardware.hwsku);
    }
    const model::Device& device = cluster.device(port.peer);
    if (group.fabric != model::FabricKind::oob && device.loopback != Ipv4{})
      far.put("lo_addr", to_text(device.loopback));
    if (const Ipv4 management = cluster.oob_address(port.peer); management != Ipv4{})
      far.put("mgmt_addr", to_text(management));
    about.put(port.peer_name, std::move(far));
  }
  if (!neighbors.empty()) tables.root.put("DEVICE_NEIGHBOR", std::move(neighbors));
  if (!about.empty()) tables.root.put("DEVICE_NEIGHBOR_METADATA", std::move(about));
}

}  // namespace weft::render::sonic_render
