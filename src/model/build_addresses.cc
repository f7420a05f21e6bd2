// Address assignment. Every plan depends only on (pool, number in the pool) and the file's subnets, so adding servers
// at the end of a pool renumbers nothing: pools start at points that bisect the space (as RFC 3531 assigns prefixes),
// and grow from there until they would overlap another, which is an error that names both.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/host_range.h"
#include "model/cluster_builder.h"

namespace weft::model {
namespace {

// Slot of the n-th owner out of 2^bits: 0, 1/2, 1/4, 3/4, 1/8, ...
std::uint64_t bisect(std::uint64_t n, unsigned bits) {
  std::uint64_t out = 0;
  for (unsigned b = 0; b < bits; ++b) out |= ((n >> b) & 1U) << (bits - 1 - b);
  return out;
}

// Blocks of one address space, checked for overlap once all are known.
class BlockPlan {
 public:
  BlockPlan(std::uint64_t size, unsigned bits) : size_(size), bits_(bits) {
    while (bits_ > 0 && (size_ >> bits_) == 0) --bits_;
  }

  // Start of the block of owner number `ordinal`, which needs `count` numbers. The first `reserved` numbers of the
  // space are not assigned.
  std::uint64_t add(std::uint64_t ordinal, std::uint64_t count, std::string owner, const SourceLocation& place,
                    std::uint64_t reserved = 0) {
    const std::uint64_t slot = bits_ == 0 ? 0 : bisect(ordinal & ((std::uint64_t{1} << bits_) - 1), bits_);
    const std::uint64_t start = std::max(slot * (size_ >> bits_), reserved);
    blocks_.push_back({start, count, std::move(owner), place});
    return start;
  }

  // The same for pools: pools that run jobs or store data share the first three quarters of the space; the others,
  // which stay small, the last.
  std::uint64_t add_pool(const PoolSpec& pool, std::size_t ordinal, std::uint64_t count, std::uint64_t reserved = 0) {
    const PoolRole role = pool.role.value;
    const bool large = role == PoolRole::training || role == PoolRole::inference || role == PoolRole::storage;
    const std::uint64_t size = large ? size_ - size_ / 4 : size_ / 4;
    unsigned bits = bits_;
    while (bits > 0 && (size >> bits) == 0) --bits;
    const std::uint64_t slot = bits == 0 ? 0 : bisect(ordinal & ((std::uint64_t{1} << bits) - 1), bits);
    std::uint64_t start = (large ? 0 : size_ - size_ / 4) + slot * (size >> bits);
    if (pool.address_offset.has_value()) start = static_cast<std::uint64_t>(pool.address_offset.value);
    start = std::max(start, reserved);
    blocks_.push_back({start, count, pool.name->text, pool.place});
    return start;
  }

  void check(const std::string& space, std::string_view unit, Diagnostics& diagnostics) {
    std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) { return a.start < b.start; });
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      const std::uint64_t limit = i + 1 < blocks_.size() ? blocks_[i + 1].start : size_;
      if (block.start + block.count <= limit) continue;
      const std::string reason = i + 1 < blocks_.size()
                                     ? fmt::format("overlaps the {} of `{}`", unit, blocks_[i + 1].owner)
                                     : fmt::format("exceeds {}", space);
      diagnostics.error(block.place,
                        fmt::format("`{}` needs {} {} from number {} of {} and {}", block.owner, block.count, unit,
                                    block.start, space, reason),
                        "use a larger subnet, or set `address_offset` for one of the pools");
    }
  }

 private:
  struct Block {
    std::uint64_t start;
    std::uint64_t count;
    std::string owner;
    SourceLocation place;
  };
  std::uint64_t size_;
  unsigned bits_;
  std::vector<Block> blocks_;
};

unsigned bits_for(std::uint64_t count) { return static_cast<unsigned>(std::bit_width(count - 1)); }

}  // namespace

// Number of a pool among those of its size class, in file order.
std::size_t ClusterBuilder::pool_ordinal(std::size_t pool) const {
  const auto large = [](PoolRole role) {
    return role == PoolRole::training || role == PoolRole::inference || role == PoolRole::storage;
  };
  std::size_t before = 0;
  for (std::size_t i = 0; i < pool; ++i) {
    before += large(spec_.pools.value[i].role.value) == large(spec_.pools.value[pool].role.value) ? 1U : 0U;
  }
  return before;
}

void ClusterBuilder::assign_addresses() {
  assign_rail_addresses(FabricKind::backend);
  assign_rail_addresses(FabricKind::storage);
  assign_frontend_addresses();
  assign_oob_addresses();
  if (failed()) return;
  assign_switch_numbers();
  assign_link_addresses();
  apply_address_overrides();
}

// Each rail has a subnet; each unit of a pool has a slice of it, routed by its leaf (Ethernet) or just a range of one
// flat subnet (InfiniBand). A host has the same number on every rail.
void ClusterBuilder::assign_rail_addresses(FabricKind kind) {
  const auto slot = static_cast<std::size_t>(kind);
  const FabricSpec& fabric = fabric_spec(kind);
  const std::vector<FabricMember>& members = members_[slot];
  if (members.empty()) return;
  const std::uint32_t rails = rails_[slot];
  const auto planes = static_cast<std::uint32_t>(fabric.planes.value);
  const bool routed = fabric.network.value == NetworkKind::ethernet;
  // Host numbers of a slice: the largest unit, plus network, gateway and broadcast. On the backend also its pods, each
  // of which has a virtual function with its own address; storage is mounted by hosts, and pods that need it use the
  // free addresses of the slice.
  std::uint32_t hosts = 0;
  const auto per_rail = [&](const FabricMember& m) { return (m.links + rails - 1) / rails; };
  const auto pods = [&](const FabricMember& m) -> std::uint32_t {
    const bool has_pods = kind == FabricKind::backend && spec_.control_plane->kind.value != ControlKind::slurm;
    const bool has_gpus = cluster_->groups_[m.group].server->gpus.value > 0;
    return has_pods && has_gpus ? static_cast<std::uint32_t>(spec_.pools.value[m.pool].pods_per_node.value) : 0U;
  };
  const auto per_server = [&](const FabricMember& m) { return per_rail(m) * (1 + pods(m)); };
  for (const FabricMember& member : members) hosts = std::max(hosts, member.address_size * per_server(member));
  const unsigned slice_bits = bits_for(std::uint64_t{hosts} + 3);
  for (std::uint32_t rail = 0; rail < rails; ++rail) {
    const Ipv4Prefix whole = fabric.subnets.value[rail];
    for (std::uint32_t plane = 0; plane < planes; ++plane) {
      const auto plane_bits = static_cast<std::uint8_t>(planes > 1 ? bits_for(planes) : 0);
      const Ipv4Prefix space = whole.sub(static_cast<std::uint8_t>(whole.length + plane_bits), plane);
      const std::uint64_t slices = space.size() >> slice_bits;
      if (slices == 0) {
        diagnostics_.error(fabric.subnets.place.known() ? fabric.subnets.place : fabric.place,
                           fmt::format("{} is too small for a unit of {} hosts on the {} fabric", to_text(space), hosts,
                                       to_text(kind)),
                           "use larger `subnets` or a smaller `unit`");
        return;
      }
      BlockPlan plan(slices, 5);
      SubnetId flat = kNone<SubnetId>;
      if (!routed) {
        Subnet subnet;
        subnet.prefix = space;
        subnet.fabric = kind;
        subnet.rail = static_cast<std::uint8_t>(rail);
        subnet.vlan = 0;
        subnet.name = fmt::format("{}-rail{}{}", short_name(kind), rail + 1,
                                  planes > 1 ? std::string(1, static_cast<char>('a' + plane)) : "");
        flat = static_cast<SubnetId>(cluster_->subnets_.size());
        cluster_->subnets_.push_back(subnet);
      }
      std::map<std::size_t, std::pair<std::uint64_t, SubnetId>> first;  // by pool: slice, subnet
      std::uint64_t after_slices = 0;
      std::vector<std::uint32_t> size_of_pool(spec_.pools->size(), 0);
      for (const FabricMember& member : members) {
        if (first.contains(member.pool)) continue;  // pools repeat on the shared leaves
        size_of_pool[member.pool] = (((1U << slice_bits) - 3) / per_server(member));
        const std::uint32_t each = std::min(size_of_pool[member.pool], member.address_size);
        size_of_pool[member.pool] = each;
        const std::uint32_t count = (cluster_->groups_[member.group].count + each - 1) / each;
        const PoolSpec& pool = spec_.pools.value[member.pool];
        const std::uint64_t start = plan.add_pool(pool, pool_ordinal(member.pool), count);
        first[member.pool] = {start, static_cast<SubnetId>(cluster_->subnets_.size())};
        if (!routed) first[member.pool].second = flat;
        after_slices = std::max(after_slices, start + count);
        for (std::uint32_t u = 0; u < count && routed && start + u < slices; ++u) {
          Subnet subnet;
          subnet.prefix = space.sub(static_cast<std::uint8_t>(32 - slice_bits), start + u);
          subnet.gateway = subnet.prefix.at(1);
          const std::uint64_t after_servers = 2 + std::uint64_t{each} * per_rail(member);
          if (after_servers + 1 < subnet.prefix.size()) {
            subnet.pods_first = subnet.prefix.at(after_servers);
            subnet.pods_last = subnet.prefix.at(subnet.prefix.size() - 2);
          }
          subnet.fabric = kind;
          subnet.rail = static_cast<std::uint8_t>(rail);
          subnet.vlan = static_cast<std::uint16_t>(fabric.vlan.value + rail);
          if (fabric.ipv6.has_value()) {
            subnet.ipv6.base = fabric.ipv6->base;
            subnet.ipv6.base.groups[3] =
                static_cast<std::uint16_t>((rail << 12U) | (plane << 11U) | ((start + u) & 0x7FFU));
            subnet.ipv6.length = 64;
          }
          if (member.unit_size == member.address_size && !member.small)
            subnet.unit = static_cast<UnitId>(member.first_unit + u);
          subnet.name =
              fmt::format("{}-rail{}{}-{}-u{:03}", short_name(kind), rail + 1,
                          planes > 1 ? std::string(1, static_cast<char>('a' + plane)) : "", pool.name->text, u + 1);
          cluster_->subnets_.push_back(std::move(subnet));
        }
      }
      plan.check(fmt::format("{} ({} slices of {} addresses)", to_text(space), slices, 1U << slice_bits), "slices",
                 diagnostics_);
      if (failed()) return;
      // In a flat subnet, pods get the addresses after the last slice.
      if (!routed && after_slices < slices) {
        Subnet& subnet = cluster_->subnets_[index_of(flat)];
        subnet.pods_first = space.at(after_slices << slice_bits);
        subnet.pods_last = space.at(space.size() - 2);
      }
      std::map<std::uint32_t, std::uint32_t> seen;
      for (Port& p : cluster_->ports_) {
        if (p.fabric != kind || p.rail != rail || p.plane != plane) continue;
        const Device& device = cluster_->device(p.device);
        const DeviceGroup& group = cluster_->groups_[device.group];
        if (group.kind != DeviceKind::server || group.manager) continue;
        const auto pool = static_cast<std::size_t>(group.pool);
        const std::uint32_t each = size_of_pool[pool];
        const auto [start, subnet] = first.at(pool);
        const std::uint32_t unit = device.index / each;
        // Ports of one server on one rail, in cage order.
        std::uint32_t k = 0;
        const std::uint32_t links =
            static_cast<std::uint32_t>(kind == FabricKind::backend ? spec_.pools.value[pool].links->backend.value
                                                                   : spec_.pools.value[pool].links->storage.value);
        const std::uint32_t on_rail = (links + rails - 1) / rails;
        if (on_rail > 1) k = seen[index_of(p.device)]++;
        const std::uint64_t host =
            ((start + unit) << slice_bits) + 2 + std::uint64_t{device.index % each} * on_rail + k;
        p.address = space.at(host);
        p.subnet = routed ? static_cast<SubnetId>(index_of(subnet) + unit) : subnet;
      }
    }
  }
}

void ClusterBuilder::assign_frontend_addresses() {
  if (!plan_of(FabricKind::frontend).present) return;
  const FabricSpec& fabric = fabric_spec(FabricKind::frontend);
  const Ipv4Prefix prefix = fabric.subnets->front();
  Subnet subnet;
  subnet.prefix = prefix;
  subnet.gateway = prefix.at(1);
  subnet.fabric = FabricKind::frontend;
  subnet.vlan = static_cast<std::uint16_t>(fabric.vlan.value);
  subnet.name = "fe";
  if (fabric.ipv6.has_value()) {
    subnet.ipv6.base = fabric.ipv6->base;
    subnet.ipv6.length = 64;
  }
  const auto id = static_cast<SubnetId>(cluster_->subnets_.size());
  cluster_->subnets_.push_back(std::move(subnet));
  // The first ten numbers are for gateways, the last eighth for services.
  BlockPlan plan(prefix.size() - prefix.size() / 8, 5);
  std::vector<std::uint64_t> start(spec_.pools->size(), 0);
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    const PoolSpec& pool = spec_.pools.value[i];
    if (pool.links->frontend.value == 0) continue;
    start[i] = plan.add_pool(pool, pool_ordinal(i), static_cast<std::uint64_t>(pool.count.value), 10);
  }
  plan.check(fmt::format("the frontend subnet {}", to_text(prefix)), "addresses", diagnostics_);
  if (failed()) return;
  for (Port& p : cluster_->ports_) {
    if (p.fabric != FabricKind::frontend) continue;
    const Device& device = cluster_->device(p.device);
    const DeviceGroup& group = cluster_->groups_[device.group];
    if (group.kind != DeviceKind::server) continue;
    p.subnet = id;
    // The links of a server are bonded: one address, on the first link.
    if (p.rail == 0) p.address = prefix.at(start[static_cast<std::size_t>(group.pool)] + device.index);
  }
}

void ClusterBuilder::assign_oob_addresses() {
  const OobSpec& oob = spec_.fabrics->oob.value;
  const Ipv4Prefix prefix = oob.subnet.value;
  Subnet subnet;
  subnet.prefix = prefix;
  subnet.gateway = prefix.at(1);
  subnet.fabric = FabricKind::oob;
  subnet.vlan = static_cast<std::uint16_t>(oob.vlan.value);
  subnet.name = "oob";
  const auto id = static_cast<SubnetId>(cluster_->subnets_.size());
  cluster_->subnets_.push_back(std::move(subnet));
  // Eight owners per pool, then the groups without a pool.
  const auto ordinal = [&](const DeviceGroup& group, std::uint32_t index) -> std::uint64_t {
    const auto pool = static_cast<std::uint64_t>(group.pool < 0 ? 0 : group.pool);
    if (group.kind == DeviceKind::server) {
      return group.pool >= 0 ? pool * 8 : 224 + static_cast<std::uint64_t>(group.fabric) * 2 + index % 2;
    }
    if (group.kind == DeviceKind::pdu) {
      if (group.pool < 0) return 255;
      return pool * 8 + (group.name.ends_with("-row-pdu") ? 6 : 5);
    }
    if (group.tier == Tier::leaf && group.pool >= 0) return pool * 8 + 1 + static_cast<std::uint64_t>(group.fabric);
    return 192 + static_cast<std::uint64_t>(group.fabric) * 4 + static_cast<std::uint64_t>(group.tier);
  };
  BlockPlan plan(prefix.size(), 8);
  std::vector<std::uint64_t> start(cluster_->groups_.size(), 0);
  std::uint32_t manager = 0;
  for (std::size_t g = 0; g < cluster_->groups_.size(); ++g) {
    const DeviceGroup& group = cluster_->groups_[g];
    if (group.kind == DeviceKind::external) continue;
    const bool is_pool = group.kind == DeviceKind::server && group.pool >= 0;
    const PoolSpec* pool = is_pool ? &spec_.pools.value[static_cast<std::size_t>(group.pool)] : nullptr;
    const auto each = static_cast<std::uint64_t>(pool != nullptr ? pool->links->oob.value : 1);
    std::uint64_t numbers = group.count;
    if (group.count > 0)
      numbers = std::uint64_t{number_of(static_cast<DeviceId>(index_of(group.first) + group.count - 1))} + 1;
    start[g] = plan.add(ordinal(group, group.manager ? manager++ : 0), numbers * each, group.name,
                        pool != nullptr ? pool->place : spec_.place, 16);
  }
  plan.check(fmt::format("the out-of-band subnet {}", to_text(prefix)), "addresses", diagnostics_);
  if (failed()) return;
  for (Port& p : cluster_->ports_) {
    if (p.fabric != FabricKind::oob) continue;
    const Device& device = cluster_->device(p.device);
    const DeviceGroup& group = cluster_->groups_[device.group];
    if (group.kind == DeviceKind::network_switch && group.fabric == FabricKind::oob) continue;
    if (cluster_->cables_[index_of(p.cable)].role == CableRole::back_to_back) continue;
    const auto each =
        group.pool >= 0 && group.kind == DeviceKind::server
            ? static_cast<std::uint64_t>(spec_.pools.value[static_cast<std::size_t>(group.pool)].links->oob.value)
            : 1U;
    p.subnet = id;
    p.address = prefix.at(start[device.group] + number_of(p.device) * each + p.rail);
  }
  // Out-of-band switches have no separate management port: they are managed over their VLAN interface.
  for (std::uint32_t i = 0; i < cluster_->devices_.size(); ++i) {
    Device& device = cluster_->devices_[i];
    const DeviceGroup& group = cluster_->groups_[device.group];
    if (group.kind == DeviceKind::network_switch && group.fabric == FabricKind::oob) {
      device.loopback = prefix.at(start[device.group] + number_of(static_cast<DeviceId>(i)));
    }
  }
}

// Loopbacks and BGP AS numbers of the data fabrics' switches.
void ClusterBuilder::assign_switch_numbers() {
  for (const FabricKind kind : {FabricKind::backend, FabricKind::storage, FabricKind::frontend}) {
    const FabricSpec& fabric = fabric_spec(kind);
    if (!plan_of(kind).present || fabric.network.value != NetworkKind::ethernet) continue;
    const Ipv4Prefix space = fabric.loopbacks.value;
    BlockPlan plan(space.size(), 5);
    for (std::size_t g = 0; g < cluster_->groups_.size(); ++g) {
      const DeviceGroup& group = cluster_->groups_[g];
      if (group.kind != DeviceKind::network_switch || group.fabric != kind) continue;
      std::uint64_t ordinal = 24 + static_cast<std::uint64_t>(group.tier);
      if (group.tier == Tier::leaf && group.pool >= 0) ordinal = static_cast<std::uint64_t>(group.pool);
      const std::uint64_t start = plan.add(ordinal, group.count, group.name,
                                           fabric.loopbacks.place.known() ? fabric.loopbacks.place : spec_.place, 1);
      for (std::uint32_t n = 0; n < group.count; ++n) {
        const auto id = static_cast<DeviceId>(index_of(group.first) + n);
        Device& device = dev(id);
        if (start + number_of(id) < space.size()) device.loopback = space.at(start + number_of(id));
        // Spines of a pod share an AS number, so that paths through two of them are rejected as loops (RFC 7938,
        // 5.2.1).
        const auto base = static_cast<std::uint64_t>(fabric.asn.value);
        device.asn = static_cast<std::uint32_t>(group.tier == Tier::core    ? base
                                                : group.tier == Tier::spine ? base + 1 + device.pod
                                                                            : base + 100'000 + start + number_of(id));
      }
    }
    plan.check(fmt::format("the loopbacks {}", to_text(space)), "addresses", diagnostics_);
  }
}

// Numbered links between switches: a /31 (RFC 3021) each, by the lower switch's loopback and the link's position on it.
void ClusterBuilder::assign_link_addresses() {
  for (const FabricKind kind : {FabricKind::backend, FabricKind::storage, FabricKind::frontend}) {
    const FabricSpec& fabric = fabric_spec(kind);
    if (plan_of(kind).tiers < 2 || fabric.switch_links.value != LinkAddressing::numbered) continue;
    if (fabric.network.value != NetworkKind::ethernet) {
      diagnostics_.error(fabric.switch_links.place, "InfiniBand links have no addresses");
      continue;
    }
    const Ipv4Prefix space = fabric.switch_link_subnet.value;
    // A block per switch with uplinks, large enough for all of its ports.
    const BitRate speed = plan_of(kind).uplink_speed;
    const std::uint32_t most = std::max(find_mode(*catalog_.switch_model(fabric.leaf.value), speed).ports(),
                                        find_mode(*catalog_.switch_model(fabric.spine.value), speed).ports());
    const unsigned bits = bits_for(std::uint64_t{most}) + 1;
    BlockPlan plan(space.size() >> bits, 5);
    std::vector<std::uint64_t> start(cluster_->groups_.size(), 0);
    for (std::size_t g = 0; g < cluster_->groups_.size(); ++g) {
      const DeviceGroup& group = cluster_->groups_[g];
      if (group.kind != DeviceKind::network_switch || group.fabric != kind || group.tier == Tier::core) continue;
      const std::uint64_t ordinal = group.tier == Tier::leaf && group.pool >= 0
                                        ? static_cast<std::uint64_t>(group.pool)
                                        : 24 + static_cast<std::uint64_t>(group.tier);
      const std::uint64_t numbers =
          std::uint64_t{number_of(static_cast<DeviceId>(index_of(group.first) + group.count - 1))} + 1;
      start[g] = plan.add(ordinal, numbers, group.name, fabric.switch_links.place);
    }
    plan.check(fmt::format("{} ({} blocks of {} links)", to_text(space), space.size() >> bits, 1U << (bits - 1)),
               "blocks", diagnostics_);
    if (failed()) return;
    std::map<std::uint32_t, std::uint64_t> next;
    for (const Cable& cable : cluster_->cables_) {
      if (cable.fabric != kind || (cable.role != CableRole::leaf_spine && cable.role != CableRole::spine_core))
        continue;
      const Port& lower = cluster_->port(cable.a);
      const Device& device = cluster_->device(lower.device);
      const std::uint64_t owner = start[device.group] + number_of(lower.device);
      const std::uint64_t at = (owner << bits) + 2 * next[index_of(lower.device)]++;
      port(cable.a).address = space.at(at);
      port(cable.b).address = space.at(at + 1);
    }
  }
}

void ClusterBuilder::apply_address_overrides() {
  bool any = false;
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    for (const HostOverride& change : spec_.pools.value[i].overrides.value) {
      if (!change.addresses.has_value()) continue;
      auto hosts = expand_hosts(change.hosts.value);
      if (!hosts.ok()) continue;
      if (hosts->size() != 1) {
        diagnostics_.error(change.addresses.place, "addresses must be set per host", "write one override per host");
        continue;
      }
      for (const auto& [name, address] : change.addresses.value) {
        const PortId id = cluster_->find_port(hosts->front() + ":" + name);
        if (id == kNone<PortId>) {
          diagnostics_.error(address.place, fmt::format("`{}` has no cabled port `{}`", hosts->front(), name), {},
                             name.size());
          continue;
        }
        const Subnet& subnet = cluster_->subnet(port(id).subnet);
        const bool taken = address.value == subnet.prefix.base || address.value == subnet.gateway ||
                           address.value == subnet.prefix.at(subnet.prefix.size() - 1);
        if (taken && subnet.prefix.contains(address.value)) {
          diagnostics_.error(address.place,
                             fmt::format("{} is the network, gateway or broadcast address of {}",
                                         to_text(address.value), to_text(subnet.prefix)),
                             {}, name.size());
          continue;
        }
        if (!subnet.prefix.contains(address.value)) {
          diagnostics_.error(address.place,
                             fmt::format("{} is outside {}, the subnet of {}:{}", to_text(address.value),
                                         to_text(subnet.prefix), hosts->front(), name),
                             {}, name.size());
          continue;
        }
        port(id).address = address.value;
        any = true;
      }
    }
  }
  if (!any) return;
  std::map<std::uint32_t, PortId> owner;
  for (std::size_t i = 0; i < cluster_->ports_.size(); ++i) {
    const Port& p = cluster_->ports_[i];
    if (p.address.bits == 0) continue;
    const auto [at, added] = owner.emplace(p.address.bits, static_cast<PortId>(i));
    if (added) continue;
    diagnostics_.error(spec_.pools.place, fmt::format("{} is the address of both {} and {}", to_text(p.address),
                                                      cluster_->full_port_name(at->second),
                                                      cluster_->full_port_name(static_cast<PortId>(i))));
  }
}

}  // namespace weft::model
