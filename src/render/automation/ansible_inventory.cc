#include "render/automation/ansible_inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/host_range.h"
#include "base/text.h"
#include "render/hosts/parts.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

using Members = std::map<std::string, std::vector<std::string>>;  // by group

Value group_of_hosts(std::vector<std::string> names) {
  return Value::map({{"hosts", ansible_host_keys(std::move(names))}});
}

// A group of groups.
Value group_of(const std::vector<std::string>& children) {
  Value list = Value::map();
  for (const std::string& child : children) list.set(child, Value::map());
  return Value::map({{"children", std::move(list)}});
}

Value rails_of(const model::Cluster& cluster, model::DeviceId server) {
  Value rails = Value::map();
  for (const model::PortId id : cluster.ports_of(server)) {
    const model::Port& port = cluster.port(id);
    const bool rail = port.fabric == model::FabricKind::backend || port.fabric == model::FabricKind::storage;
    if (rail && port.address != Ipv4{}) rails.put(cluster.port_name(id), to_text(port.address));
  }
  return rails;
}

std::string unit_name(const model::Cluster& cluster, model::UnitId id) {
  const model::Unit& unit = cluster.units()[model::index_of(id)];
  const std::string pool =
      unit.pool < 0 ? "shared" : cluster.spec().pools.value[static_cast<std::size_t>(unit.pool)].name->text;
  return fmt::format("{}-u{:03}", pool, unit.index + 1);
}

Value server_variables(const RenderInput& input, model::DeviceId id) {
  const model::Cluster& cluster = input.cluster;
  const model::Device& device = cluster.device(id);
  Value out = Value::map();
  const Ipv4 managed = host_management_address(cluster, input.plan, id);
  if (managed != Ipv4{}) out.put("ansible_host", to_text(managed));
  const Ipv4 bmc = cluster.oob_address(id);
  if (bmc != Ipv4{}) out.put("weft_bmc", to_text(bmc));
  if (device.rack != model::kNone<model::RackId>) out.put("weft_rack", cluster.rack(device.rack).name);
  if (device.unit != model::kNone<model::UnitId>) out.put("weft_unit", unit_name(cluster, device.unit));
  out.put("weft_rails", rails_of(cluster, id));
  return out;
}

// How servers of a pool without a frontend port are reached: through a host on both networks.
void set_way_in(const RenderInput& input, const PoolPlan& pool, Value& variables) {
  if (pool.spec->role.value == model::PoolRole::jump ||
      host_has_fabric(input.cluster, pool, model::FabricKind::frontend))
    return;
  const auto relays = host_relays(input);
  if (relays.empty()) return;
  const std::string relay = to_text(input.plan.frontend_address(relays.front()));
  variables.set("weft_proxy", relay);
  variables.set("ansible_ssh_common_args", "-o ProxyJump={{ weft_proxy }}");
}

// One pass over the servers: hosts with their variables, and the members of each rack and unit.
Value pool_group(const RenderInput& input, const PoolPlan& pool, Members& members) {
  Value hosts = Value::map();
  const model::Cluster& cluster = input.cluster;
  for (std::uint32_t i = 0; i < pool.group->count; ++i) {
    const model::DeviceId id = host_member(*pool.group, i);
    const std::string& name = cluster.name_of(id);
    const model::Device& device = cluster.device(id);
    hosts.put(name, server_variables(input, id));
    if (device.rack != model::kNone<model::RackId>)
      members[ansible_group_name("rack_", cluster.rack(device.rack).name)].push_back(name);
    if (device.unit != model::kNone<model::UnitId>)
      members[ansible_group_name("unit_", unit_name(cluster, device.unit))].push_back(name);
  }
  return Value::map({{"hosts", std::move(hosts)}});
}

void add_switches(const RenderInput& input, Value& groups, Members& members) {
  const model::Cluster& cluster = input.cluster;
  Value hosts = Value::map();
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::network_switch) continue;
    const std::string system(system_of(cluster, group));
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const model::DeviceId id = host_member(group, i);
      const std::string& name = cluster.name_of(id);
      Value variables = Value::map();
      const Ipv4 address = cluster.oob_address(id);
      if (address != Ipv4{}) variables.put("ansible_host", to_text(address));
      variables.put("weft_system", system);
      const model::RackId rack = cluster.device(id).rack;
      if (rack != model::kNone<model::RackId>) variables.put("weft_rack", cluster.rack(rack).name);
      hosts.put(name, std::move(variables));
      members[ansible_group_name("system_", system)].push_back(name);
      members[ansible_group_name("fabric_", model::to_text(group.fabric))].push_back(name);
      members[ansible_group_name("tier_", model::to_text(group.tier))].push_back(name);
      if (rack != model::kNone<model::RackId>)
        members[ansible_group_name("rack_", cluster.rack(rack).name)].push_back(name);
    }
  }
  Value variables = Value::map(
      {{"ansible_user", "{{ lookup('ansible.builtin.env', 'WEFT_SWITCH_USER') | default('admin', true) }}"}});
  if (!input.plan.jump_hosts().empty()) {
    variables.set("weft_proxy", "{{ weft_jump_hosts | first }}");
    variables.set("ansible_ssh_common_args", "-o ProxyJump={{ weft_proxy }}");
  }
  groups.put("switches", Value::map({{"hosts", std::move(hosts)}, {"vars", std::move(variables)}}));
}

// Groups that playbooks refer to exist even if they are empty.
struct PurposeGroups {
  std::vector<std::string> slurm;
  std::vector<std::string> kubernetes;
  std::vector<std::string> storage_servers;
  std::vector<std::string> storage_clients;
};

void add_pools(const RenderInput& input, Value& groups, Members& members) {
  PurposeGroups purpose;
  std::map<std::string, std::vector<std::string>> roles{{"role_login", {}}};
  std::map<std::string, std::vector<std::string>> fabrics;
  std::vector<std::string> all;
  for (const PoolPlan& pool : input.plan.pools()) {
    const std::string name = ansible_group_name("pool_", pool.name());
    all.push_back(name);
    roles[ansible_group_name("role_", host_role_name(pool.spec->role.value))].push_back(name);
    for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage,
                                           model::FabricKind::frontend, model::FabricKind::oob}) {
      if (host_has_fabric(input.cluster, pool, fabric))
        fabrics[ansible_group_name("on_", model::to_text(fabric))].push_back(name);
    }
    if (input.plan.in_slurm(pool)) purpose.slurm.push_back(name);
    if (input.plan.in_kubernetes(pool)) purpose.kubernetes.push_back(name);
    if (pool.spec->role.value == model::PoolRole::storage) purpose.storage_servers.push_back(name);
    if (host_mounts_storage(input, pool)) purpose.storage_clients.push_back(name);
    groups.put(name, pool_group(input, pool, members));
  }
  groups.put("servers", group_of(all));
  for (const auto& [role, children] : roles) groups.put(role, group_of(children));
  for (const auto& [fabric, children] : fabrics) groups.put(fabric, group_of(children));
  groups.put("slurm_nodes", group_of(purpose.slurm));
  groups.put("kubernetes_nodes", group_of(purpose.kubernetes));
  groups.put("storage_servers", group_of(purpose.storage_servers));
  groups.put("storage_clients", group_of(purpose.storage_clients));
}

std::vector<std::string> names_of(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const model::DeviceId id : devices) names.push_back(cluster.name_of(id));
  return names;
}

void add_pdus(const model::Cluster& cluster, Value& groups) {
  Value hosts = Value::map();
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::pdu) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const model::DeviceId id = host_member(group, i);
      Value variables = Value::map();
      if (cluster.oob_address(id) != Ipv4{}) variables.put("ansible_host", to_text(cluster.oob_address(id)));
      hosts.put(cluster.name_of(id), std::move(variables));
    }
  }
  if (!hosts.empty()) groups.put("pdus", Value::map({{"hosts", std::move(hosts)}}));
}

Value cluster_variables(const RenderInput& input) {
  const model::Spec& spec = input.cluster.spec();
  Value jump = Value::list();
  for (const model::DeviceId id : input.plan.jump_hosts()) {
    const Ipv4 address = host_jump_address(input.cluster, id);
    if (address != Ipv4{}) jump.add(to_text(address));
  }
  const auto& jumps = input.plan.jump_hosts();
  return Value::map({{"weft_cluster", input.cluster.name()},
                     {"weft_domain", spec.site->domain.value},
                     {"weft_tree", "{{ inventory_dir | dirname }}"},
                     {"weft_slurm", input.plan.has_slurm()},
                     {"weft_kubernetes", input.plan.has_kubernetes()},
                     {"weft_jump_hosts", std::move(jump)},
                     // Only the jump hosts can reach BMCs.
                     {"weft_bmc_from", jumps.empty() ? std::string("localhost") : input.cluster.name_of(jumps.front())},
                     {"weft_verify_tls", spec.fabrics->oob->bmc->verify_tls.value},
                     {"weft_ipmi_over_lan", spec.fabrics->oob->bmc->ipmi_over_lan.value},
                     {"weft_munge_key_mode", spec.security->munge_key_mode.value},
                     {"weft_backup",
                      "{{ lookup('ansible.builtin.env', 'WEFT_BACKUP') | default(playbook_dir ~ '/backup', true) }}"}});
}

}  // namespace

std::string ansible_group_name(std::string_view prefix, std::string_view text) {
  std::string out(prefix);
  for (const char c : text) out += is_letter_or_digit(c) ? c : '_';
  return out;
}

Value ansible_host_keys(std::vector<std::string> names) {
  Value keys = Value::map();
  const std::string folded = fold_hosts(std::move(names));
  for (std::size_t start = 0; start < folded.size();) {
    std::size_t end = start;
    for (bool inside = false; end < folded.size() && (inside || folded[end] != ','); ++end) {
      if (folded[end] == '[' || folded[end] == ']') inside = folded[end] == '[';
    }
    const std::string_view part = std::string_view(folded).substr(start, end - start);
    const std::size_t open = part.find('[');
    const std::size_t close = part.find(']');
    start = end + 1;
    if (open == std::string_view::npos || close == std::string_view::npos) {
      keys.put(std::string(part), Value::map());
      continue;
    }
    // "001-004,007": Ansible ranges cannot contain lists.
    std::string_view ranges = part.substr(open + 1, close - open - 1);
    while (!ranges.empty()) {
      const std::string_view range = ranges.substr(0, ranges.find(','));
      ranges.remove_prefix(std::min(ranges.size(), range.size() + 1));
      const std::size_t dash = range.find('-');
      const std::string middle = dash == std::string_view::npos
                                     ? std::string(range)
                                     : fmt::format("[{}:{}]", range.substr(0, dash), range.substr(dash + 1));
      keys.put(fmt::format("{}{}{}", part.substr(0, open), middle, part.substr(close + 1)), Value::map());
    }
  }
  return keys;
}

Value ansible_inventory(const RenderInput& input) {
  Value groups = Value::map();
  Members members{{"tier_core", {}}, {"tier_leaf", {}}, {"tier_spine", {}}, {"fabric_oob", {}}};
  add_pools(input, groups, members);
  add_switches(input, groups, members);
  add_pdus(input.cluster, groups);
  groups.put("controllers", group_of_hosts(names_of(input.cluster, input.plan.controllers())));
  groups.put("jump_hosts", group_of_hosts(names_of(input.cluster, input.plan.jump_hosts())));
  for (auto& [name, hosts] : members) groups.put(name, group_of_hosts(std::move(hosts)));
  return Value::map({{"all", Value::map({{"vars", cluster_variables(input)}, {"children", std::move(groups)}})}});
}

namespace {

// Records the files that the host target renders for a pool.
class FileList : public FileSink {
 public:
  void add(RenderedFile file) override {
    if (file.install.empty()) return;
    if (file.install == "/etc/fstab") {
      fstab = file.path;
      return;
    }
    files.add(Value::map({{"src", file.path},
                          {"dest", file.install},
                          {"mode", file.mode},
                          {"owner", file.owner},
                          {"group", file.group},
                          {"apply", file.apply}}));
  }
  void note(std::string /*text*/) override {}

  Value files = Value::list();
  std::string fstab;
};

void set_gateways(const model::Cluster& cluster, const PoolPlan& pool, Value& out) {
  constexpr std::int64_t kIpAndIcmp = 28;  // bytes of both headers
  Value gateways = Value::map();
  Value speeds = Value::map();
  for (const model::PortId id : cluster.ports_of(pool.group->first)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric != model::FabricKind::backend && port.fabric != model::FabricKind::storage) continue;
    const std::string name = cluster.port_name(id);
    if (!host_fabric_is_infiniband(cluster, port.fabric)) speeds.put(name, port.speed_mbps);
    if (port.subnet == model::kNone<model::SubnetId> || !pool.one_subnet) continue;
    const model::Subnet& subnet = cluster.subnet(port.subnet);
    if (subnet.gateway == Ipv4{}) continue;
    const std::int64_t bytes = cluster.data_fabric_spec(port.fabric).mtu.value - kIpAndIcmp;
    gateways.put(name, Value::map({{"gateway", to_text(subnet.gateway)}, {"bytes", bytes}}));
  }
  out.set("weft_speeds", std::move(speeds));
  out.set("weft_gateways", std::move(gateways));
}

}  // namespace

Value ansible_pool_variables(const RenderInput& input, const PoolPlan& pool) {
  FileList base;
  FileList qos;
  FileList storage;
  FileList exports;
  add_sysctl(input, pool, base);
  add_base(input, pool, base);
  add_nic_qos(input, pool, qos);
  add_storage_client(input, pool, storage);
  add_storage_server(input, pool, exports);
  Value out = Value::map({{"weft_pool", pool.name()},
                          {"weft_role", host_role_name(pool.spec->role.value)},
                          {"weft_server", pool.server->id->text},
                          {"weft_gpus", pool.server->gpus.value},
                          {"weft_nvswitch", pool.server->interconnect.value == model::GpuInterconnect::nvswitch},
                          {"weft_in_slurm", input.plan.in_slurm(pool)},
                          {"weft_in_kubernetes", input.plan.in_kubernetes(pool)}});
  set_gateways(input.cluster, pool, out);
  set_way_in(input, pool, out);
  out.set("weft_files", Value::map({{"base", std::move(base.files)},
                                    {"qos", std::move(qos.files)},
                                    {"storage", std::move(storage.files)},
                                    {"exports", std::move(exports.files)},
                                    {"fstab", storage.fstab}}));
  return out;
}

Value ansible_server_variables(const RenderInput& input) {
  FileList base;
  FileList naming;
  add_hosts_file(input, base);
  add_naming(input, naming);
  return Value::map(
      {{"weft_common_files", Value::map({{"base", std::move(base.files)}, {"naming", std::move(naming.files)}})}});
}

}  // namespace weft::render
