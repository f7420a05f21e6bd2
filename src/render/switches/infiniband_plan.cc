#include "render/switches/infiniband_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "model/infiniband.h"

namespace weft::render::ib {
namespace {

// GUIDs of the simulator: locally administered (bit 1 of the first byte, IEEE 802), "WEF", then fabric, device and
// adapter.
constexpr std::uint64_t kGuidBase = 0x0257'4546'0000'0000;
constexpr unsigned kFabricShift = 28;
constexpr unsigned kDeviceShift = 8;
constexpr int kFirstPkey = 0x0001;

const model::FabricSpec& spec_of(const model::Cluster& cluster, model::FabricKind kind) {
  const model::FabricsSpec& fabrics = cluster.spec().fabrics.value;
  return kind == model::FabricKind::backend ? fabrics.backend.value : fabrics.storage.value;
}

std::uint64_t guid_of(model::FabricKind kind, model::DeviceId device, std::size_t number) {
  return kGuidBase | (std::uint64_t{static_cast<std::uint8_t>(kind)} + 1) << kFabricShift |
         std::uint64_t{model::index_of(device)} << kDeviceShift | std::uint64_t{number} << 1U;
}

// Pools whose servers a tenant's jobs run on: those of its partitions, or all compute pools.
bool uses_pool(const model::Spec& spec, const model::TenantSpec& tenant, const model::PoolSpec& pool) {
  const model::PoolRole role = pool.role.value;
  if (role != model::PoolRole::training && role != model::PoolRole::inference && role != model::PoolRole::cpu)
    return false;
  if (tenant.partitions->empty()) return true;
  for (const model::PartitionSpec& partition : spec.partitions.value) {
    const auto& names = tenant.partitions.value;
    if (std::find(names.begin(), names.end(), partition.name->text) == names.end()) continue;
    const auto& pools = partition.pools.value;
    if (std::find(pools.begin(), pools.end(), pool.name->text) != pools.end()) return true;
  }
  return false;
}

class Builder {
 public:
  Builder(const RenderInput& input, model::FabricKind kind) : cluster_(input.cluster) {
    fabric_.kind = kind;
    fabric_.spec = &spec_of(cluster_, kind);
    fabric_.plan = &cluster_.fabric(kind);
    tenants_of_pool_.resize(cluster_.spec().pools->size());
    node_of_port_.assign(cluster_.ports().size(), {});
    plan_tenants();
  }

  [[nodiscard]] Fabric build() {
    for (const model::DeviceGroup& group : cluster_.groups()) {
      if (group.kind == model::DeviceKind::network_switch && group.fabric == fabric_.kind)
        each(group, &Builder::add_switch);
    }
    for (const model::DeviceGroup& group : cluster_.groups()) {
      if (group.kind == model::DeviceKind::server) each(group, &Builder::add_server);
    }
    for (const model::Cable& cable : cluster_.cables()) {
      if (cable.fabric == fabric_.kind) join(cable);
    }
    choose_managers();
    if (apart_) fabric_.tenants.clear();
    return std::move(fabric_);
  }

 private:
  struct Place {
    std::uint32_t node = 0;
    int port = 0;  // 0: not on this fabric
  };

  void each(const model::DeviceGroup& group, void (Builder::*add)(model::DeviceId)) {
    for (std::uint32_t i = 0; i < group.count; ++i)
      (this->*add)(static_cast<model::DeviceId>(model::index_of(group.first) + i));
  }

  // Tenants that have servers on this fabric; a single one needs no isolation.
  void plan_tenants() {
    const model::Spec& spec = cluster_.spec();
    std::vector<std::vector<std::uint32_t>> users(spec.pools->size());
    for (std::size_t t = 0; t < spec.tenants->size(); ++t) {
      const model::TenantSpec& tenant = spec.tenants.value[t];
      std::vector<std::size_t> pools;
      for (std::size_t p = 0; p < users.size(); ++p) {
        const model::PoolSpec& pool = spec.pools.value[p];
        const std::int64_t links =
            fabric_.kind == model::FabricKind::backend ? pool.links->backend.value : pool.links->storage.value;
        if (links > 0 && uses_pool(spec, tenant, pool)) pools.push_back(p);
      }
      if (pools.empty()) continue;
      const auto number = static_cast<std::uint32_t>(fabric_.tenants.size());
      for (const std::size_t p : pools) users[p].push_back(number);
      std::string name = tenant.name->text;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      fabric_.tenants.push_back({std::move(name), kFirstPkey + static_cast<int>(number), true});
    }
    if (fabric_.tenants.size() < 2) {
      fabric_.tenants.clear();
      return;
    }
    for (const auto& sharing : users) {
      for (const std::uint32_t tenant : sharing) {
        if (sharing.size() > 1) fabric_.tenants[tenant].first = false;
      }
    }
    tenants_of_pool_ = std::move(users);
    // All tenants use storage: the default partition is sufficient, and servers need not reach each other there.
    apart_ = fabric_.kind == model::FabricKind::storage;
  }

  void add_switch(model::DeviceId id) {
    Node node;
    node.device = id;
    node.description = cluster_.name_of(id);
    node.renamed = node.description;
    node.guid = guid_of(fabric_.kind, id, 0);
    const std::vector<model::PortId> ports = model::infiniband_ports(cluster_, id);
    node.ports = static_cast<int>(ports.size());
    const model::Tier top = fabric_.plan->cores > 0    ? model::Tier::core
                            : fabric_.plan->spines > 0 ? model::Tier::spine
                                                       : model::Tier::leaf;
    node.role = cluster_.group_of(id).tier == top && top != model::Tier::leaf ? Role::root : Role::inner;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i] != model::kNone<model::PortId>) place(ports[i], static_cast<int>(i) + 1);
    }
    fabric_.nodes.push_back(std::move(node));
  }

  void add_server(model::DeviceId id) {
    const std::vector<model::PortId> adapters = model::infiniband_adapters(cluster_, id);
    for (std::size_t i = 0; i < adapters.size(); ++i) {
      if (cluster_.port(adapters[i]).fabric == fabric_.kind) add_adapter(id, adapters[i], i);
    }
  }

  void add_adapter(model::DeviceId id, model::PortId port, std::size_t number) {
    const model::DeviceGroup& group = cluster_.group_of(id);
    Node node;
    node.device = id;
    node.adapter = port;
    node.description = fmt::format("{} mlx5_{}", cluster_.name_of(id), number);
    node.renamed = fmt::format("{} mlx5_{}", cluster_.name_of(id), cluster_.port_name(port));
    node.guid = guid_of(fabric_.kind, id, number + 1);
    if (group.manager) {
      node.role = Role::manager;
    } else {
      const auto pool = static_cast<std::size_t>(group.pool);
      const bool storage = cluster_.spec().pools.value[pool].role.value == model::PoolRole::storage;
      node.role = storage ? Role::io : Role::compute;
      node.tenants = tenants_of_pool_[pool];
    }
    // Limited members of the default partition reach its full members, storage and managers, but not each other.
    const bool own = node.tenants.size() == 1 && fabric_.tenants[node.tenants.front()].first;
    node.full = node.role != Role::compute || !(own || apart_);
    if (apart_) node.tenants.clear();
    // Storage on the backend is a member of every tenant's partition.
    for (std::uint32_t t = 0; node.role == Role::io && !apart_ && t < fabric_.tenants.size(); ++t) {
      node.tenants.push_back(t);
    }
    place(port, 1);
    fabric_.nodes.push_back(std::move(node));
  }

  void place(model::PortId port, int number) {
    node_of_port_[model::index_of(port)] = {static_cast<std::uint32_t>(fabric_.nodes.size()), number};
  }

  void join(const model::Cable& cable) {
    const Place a = node_of_port_[model::index_of(cable.a)];
    const Place b = node_of_port_[model::index_of(cable.b)];
    if (a.port == 0 || b.port == 0) return;
    const model::Port& port = cluster_.port(cable.b);
    fabric_.nodes[a.node].links.push_back({a.port, b.node, b.port, port.speed(), port.lanes});
    fabric_.nodes[b.node].links.push_back({b.port, a.node, a.port, port.speed(), port.lanes});
  }

  // On the fabric's managers; if there are none, on its first two pool servers.
  void choose_managers() {
    const auto collect = [&](bool managers, std::size_t most) {
      for (std::uint32_t i = 0; i < fabric_.nodes.size() && fabric_.managers.size() < most; ++i) {
        const Node& node = fabric_.nodes[i];
        if (node.is_switch() || (node.role == Role::manager) != managers) continue;
        if (!fabric_.managers.empty() && fabric_.managers.back() == node.device) continue;
        if (fabric_.managers.empty()) fabric_.first_sm = i;
        fabric_.managers.push_back(node.device);
      }
    };
    collect(true, 15);
    fabric_.has_managers = !fabric_.managers.empty();
    if (!fabric_.has_managers) collect(false, 2);
  }

  const model::Cluster& cluster_;
  Fabric fabric_;
  std::vector<std::vector<std::uint32_t>> tenants_of_pool_;
  std::vector<Place> node_of_port_;
  bool apart_ = false;  // servers of pools reach only storage
};

}  // namespace

std::string_view to_text(Role role) {
  static constexpr std::string_view kNames[] = {"root", "switch", "compute", "io", "manager"};
  return kNames[static_cast<std::size_t>(role)];
}

bool has_fabric(const model::Cluster& cluster, model::FabricKind kind) {
  const model::FabricPlan& plan = cluster.fabric(kind);
  return plan.present && plan.network == model::NetworkKind::infiniband;
}

Fabric plan_fabric(const RenderInput& input, model::FabricKind kind) { return Builder(input, kind).build(); }

int mtu_code(std::int64_t bytes) {
  int code = 1;  // 256 bytes
  for (std::int64_t size = 256; code < 5 && size < bytes; size *= 2) ++code;
  return code;
}

std::string guid_text(std::uint64_t guid) { return fmt::format("0x{:016x}", guid); }

// Servers with ports on two subnets distinguish them by prefix, so every fabric has its own.
std::string subnet_prefix(model::FabricKind kind) {
  return guid_text(0xfe80'0000'0000'0000 + std::uint64_t{static_cast<std::uint8_t>(kind)});
}

std::string comment_heading(const model::Cluster& cluster, std::string_view what) {
  std::string out = "# ";
  for (const char c : heading(cluster, what)) {
    out += c;
    if (c == '\n') out += "# ";
  }
  return out + "\n";
}

}  // namespace weft::render::ib
