#include "render/core/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/host_range.h"
#include "model/lossless.h"

namespace weft::render {
namespace {

constexpr std::size_t kPeers = 2;
// RoCEv2 over IPv4 is the fourth entry of an mlx5 port's GID table: after two link-local ones (v1, v2) and the
// address's v1.
constexpr std::string_view kRoceGidIndex = "3";

RailPlan rail_plan(const model::Cluster& cluster, model::PortId id) {
  const model::Port& port = cluster.port(id);
  RailPlan rail;
  rail.fabric = port.fabric;
  rail.rail = port.rail;
  rail.plane = port.plane;
  rail.interface = cluster.port_name(id);
  rail.rdma_device = "mlx5_" + rail.interface;
  const bool infiniband = cluster.fabric(port.fabric).network == model::NetworkKind::infiniband;
  const bool backend = port.fabric == model::FabricKind::backend;
  const std::string number = rail.interface.substr(backend ? 2 : 3);
  const std::string kind = backend ? (infiniband ? "ib" : "roce") : "sto";
  rail.attachment = kind + "-" + number;
  rail.resource = kind + "_" + number;
  return rail;
}

std::vector<RailPlan> rails_of(const model::Cluster& cluster, model::DeviceId server) {
  std::vector<RailPlan> rails;
  for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
    for (const model::PortId id : cluster.ports_of(server)) {
      if (cluster.port(id).fabric == fabric) rails.push_back(rail_plan(cluster, id));
    }
  }
  for (std::size_t i = 0; i < rails.size(); ++i) rails[i].pod_interface = fmt::format("net{}", i + 1);
  return rails;
}

std::string joined(const std::vector<RailPlan>& rails, model::FabricKind fabric, std::string_view suffix = {}) {
  std::string list;
  for (const RailPlan& rail : rails) {
    if (rail.fabric != fabric) continue;
    if (!list.empty()) list += ',';
    list += rail.rdma_device;
    list += suffix;
  }
  return list;
}

void put(Environment& environment, std::string_view name, std::string value) {
  for (auto& [known, current] : environment) {
    if (known != name) continue;
    current = std::move(value);
    return;
  }
  environment.emplace_back(name, std::move(value));
}

}  // namespace

RenderPlan::RenderPlan(const model::Cluster& cluster) : cluster_(cluster) {
  const model::ControlPlaneSpec& control = cluster.spec().control_plane.value;
  kubernetes_ = control.kind.value != model::ControlKind::slurm;
  slurm_ = control.kind.value != model::ControlKind::kubernetes;
  if (kubernetes_ && slurm_ && control.allocator.value == model::Allocator::slurm)
    pod_scheduler_ = "slurm-bridge-scheduler";
  plan_pools();
  plan_frontend();
}

void RenderPlan::plan_pools() {
  const model::Spec& spec = cluster_.spec();
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.kind != model::DeviceKind::server || group.pool < 0 || group.count == 0) continue;
    PoolPlan pool;
    pool.spec = &spec.pools.value[static_cast<std::size_t>(group.pool)];
    pool.group = &group;
    pool.server = group.server;
    if (group.server->gpus.value > 0) pool.gpu = cluster_.catalog().gpu(group.server->gpu.value);
    pool.rails = rails_of(cluster_, group.first);
    pool.virtual_functions = pool.spec->pods_per_node.value;
    if (pool.gpu != nullptr) pool.gpu_type = pool.gpu->id->text.substr(0, pool.gpu->id->text.find('-'));
    std::vector<std::string> names;
    names.reserve(group.count);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      names.push_back(cluster_.name_of(id));
      if (pool.spec->role.value == model::PoolRole::jump) jump_hosts_.push_back(id);
      if (spec.control_plane->pool.has_value() && pool.name() == spec.control_plane->pool.value)
        controllers_.push_back(id);
    }
    pool.hosts = fold_hosts(std::move(names));
    const auto last = static_cast<model::DeviceId>(model::index_of(group.first) + group.count - 1);
    const auto first_ports = cluster_.ports_of(group.first);
    const auto last_ports = cluster_.ports_of(last);
    for (std::size_t i = 0; i < std::min(first_ports.size(), last_ports.size()); ++i) {
      const model::Port& a = cluster_.port(first_ports[i]);
      if (a.fabric == model::FabricKind::backend && a.subnet != cluster_.port(last_ports[i]).subnet)
        pool.one_subnet = false;
    }
    pools_.push_back(std::move(pool));
  }
}

void RenderPlan::plan_frontend() {
  const model::FabricSpec& frontend = cluster_.data_fabric_spec(model::FabricKind::frontend);
  if (!cluster_.fabric(model::FabricKind::frontend).present) return;
  const Ipv4Prefix prefix = frontend.subnets->front();
  service_addresses_ = {prefix.at(prefix.size() - prefix.size() / 8), prefix.at(prefix.size() - 2)};
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != model::FabricKind::frontend ||
        group.tier != model::Tier::leaf)
      continue;
    for (std::uint32_t i = 0; i < group.count && frontend_peers_.size() < kPeers; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      frontend_peers_.push_back({id, prefix.at(2 + frontend_peers_.size()), cluster_.device(id).asn});
    }
  }
}

const PoolPlan* RenderPlan::pool(std::string_view name) const {
  for (const PoolPlan& pool : pools_) {
    if (pool.name() == name) return &pool;
  }
  return nullptr;
}

bool RenderPlan::in_slurm(const PoolPlan& pool) const {
  if (!slurm_) return false;
  const model::Spec& spec = cluster_.spec();
  for (const model::PartitionSpec& partition : spec.partitions.value) {
    for (const std::string& name : partition.pools.value) {
      if (name == pool.name()) return true;
    }
  }
  // If the file has no partitions, Slurm gets every compute pool.
  const model::PoolRole role = pool.spec->role.value;
  return spec.partitions->empty() &&
         (role == model::PoolRole::training || role == model::PoolRole::inference || role == model::PoolRole::cpu);
}

bool RenderPlan::in_kubernetes(const PoolPlan& pool) const {
  if (!kubernetes_) return false;
  const model::PoolRole role = pool.spec->role.value;
  return role == model::PoolRole::training || role == model::PoolRole::inference ||
         role == model::PoolRole::infrastructure || role == model::PoolRole::cpu;
}

Ipv4 RenderPlan::frontend_address(model::DeviceId server) const {
  for (const model::PortId id : cluster_.ports_of(server)) {
    const model::Port& port = cluster_.port(id);
    if (port.fabric == model::FabricKind::frontend && port.address != Ipv4{}) return port.address;
  }
  return {};
}

Ipv4 RenderPlan::service_address(std::size_t n) const {
  const Ipv4 address{service_addresses_.first.bits + static_cast<std::uint32_t>(n)};
  return address <= service_addresses_.second ? address : Ipv4{};
}

std::string RenderPlan::frontend_interface(const PoolPlan& pool) const {
  std::size_t links = 0;
  for (const model::PortId id : cluster_.ports_of(pool.group->first)) {
    links += cluster_.port(id).fabric == model::FabricKind::frontend ? 1U : 0U;
  }
  return links > 1 && cluster_.data_fabric_spec(model::FabricKind::frontend).bond.value ? "bond-fe" : "fe1";
}

Environment RenderPlan::environment(const PoolPlan& pool, bool in_pod) const {
  Environment out;
  const model::FabricSpec& backend = cluster_.data_fabric_spec(model::FabricKind::backend);
  const bool present = !joined(pool.rails, model::FabricKind::backend).empty();
  put(out, "NCCL_DEBUG", "WARN");
  put(out, "NCCL_SOCKET_IFNAME", in_pod ? "eth0" : frontend_interface(pool));
  if (present) {
    put(out, "NCCL_IB_HCA", joined(pool.rails, model::FabricKind::backend));
    if (backend.network.value == model::NetworkKind::ethernet) {
      put(out, "NCCL_IB_GID_INDEX", std::string(kRoceGidIndex));
      put(out, "NCCL_IB_TC", std::to_string(model::traffic_class_of(static_cast<int>(backend.qos->dscp.value))));
      put(out, "UCX_IB_TRAFFIC_CLASS",
          std::to_string(model::traffic_class_of(static_cast<int>(backend.qos->dscp.value))));
      put(out, "UCX_IB_GID_INDEX", std::string(kRoceGidIndex));
    }
    // Rails cannot reach each other if leaves are not connected by spines.
    put(out, "NCCL_CROSS_NIC",
        backend.wiring.value == model::Wiring::rail_only || backend.wiring.value == model::Wiring::rail_optimized
            ? "0"
            : "2");
    put(out, "NCCL_NET_GDR_LEVEL", "PHB");
    put(out, "UCX_NET_DEVICES", joined(pool.rails, model::FabricKind::backend, ":1"));
  }
  for (const auto& [name, value] : cluster_.spec().workload->environment.value) put(out, name, value.value);
  return out;
}

}  // namespace weft::render
