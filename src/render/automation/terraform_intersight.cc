// Intersight profiles of Cisco servers: policies and a template per pool, a profile per server. Attribute names and
// values are those of provider CiscoDevNet/intersight 1.0.77.
#include <fmt/format.h>

#include <algorithm>

#include "render/automation/terraform_parts.h"
#include "render/hosts/parts.h"

namespace weft::render {
namespace {

constexpr std::string_view kOrganization = "${data.intersight_organization_organization.main.results[0].moid}";
// Classes of service that a VIC supports for RoCE (vnic.RoceSettings).
constexpr std::int64_t kRoceClasses[] = {1, 2, 4, 5, 6};

bool is_managed(const PoolPlan& pool) { return pool.server->vendor.value == "Cisco"; }

// X-Series blades are behind fabric interconnects, rack servers are standalone.
bool is_attached(const PoolPlan& pool) { return pool.server->id->text.starts_with("ucs-x"); }
std::string_view platform(const PoolPlan& pool) { return is_attached(pool) ? "FIAttached" : "Standalone"; }

using Resources = Value;  // by type, by name

void put(Resources& resources, std::string_view type, const std::string& name, Value body) {
  resources[type].set(name, std::move(body));
}

Value reference(std::string_view object_type, std::string moid) {
  return Value::map({{"object_type", object_type}, {"moid", std::move(moid)}});
}

// Common to all policies: name, organization, tags.
Value policy(const RenderInput& input, const PoolPlan& pool, std::string_view kind) {
  return Value::map({{"name", terraform_name("", fmt::format("{}-{}-{}", input.cluster.name(), pool.name(), kind))},
                     {"organization", reference("organization.Organization", std::string(kOrganization))},
                     {"tags", Value::list({Value::map({{"key", "cluster"}, {"value", input.cluster.name()}}),
                                           Value::map({{"key", "pool"}, {"value", pool.name()}})})}});
}

std::string_view on(bool truth) { return truth ? "enabled" : "disabled"; }

// Tokens for both processor vendors: a server ignores those it does not have.
Value bios_policy(const RenderInput& input, const PoolPlan& pool) {
  const model::BiosSpec& bios = pool.spec->bios.value;
  Value out = policy(input, pool, "bios");
  out.set("numa_optimized", on(bios.numa.value));
  out.set("intel_hyper_threading_tech", on(bios.hyper_threading.value));
  out.set("cbs_cpu_smt_ctrl", on(bios.hyper_threading.value));
  out.set("sr_iov", on(bios.sriov.value));
  out.set("intel_vt_for_directed_io", on(bios.sriov.value));
  out.set("cbs_cmn_gnb_nb_iommu", on(bios.sriov.value));
  out.set("pcie_ari_support", on(bios.sriov.value));
  if (bios.numa.value)
    out.set("cbs_df_cmn_dram_nps", pool.server->numa_nodes.value > pool.server->sockets.value ? "NPS4" : "NPS1");
  if (!bios.performance.value) return out;
  out.set("cpu_power_management", "performance");
  out.set("cpu_energy_performance", "performance");
  out.set("cpu_performance", "hpc");
  out.set("intel_turbo_boost_tech", "enabled");
  out.set("processor_cstate", "disabled");
  out.set("processor_c1e", "disabled");
  out.set("processor_c6report", "disabled");
  out.set("package_cstate_limit", "C0 C1 State");
  out.set("cbs_cmn_cpu_global_cstate_ctrl", "disabled");
  out.set("cbs_cmn_determinism_slider", "Performance");
  return out;
}

// Drives are presented individually; the operating system boots from the mirrored M.2 pair.
Value storage_policy(const RenderInput& input, const PoolPlan& pool) {
  Value out = policy(input, pool, "storage");
  out.set("unused_disks_state", "Jbod");
  out.set("use_jbod_for_vd_creation", false);
  out.set("m2_virtual_drive", Value::map({{"enable", true},
                                          {"controller_slot", "MSTOR-RAID-1"},
                                          {"object_type", "storage.M2VirtualDriveConfig"}}));
  return out;
}

Value time_policy(const RenderInput& input, const PoolPlan& pool) {
  Value servers = Value::list();
  for (const model::DeviceId id : input.plan.jump_hosts()) {
    const Ipv4 address = host_jump_address(input.cluster, id);
    if (address != Ipv4{}) servers.add(to_text(address));
  }
  Value out = policy(input, pool, "ntp");
  out.set("enabled", !servers.empty());
  out.set("ntp_servers", std::move(servers));
  return out;
}

Value syslog_policy(const RenderInput& input, const PoolPlan& pool) {
  Value out = policy(input, pool, "syslog");
  out.set("remote_clients",
          Value::list({Value::map({{"enabled", true},
                                   {"hostname", terraform_text(input.cluster.spec().fabrics->oob->syslog.value)},
                                   {"port", 514},
                                   {"protocol", "udp"},
                                   {"min_severity", "warning"},
                                   {"object_type", "syslog.RemoteLoggingClient"}})}));
  return out;
}

// A link of the pool that ends on a VIC: those have vNICs, other cards have their own ports.
bool is_vic(const model::Cluster& cluster, const PoolPlan& pool, const model::Port& port) {
  for (const model::PortGroup& group : pool.server->ports.value) {
    if (static_cast<int>(group.use.value) != static_cast<int>(port.fabric)) continue;
    const model::NicModel* nic = cluster.catalog().nic(group.nic.value);
    return nic != nullptr && nic->vendor.value == "Cisco";
  }
  return false;
}

struct VnicNames {
  std::string lan;      // LAN connectivity policy of the pool
  std::string mac;      // MAC pool; "" for standalone servers
  std::string control;  // network control policy
};

// A VIC port on the out-of-band network uses the frontend's classes.
const model::FabricSpec& vnic_fabric_spec(const model::Cluster& cluster, model::FabricKind fabric) {
  return cluster.data_fabric_spec(fabric == model::FabricKind::oob ? model::FabricKind::frontend : fabric);
}

Value quality(const RenderInput& input, const PoolPlan& pool, const std::string& name, const model::Port& port) {
  const model::FabricSpec& fabric = vnic_fabric_spec(input.cluster, port.fabric);
  Value out = policy(input, pool, name + "-qos");
  out.set("mtu", fabric.mtu.value);
  out.set("trust_host_cos", true);
  if (fabric.qos->lossless.value) out.set("cos", fabric.qos->priority.value);
  return out;
}

Value adapter(const RenderInput& input, const PoolPlan& pool, const std::string& name, const model::Port& port,
              FileSink& sink) {
  const model::QosSpec& qos = vnic_fabric_spec(input.cluster, port.fabric).qos.value;
  Value out = policy(input, pool, name + "-adapter");
  out.set("rss_settings", true);
  if (!qos.lossless.value) return out;
  const bool takes =
      std::find(std::begin(kRoceClasses), std::end(kRoceClasses), qos.priority.value) != std::end(kRoceClasses);
  if (!takes && port.rail > 0) return out;  // report it once
  if (!takes) {
    sink.note(
        fmt::format("Intersight: a VIC supports RoCE only in classes 1, 2, 4, 5 and 6; map priority {} of {} manually.",
                    qos.priority.value, model::to_text(port.fabric)));
    return out;
  }
  out.set("roce_settings", Value::map({{"enabled", true},
                                       {"class_of_service", qos.priority.value},
                                       {"nr_version", 2},
                                       {"object_type", "vnic.RoceSettings"}}));
  return out;
}

Value placement(const PoolPlan& pool, int order) {
  Value out = Value::map({{"object_type", "vnic.PlacementSettings"}});
  if (is_attached(pool)) {
    out.set("auto_slot_id", true);
    out.set("switch_id", order % 2 == 0 ? "A" : "B");
  } else {
    out.set("id", "MLOM");
    out.set("uplink", order);
    out.set("switch_id", "None");
  }
  return out;
}

// The VLAN of a link: a VLAN group with one member behind interconnects, an access port on standalone servers.
void set_network(const RenderInput& input, const PoolPlan& pool, const std::string& name, const model::Port& port,
                 const VnicNames& names, Resources& resources, Value& vnic) {
  const int vlan = port.subnet == model::kNone<model::SubnetId> ? 0 : input.cluster.subnet(port.subnet).vlan;
  const std::string block = terraform_name("", pool.name() + "-" + name);
  Value network = policy(input, pool, name + "-network");
  if (is_attached(pool)) {
    network.set("vlan_settings", Value::map({{"native_vlan", vlan},
                                             {"allowed_vlans", std::to_string(vlan)},
                                             {"object_type", "fabric.VlanSettings"}}));
    put(resources, "intersight_fabric_eth_network_group_policy", block, std::move(network));
    vnic.set(
        "fabric_eth_network_group_policy",
        Value::list({reference("fabric.EthNetworkGroupPolicy",
                               terraform_reference("intersight_fabric_eth_network_group_policy", block, "moid"))}));
    vnic.set("fabric_eth_network_control_policy",
             reference("fabric.EthNetworkControlPolicy",
                       terraform_reference("intersight_fabric_eth_network_control_policy", names.control, "moid")));
    vnic.set("mac_pool", reference("macpool.Pool", terraform_reference("intersight_macpool_pool", names.mac, "moid")));
    return;
  }
  network.set("target_platform", "Standalone");
  network.set("vlan_settings",
              Value::map({{"mode", "ACCESS"}, {"default_vlan", vlan}, {"object_type", "vnic.VlanSettings"}}));
  put(resources, "intersight_vnic_eth_network_policy", block, std::move(network));
  vnic.set("eth_network_policy", reference("vnic.EthNetworkPolicy",
                                           terraform_reference("intersight_vnic_eth_network_policy", block, "moid")));
}

void add_vnic(const RenderInput& input, const PoolPlan& pool, model::PortId id, int order, const VnicNames& names,
              Resources& resources, FileSink& sink) {
  const model::Port& port = input.cluster.port(id);
  const std::string name = input.cluster.port_name(id);
  const std::string block = terraform_name("", pool.name() + "-" + name);
  put(resources, "intersight_vnic_eth_qos_policy", block, quality(input, pool, name, port));
  put(resources, "intersight_vnic_eth_adapter_policy", block, adapter(input, pool, name, port, sink));
  Value vnic = Value::map(
      {{"name", name},
       {"order", order},
       {"placement", placement(pool, order)},
       {"cdn", Value::map({{"nr_source", "vnic"}, {"object_type", "vnic.Cdn"}})},
       {"lan_connectivity_policy",
        reference("vnic.LanConnectivityPolicy",
                  terraform_reference("intersight_vnic_lan_connectivity_policy", names.lan, "moid"))},
       {"eth_qos_policy",
        reference("vnic.EthQosPolicy", terraform_reference("intersight_vnic_eth_qos_policy", block, "moid"))},
       {"eth_adapter_policy",
        reference("vnic.EthAdapterPolicy", terraform_reference("intersight_vnic_eth_adapter_policy", block, "moid"))}});
  set_network(input, pool, name, port, names, resources, vnic);
  put(resources, "intersight_vnic_eth_if", block, std::move(vnic));
}

// False if the pool's servers have no VIC.
bool add_lan(const RenderInput& input, const PoolPlan& pool, Resources& resources, FileSink& sink) {
  std::vector<model::PortId> links;
  for (const model::PortId id : input.cluster.ports_of(pool.group->first)) {
    if (host_is_system_port(input.cluster.port(id)) && is_vic(input.cluster, pool, input.cluster.port(id)))
      links.push_back(id);
  }
  if (links.empty()) return false;
  VnicNames names{.lan = terraform_name("pool-", pool.name()), .mac = {}, .control = {}};
  Value lan = policy(input, pool, "lan");
  lan.set("target_platform", platform(pool));
  lan.set("placement_mode", is_attached(pool) ? "auto" : "custom");
  put(resources, "intersight_vnic_lan_connectivity_policy", names.lan, std::move(lan));
  if (is_attached(pool)) {
    names.mac = names.control = names.lan;
    Value macs = policy(input, pool, "mac");
    macs.set("mac_blocks", Value::list({Value::map({{"from", "${var.mac_block_from}"},
                                                    {"size", links.size() * pool.group->count},
                                                    {"object_type", "macpool.Block"}})}));
    put(resources, "intersight_macpool_pool", names.mac, std::move(macs));
    Value control = policy(input, pool, "control");
    control.set(
        "lldp_settings",
        Value::map({{"receive_enabled", true}, {"transmit_enabled", true}, {"object_type", "fabric.LldpSettings"}}));
    put(resources, "intersight_fabric_eth_network_control_policy", names.control, std::move(control));
  }
  int order = 0;
  for (const model::PortId id : links) add_vnic(input, pool, id, order++, names, resources, sink);
  return true;
}

// All resources of a pool; its servers are a map from which the profiles are created.
void add_pool(const RenderInput& input, const PoolPlan& pool, Resources& resources, Value& locals, FileSink& sink) {
  const std::string block = terraform_name("pool-", pool.name());
  Value bucket = Value::list();
  const auto attach = [&](std::string_view type, std::string_view object_type, Value body) {
    put(resources, type, block, std::move(body));
    bucket.add(reference(object_type, terraform_reference(type, block, "moid")));
  };
  attach("intersight_bios_policy", "bios.Policy", bios_policy(input, pool));
  attach("intersight_storage_storage_policy", "storage.StoragePolicy", storage_policy(input, pool));
  attach("intersight_ntp_policy", "ntp.Policy", time_policy(input, pool));
  if (input.cluster.spec().fabrics->oob->syslog.has_value())
    attach("intersight_syslog_policy", "syslog.Policy", syslog_policy(input, pool));
  attach("intersight_ipmioverlan_policy", "ipmioverlan.Policy",
         policy(input, pool, "ipmi").set("enabled", input.cluster.spec().fabrics->oob->bmc->ipmi_over_lan.value));
  if (add_lan(input, pool, resources, sink)) {
    bucket.add(reference("vnic.LanConnectivityPolicy",
                         terraform_reference("intersight_vnic_lan_connectivity_policy", block, "moid")));
  }
  put(resources, "intersight_server_profile_template", block,
      policy(input, pool, "template").set("target_platform", platform(pool)).set("policy_bucket", std::move(bucket)));
  const std::string list = terraform_name("servers_", pool.name());
  Value servers = Value::map();
  for (std::uint32_t i = 0; i < pool.group->count; ++i) {
    const model::DeviceId id = host_member(*pool.group, i);
    const model::RackId rack = input.cluster.device(id).rack;
    servers.put(terraform_text(input.cluster.name_of(id)),
                rack == model::kNone<model::RackId> ? Value("") : Value(terraform_text(input.cluster.rack(rack).name)));
  }
  locals.set(list, std::move(servers));
  put(resources, "intersight_server_profile", block,
      Value::map({{"for_each", fmt::format("${{local.{}}}", list)},
                  {"name", "${each.key}"},
                  {"organization", reference("organization.Organization", std::string(kOrganization))},
                  {"target_platform", platform(pool)},
                  {"server_assignment_mode", "None"},
                  {"server_pre_assign_by_serial", "${lookup(var.server_serials, each.key, \"\")}"},
                  {"src_template", reference("server.ProfileTemplate",
                                             terraform_reference("intersight_server_profile_template", block, "moid"))},
                  {"tags", Value::list({Value::map({{"key", "cluster"}, {"value", input.cluster.name()}}),
                                        Value::map({{"key", "role"}, {"value", host_role_name(pool.spec->role.value)}}),
                                        Value::map({{"key", "rack"}, {"value", "${each.value}"}})})}}));
}

}  // namespace

bool terraform_has_intersight(const RenderInput& input) {
  const auto& pools = input.plan.pools();
  return std::any_of(pools.begin(), pools.end(), is_managed);
}

bool terraform_has_interconnects(const RenderInput& input) {
  const auto& pools = input.plan.pools();
  return std::any_of(pools.begin(), pools.end(),
                     [](const PoolPlan& pool) { return is_managed(pool) && is_attached(pool); });
}

void add_terraform_intersight(const RenderInput& input, FileSink& sink) {
  if (!terraform_has_intersight(input)) return;
  Resources resources = Value::map();
  Value locals = Value::map();
  for (const PoolPlan& pool : input.plan.pools()) {
    if (is_managed(pool)) add_pool(input, pool, resources, locals, sink);
  }
  Value data = Value::map({{"intersight_organization_organization",
                            Value::map({{"main", Value::map({{"name", "${var.intersight_organization}"}})}})}});
  add_terraform_file(
      sink, "intersight",
      Value::map({{"locals", std::move(locals)}, {"data", std::move(data)}, {"resource", std::move(resources)}}),
      "pools");
}

}  // namespace weft::render
