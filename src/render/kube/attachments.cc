#include "render/kube/attachments.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace weft::render::kube_platform {
namespace {

constexpr std::string_view kCniVersion = "1.0.0";

bool has_pods_range(const model::Subnet& subnet) { return subnet.pods_first != Ipv4{}; }

std::int64_t room_from(const model::Subnet& subnet, std::int64_t first) {
  return std::int64_t{subnet.pods_last.bits} - first + 1;
}

// nv-ipam divides a subnet into blocks from its first address on and skips blocks that are excluded entirely, so the
// first block for pods starts at a multiple of the block size.
std::int64_t first_block(const model::Subnet& subnet, std::int64_t block) {
  const std::int64_t base = std::int64_t{subnet.prefix.base.bits} + 1;
  const std::int64_t before = std::int64_t{subnet.pods_first.bits} - base;
  return base + (before + block - 1) / block * block;
}

std::vector<model::SubnetId> subnets_on(const NodeFolder& host, model::FabricKind fabric) {
  std::vector<model::SubnetId> subnets;
  for (std::size_t i = 0; i < std::min(host.subnets.size(), host.pool->rails.size()); ++i) {
    if (host.pool->rails[i].fabric == fabric) subnets.push_back(host.subnets[i]);
  }
  return subnets;
}

// Neighbors with the same key merged; none if two of them have different subnets on the fabric.
template <class KeyOf>
std::vector<NodeFolder> joined(const std::vector<NodeFolder>& hosts, model::FabricKind fabric, const KeyOf& key_of) {
  std::vector<NodeFolder> folders;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::string key = key_of(i);
    if (folders.empty() || folders.back().name != key) {
      folders.push_back({std::move(key), {fabric}, hosts[i].pool, hosts[i].subnets, {}, {}});
    }
    if (subnets_on(folders.back(), fabric) != subnets_on(hosts[i], fabric)) return {};
    folders.back().hosts.push_back(hosts[i].name);
  }
  return folders;
}

// Neighbors with the same storage subnets, numbered like the subnets: "sto-train-u001".
std::vector<NodeFolder> storage_slices(const std::vector<NodeFolder>& hosts) {
  std::size_t slice = 0;
  return joined(hosts, model::FabricKind::storage, [&](std::size_t i) {
    const bool next = i == 0 || subnets_on(hosts[i - 1], model::FabricKind::storage) !=
                                    subnets_on(hosts[i], model::FabricKind::storage);
    slice += next ? 1U : 0U;
    return fmt::format("sto-{}-u{:03}", hosts[i].pool->name(), slice);
  });
}

}  // namespace

AttachmentPlan::AttachmentPlan(const RenderInput& input) : input_(input), pools_(gpu_pools(input)) {
  survey();
  size_blocks();
  plan_attachments();
  plan_folders();
}

// By port, in the order of PoolPlan::rails.
std::vector<model::SubnetId> AttachmentPlan::subnets_of(model::DeviceId server) const {
  std::vector<model::SubnetId> subnets;
  for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
    for (const model::PortId id : input_.cluster.ports_of(server)) {
      const model::Port& port = input_.cluster.port(id);
      if (port.fabric == fabric) subnets.push_back(port.subnet);
    }
  }
  return subnets;
}

void AttachmentPlan::survey() {
  for (const PoolPlan* pool : pools_) {
    auto& used = used_[pool];
    used.resize(pool->rails.size());
    for (std::uint32_t i = 0; i < pool->group->count; ++i) {
      const auto server = static_cast<model::DeviceId>(model::index_of(pool->group->first) + i);
      const std::vector<model::SubnetId> subnets = subnets_of(server);
      for (std::size_t rail = 0; rail < std::min(subnets.size(), used.size()); ++rail) {
        used[rail].insert(subnets[rail]);
        PodSubnet& subnet = subnets_[subnets[rail]];
        subnet.id = subnets[rail];
        if (subnet.rail == nullptr) subnet.rail = &pool->rails[rail];
        if (subnet.pools.empty() || subnet.pools.back() != pool) subnet.pools.push_back(pool);
        subnet.hosts.push_back(input_.cluster.name_of(server));
        subnet.pods += pool->virtual_functions;
      }
    }
  }
}

// As many addresses per host as the range allows, so that a new pod does not wait for the address of an old one.
void AttachmentPlan::size_blocks() {
  for (auto& [id, use] : subnets_) {
    const model::Subnet& subnet = input_.cluster.subnet(id);
    if (!has_pods_range(subnet)) continue;
    const auto hosts = static_cast<std::int64_t>(use.hosts.size());
    std::int64_t block = room_from(subnet, subnet.pods_first.bits) / hosts;
    while (block > 0 && room_from(subnet, first_block(subnet, block)) / block < hosts) --block;
    use.block = block;
    if (block > 0) use.first = Ipv4{static_cast<std::uint32_t>(first_block(subnet, block))};
  }
}

void AttachmentPlan::plan_attachments() {
  const bool by_host = input_.options["ipam"] == "host-local";
  for (const Space& space : spaces_of(input_)) {
    std::vector<std::pair<const RailPlan*, std::set<model::SubnetId>>>
        rails;  // one network each, in the order of the pools
    for (const PoolPlan* pool : space.pools) {
      for (std::size_t i = 0; i < pool->rails.size(); ++i) {
        const RailPlan& rail = pool->rails[i];
        auto found = std::find_if(rails.begin(), rails.end(),
                                  [&](const auto& known) { return known.first->attachment == rail.attachment; });
        if (found == rails.end()) found = rails.insert(rails.end(), {&rail, {}});
        found->second.insert(used_.at(pool)[i].begin(), used_.at(pool)[i].end());
      }
    }
    for (const auto& [rail, subnets] : rails) {
      const bool one = subnets.size() == 1 && (!by_host || subnets_.at(*subnets.begin()).hosts.size() == 1);
      attachments_.push_back({rail, space.name, one ? *subnets.begin() : model::kNone<model::SubnetId>});
      for (const PoolPlan* pool : space.pools) {
        if (!one) on_nodes_.insert({pool, rail->attachment});
      }
    }
  }
}

std::string AttachmentPlan::folder_of(const PoolPlan& pool, model::DeviceId server) const {
  const model::UnitId unit = input_.cluster.device(server).unit;
  if (unit == model::kNone<model::UnitId> || input_.cluster.units()[model::index_of(unit)].pool < 0) return pool.name();
  return fmt::format("{}-u{:03}", pool.name(), input_.cluster.units()[model::index_of(unit)].index + 1);
}

// One folder per host of a pool.
std::vector<NodeFolder> AttachmentPlan::folders_of(const PoolPlan& pool,
                                                   std::map<model::SubnetId, std::uint32_t>& shares) const {
  std::vector<NodeFolder> hosts;
  for (std::uint32_t i = 0; i < pool.group->count; ++i) {
    const auto server = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
    const std::string& name = input_.cluster.name_of(server);
    NodeFolder host{name, {model::FabricKind::backend, model::FabricKind::storage}, &pool, subnets_of(server), {name},
                    {}};
    for (const model::SubnetId subnet : host.subnets) host.numbers.push_back(shares[subnet]++);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

// Folders per unit, with the networks of both fabrics if all hosts of a unit have the same ones. Slices of the storage
// network may not match the units: then they have folders of their own. With host-local, each host has its own folder.
void AttachmentPlan::plan_folders() {
  if (on_nodes_.empty()) return;
  const bool by_host = input_.options["ipam"] == "host-local";
  std::map<model::SubnetId, std::uint32_t> shares;
  for (const PoolPlan* pool : pools_) {
    std::vector<NodeFolder> hosts = folders_of(*pool, shares);
    const auto unit_of = [&](std::size_t i) {
      return folder_of(
          *pool, static_cast<model::DeviceId>(model::index_of(pool->group->first) + static_cast<std::uint32_t>(i)));
    };
    std::vector<NodeFolder> units = joined(hosts, model::FabricKind::backend, unit_of);
    if (by_host || units.empty()) {
      std::move(hosts.begin(), hosts.end(), std::back_inserter(folders_));
      continue;
    }
    if (!joined(hosts, model::FabricKind::storage, unit_of).empty()) {
      for (NodeFolder& unit : units) unit.fabrics.insert(model::FabricKind::storage);
    } else {
      std::vector<NodeFolder> slices = storage_slices(hosts);
      std::move(slices.begin(), slices.end(), std::back_inserter(units));
    }
    std::move(units.begin(), units.end(), std::back_inserter(folders_));
  }
}

Ipv4Prefix AttachmentPlan::rail_prefix(const RailPlan& rail) const {
  const model::FabricSpec& fabric = input_.cluster.data_fabric_spec(rail.fabric);
  const Ipv4Prefix whole = fabric.subnets.value[rail.rail];
  const auto planes = static_cast<std::uint32_t>(fabric.planes.value);
  if (planes == 1) return whole;
  // Planes halve the rail's prefix, like the subnets themselves.
  return whole.sub(static_cast<std::uint8_t>(whole.length + std::bit_width(planes - 1)), rail.plane);
}

std::string AttachmentPlan::pool_name(const model::Subnet& subnet) { return label_name(subnet.name); }

Value AttachmentPlan::ipam(const RailPlan& rail, model::SubnetId id, std::uint32_t number) const {
  const model::Subnet& subnet = input_.cluster.subnet(id);
  const PodSubnet& use = subnets_.at(id);
  const std::string_view choice = input_.options["ipam"];
  const bool blocks = choice != "whereabouts";
  if (!has_pods_range(subnet) || (blocks && !use.has_room())) return Value::map();
  if (choice == "nv-ipam") return Value::map({{"type", choice}, {"poolName", pool_name(subnet)}});
  Value ipam = Value::map({{"type", choice}});
  if (choice == "host-local") {
    const Ipv4 first{use.first.bits + number * static_cast<std::uint32_t>(use.block)};
    const Ipv4 last{first.bits + static_cast<std::uint32_t>(use.block) - 1};
    ipam.set(
        "ranges",
        Value::list({Value::list({Value::map(
            {{"subnet", to_text(subnet.prefix)}, {"rangeStart", to_text(first)}, {"rangeEnd", to_text(last)}})})}));
  } else {
    ipam.set("range", to_text(subnet.prefix));
    ipam.set("range_start", to_text(subnet.pods_first));
    ipam.set("range_end", to_text(subnet.pods_last));
  }
  // Only to the rail's other units: the pod's default route stays on its primary network.
  if (subnet.gateway != Ipv4{} && rail_prefix(rail) != subnet.prefix) {
    CHECK(rail_prefix(rail).contains(subnet.prefix), "subnet outside its rail");
    ipam.set("routes",
             Value::list({Value::map({{"dst", to_text(rail_prefix(rail))}, {"gw", to_text(subnet.gateway)}})}));
  }
  return ipam;
}

Value AttachmentPlan::meta_plugins(const RailPlan& rail) const {
  Value plugins = Value::list();
  // The subnet manager sets the MTU of an InfiniBand partition.
  if (!on_infiniband(input_, rail.fabric)) {
    plugins.add(Value::map({{"type", "tuning"}, {"mtu", input_.cluster.data_fabric_spec(rail.fabric).mtu.value}}));
  }
  plugins.add(Value::map({{"type", "rdma"}}));
  return plugins;
}

Value AttachmentPlan::config(const RailPlan& rail, model::SubnetId subnet, std::uint32_t number) const {
  const bool infiniband = on_infiniband(input_, rail.fabric);
  Value maker = Value::map({{"type", infiniband ? "ib-sriov" : "sriov"}});
  if (infiniband) maker.set("link_state", "enable");
  if (Value addresses = ipam(rail, subnet, number); !addresses.empty()) maker.set("ipam", std::move(addresses));
  Value plugins = Value::list({std::move(maker)});
  const Value others = meta_plugins(rail);
  for (const Value& plugin : others.items()) plugins.add(plugin);
  return Value::map({{"cniVersion", kCniVersion}, {"name", rail.attachment}, {"plugins", std::move(plugins)}});
}

}  // namespace weft::render::kube_platform
