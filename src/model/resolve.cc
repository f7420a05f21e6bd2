// Fills in the defaults that depend on the rest of the file, and checks that every name in it leads somewhere.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/host_range.h"
#include "model/server_ports.h"
#include "model/spec.h"

namespace weft {
namespace {

// "did you mean" over the ids of a catalogue table or the names of a list in the file.
template <class Items, class IdOf>
void unknown_name(const Given<std::string>& given, std::string_view what, const Items& items, IdOf id_of,
                  Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  for (const auto& item : items) names.push_back(id_of(item));
  std::string hint = did_you_mean(given.value, names);
  if (hint.empty() && names.size() <= 12) {
    for (const std::string_view name : names) hint += (hint.empty() ? "known: " : ", ") + std::string(name);
  }
  diagnostics.error(given.place, fmt::format("unknown {} `{}`", what, given.value), std::move(hint), given->size());
}

bool gpu_role(PoolRole role) { return role == PoolRole::training || role == PoolRole::inference; }

class Resolver {
 public:
  Resolver(Spec& spec, const Catalog& catalog, Diagnostics& diagnostics)
      : spec_(spec), catalog_(catalog), diagnostics_(diagnostics) {}

  void run() {
    site();
    pools();
    fabric(spec_.fabrics.value.backend.value, FabricKindIndex::backend);
    fabric(spec_.fabrics.value.storage.value, FabricKindIndex::storage);
    fabric(spec_.fabrics.value.frontend.value, FabricKindIndex::frontend);
    oob();
    subnets_apart();
    storage();
    control_plane();
    scheduling();
    services();
  }

 private:
  enum class FabricKindIndex { backend, storage, frontend };

  void site();
  void pools();
  void pool(PoolSpec& pool);
  void pool_links(PoolSpec& pool, const ServerModel& server);
  void pool_mig(const PoolSpec& pool, const ServerModel& server);
  void pool_overrides(PoolSpec& pool, const ServerModel& server);
  void fabric(FabricSpec& fabric, FabricKindIndex kind);
  void fabric_switches(FabricSpec& fabric, FabricKindIndex kind);
  void fabric_addresses(FabricSpec& fabric, FabricKindIndex kind);
  void fabric_qos(FabricSpec& fabric, FabricKindIndex kind);
  void managers(FabricSpec& fabric);
  void oob();
  void subnets_apart();
  void storage();
  void control_plane();
  void scheduling();
  void services();

  bool check_switch(const Given<std::string>& id) {
    if (catalog_.switch_model(id.value) != nullptr) return true;
    unknown_name(
        id, "switch", catalog_.switches(), [](const SwitchModel& m) { return std::string_view(m.id->text); },
        diagnostics_);
    return false;
  }
  bool check_server(const Given<std::string>& id) {
    if (catalog_.server(id.value) != nullptr) return true;
    unknown_name(
        id, "server", catalog_.servers(), [](const ServerModel& m) { return std::string_view(m.id->text); },
        diagnostics_);
    return false;
  }
  const PoolSpec* find_pool(const Given<std::string>& name) {
    for (const PoolSpec& pool : spec_.pools.value) {
      if (pool.name->text == name.value) return &pool;
    }
    unknown_name(
        name, "pool", spec_.pools.value, [](const PoolSpec& p) { return std::string_view(p.name->text); },
        diagnostics_);
    return nullptr;
  }
  template <class Items>
  void unique_names(const Items& items, std::string_view what) {
    std::set<std::string> seen;
    for (const auto& item : items) {
      if (item.name.has_value() && !seen.insert(item.name->text).second) {
        diagnostics_.error(item.name.place, fmt::format("{} `{}` is defined twice", what, item.name->text), {},
                           item.name->text.size());
      }
    }
  }
  void check_priority(const Given<std::string>& name) {
    if (!name.has_value()) return;
    for (const PrioritySpec& priority : spec_.priorities.value) {
      if (priority.name->text == name.value) return;
    }
    unknown_name(
        name, "priority", spec_.priorities.value, [](const PrioritySpec& p) { return std::string_view(p.name->text); },
        diagnostics_);
  }

  Spec& spec_;
  const Catalog& catalog_;
  Diagnostics& diagnostics_;
};

void Resolver::site() {
  SiteSpec& site = spec_.site.value;
  if (catalog_.rack(site.rack.value) == nullptr) {
    unknown_name(
        site.rack, "rack", catalog_.racks(), [](const RackModel& m) { return std::string_view(m.id->text); },
        diagnostics_);
  }
  if (catalog_.pdu(site.pdu.value) == nullptr) {
    unknown_name(
        site.pdu, "pdu", catalog_.pdus(), [](const PduModel& m) { return std::string_view(m.id->text); }, diagnostics_);
  }
  if (site.row_pitch.value > metres(100) || site.cable_slack.value > metres(100)) {
    diagnostics_.error(site.row_pitch.value > metres(100) ? site.row_pitch.place : site.cable_slack.place,
                       "more than 100m is not a distance between rows, or slack");
  }
  std::set<std::string> seen;
  for (const RackSpec& rack : spec_.racks.value) {
    if (!seen.insert(rack.name.value).second) {
      diagnostics_.error(rack.name.place, fmt::format("rack `{}` is listed twice", rack.name.value), {},
                         rack.name->size());
    }
    if (rack.row.has_value() != rack.position.has_value()) {
      diagnostics_.error(rack.place,
                         fmt::format("rack `{}` needs both `row` and `position`, or neither", rack.name.value));
    }
  }
}

void Resolver::pools() {
  if (spec_.pools->empty()) {
    diagnostics_.error(spec_.pools.place, "a cluster needs at least one pool");
    return;
  }
  if (spec_.pools->size() > 24) {
    diagnostics_.error(spec_.pools.place, fmt::format("{} pools: at most 24 are supported", spec_.pools->size()),
                       "give servers that share a purpose one pool, and use overrides for what differs");
    return;
  }
  unique_names(spec_.pools.value, "pool");
  for (PoolSpec& one : spec_.pools.value) pool(one);
}

void Resolver::pool(PoolSpec& pool) {
  if (!check_server(pool.server)) return;
  const ServerModel& server = *catalog_.server(pool.server.value);
  if (gpu_role(pool.role.value) && server.gpus.value == 0) {
    diagnostics_.error(pool.server.place,
                       fmt::format("pool `{}` is for {}, but {} has no GPUs", pool.name->text, text_of(pool.role.value),
                                   pool.server.value),
                       "give a GPU server, or another `role`", pool.server->size());
  }
  if (pool.role.value == PoolRole::storage && server.kind.value != ServerKind::storage) {
    diagnostics_.error(
        pool.server.place,
        fmt::format("pool `{}` is for storage, but {} is not a storage server", pool.name->text, pool.server.value), {},
        pool.server->size());
  }
  if (pool.hosts.has_value()) {
    auto hosts = expand_hosts(pool.hosts.value);
    if (!hosts.ok()) {
      diagnostics_.error(pool.hosts.place, hosts.error().message, {}, pool.hosts->size());
    } else if (static_cast<std::int64_t>(hosts->size()) < pool.count.value) {
      diagnostics_.error(pool.hosts.place,
                         fmt::format("`hosts` names {} hosts, but `count` is {}", hosts->size(), pool.count.value), {},
                         pool.hosts->size());
    }
  }
  if (pool.racks.has_value() && pool.racks.value != "service") {
    auto racks = expand_hosts(pool.racks.value);
    if (!racks.ok()) diagnostics_.error(pool.racks.place, racks.error().message, {}, pool.racks->size());
  }
  pool.pdus_per_rack.derive(spec_.site->pdus_per_rack.value);
  for (const std::string& taint : pool.taints.value) {
    const std::size_t colon = taint.rfind(':');
    const std::string effect = colon == std::string::npos ? "" : taint.substr(colon + 1);
    if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
      diagnostics_.error(pool.taints.place, fmt::format("taint `{}` has no effect", taint),
                         "write key=value:NoSchedule (or PreferNoSchedule, NoExecute)");
    }
  }
  pool_links(pool, server);
  pool_mig(pool, server);
  pool_overrides(pool, server);
}

void Resolver::pool_links(PoolSpec& pool, const ServerModel& server) {
  const PoolRole role = pool.role.value;
  const bool converged = spec_.profile.value == Profile::converged;
  const auto has = [&](PortUse use) { return port_count(server, use); };
  std::int64_t backend = 0;
  std::int64_t storage = 0;
  std::int64_t frontend = 0;
  if (gpu_role(role)) {
    backend = has(PortUse::backend);
    storage = converged ? std::min<std::int64_t>(2, has(PortUse::storage)) : 0;
    frontend = converged ? std::min<std::int64_t>(2, has(PortUse::frontend)) : 0;
  } else if (role == PoolRole::storage) {
    storage = has(PortUse::storage);
  } else if (role != PoolRole::jump) {
    frontend = std::min<std::int64_t>(2, has(PortUse::frontend));
    const bool mounts =
        role == PoolRole::login || role == PoolRole::cpu || (role == PoolRole::infrastructure && !converged);
    storage = mounts ? std::min<std::int64_t>(2, has(PortUse::storage)) : 0;
  }
  LinksSpec& links = pool.links.value;
  links.backend.derive(backend);
  links.storage.derive(storage);
  links.frontend.derive(frontend);
  links.oob.derive(role == PoolRole::jump ? std::min<std::int64_t>(2, has(PortUse::oob)) : 1);
  const auto check = [&](const Given<std::int64_t>& given, PortUse use) {
    if (given.value <= has(use)) return;
    diagnostics_.error(given.place, fmt::format("pool `{}` asks for {} {} ports, but {} has {}", pool.name->text,
                                                given.value, text_of(use), pool.server.value, has(use)));
  };
  check(links.backend, PortUse::backend);
  check(links.storage, PortUse::storage);
  check(links.frontend, PortUse::frontend);
  check(links.oob, PortUse::oob);
}

void Resolver::pool_mig(const PoolSpec& pool, const ServerModel& server) {
  const GpuModel* gpu = server.gpus.value > 0 ? catalog_.gpu(server.gpu.value) : nullptr;
  if (!pool.mig.has_value()) return;
  if (gpu == nullptr || !gpu->mig.has_value()) {
    diagnostics_.error(pool.mig.place, fmt::format("{} has no GPU with MIG", pool.server.value),
                       "share GPUs with `time_slices` instead");
    return;
  }
  std::vector<std::string_view> names;
  for (const MigProfile& profile : gpu->mig.value) names.push_back(profile.name.value);
  std::int64_t compute = 0;
  std::int64_t memory = 0;
  for (const auto& [name, count] : pool.mig.value) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      diagnostics_.error(count.place, fmt::format("{} has no MIG profile `{}`", gpu->id->text, name),
                         did_you_mean(name, names), name.size());
      continue;
    }
    if (count.value < 1) {
      diagnostics_.error(count.place, fmt::format("`{}` needs at least one instance", name), {}, name.size());
      continue;
    }
    const MigProfile& profile = gpu->mig.value[static_cast<std::size_t>(found - names.begin())];
    compute += profile.compute.value * std::min<std::int64_t>(count.value, 9);
    memory += profile.memory_slices.value * std::min<std::int64_t>(count.value, 9);
  }
  if (compute > 7) {
    diagnostics_.error(pool.mig.place, fmt::format("these instances need {} of 7 compute slices", compute));
  } else if (memory > 8) {
    diagnostics_.error(pool.mig.place, fmt::format("these instances need {} of 8 memory slices", memory));
  }
}

void Resolver::pool_overrides(PoolSpec& pool, const ServerModel& server) {
  for (const HostOverride& change : pool.overrides.value) {
    auto hosts = expand_hosts(change.hosts.value);
    if (!hosts.ok()) diagnostics_.error(change.hosts.place, hosts.error().message, {}, change.hosts->size());
    if (!change.server.has_value() || !check_server(change.server)) continue;
    const ServerModel& other = *catalog_.server(change.server.value);
    for (const PortUse use : {PortUse::backend, PortUse::storage, PortUse::frontend, PortUse::oob}) {
      const PortGroup* mine = port_group(server, use);
      const PortGroup* theirs = port_group(other, use);
      const bool same =
          (mine == nullptr) == (theirs == nullptr) &&
          (mine == nullptr || (mine->count.value == theirs->count.value && mine->form.value == theirs->form.value &&
                               mine->per_cage.value == theirs->per_cage.value));
      if (!same) {
        diagnostics_.error(
            change.server.place,
            fmt::format("{} has other {} ports than {}", change.server.value, text_of(use), pool.server.value),
            "servers with other ports need a pool of their own", change.server->size());
      }
    }
    if (other.height.value > server.height.value) {
      diagnostics_.error(change.server.place,
                         fmt::format("{} is taller than {}", change.server.value, pool.server.value),
                         "taller servers need a pool of their own", change.server->size());
    }
  }
}

void Resolver::fabric(FabricSpec& fabric, FabricKindIndex kind) {
  // The backend's stays open: without a wish of the file, a small one may stand on a single switch.
  if (kind == FabricKindIndex::frontend) fabric.wiring.derive(Wiring::pairs);
  if (kind == FabricKindIndex::storage) fabric.wiring.derive(Wiring::rail_optimized);
  if (kind == FabricKindIndex::frontend && fabric.wiring.value != Wiring::pairs) {
    diagnostics_.error(fabric.wiring.place, "the frontend is wired in `pairs`", "rails are for backend and storage");
  }
  if (kind != FabricKindIndex::frontend && fabric.wiring.value == Wiring::pairs) {
    diagnostics_.error(fabric.wiring.place, "`pairs` bond two links of a server: RDMA rails are never bonded",
                       "use rail-optimized, rail-only, tor or dual-tor");
  }
  if (kind != FabricKindIndex::backend && fabric.planes.value != 1) {
    diagnostics_.error(fabric.planes.place, "only the backend can have several planes");
  }
  if (kind == FabricKindIndex::frontend && fabric.network.value != NetworkKind::ethernet) {
    diagnostics_.error(fabric.network.place, "the frontend is Ethernet");
  }
  if (!fabric.uplinks.has_value()) {
    fabric.oversubscription.derive(kind == FabricKindIndex::frontend ? Ratio{3, 1} : Ratio{1, 1});
  }
  fabric.storage_oversubscription.derive(Ratio{1, 1});
  if (fabric.uplinks.from_file() && fabric.oversubscription.from_file()) {
    diagnostics_.error(fabric.uplinks.place, "give `uplinks` or `oversubscription`, not both");
  }
  fabric.media.derive({MediumKind::dac, MediumKind::aoc, MediumKind::fibre});
  fabric.storage_media.derive(fabric.media.value);
  if (fabric.media->empty() || fabric.storage_media->empty()) {
    diagnostics_.error(fabric.media->empty() ? fabric.media.place : fabric.storage_media.place,
                       "`media` needs at least one kind of cable");
  }
  fabric_switches(fabric, kind);
  fabric_addresses(fabric, kind);
  fabric_qos(fabric, kind);
  managers(fabric);
}

void Resolver::fabric_switches(FabricSpec& fabric, FabricKindIndex kind) {
  std::string leaf = "sn4600c";
  if (kind != FabricKindIndex::frontend) {
    leaf = fabric.network.value == NetworkKind::infiniband ? "qm9700" : "sn5600";
    if (fabric.network.value == NetworkKind::infiniband && fabric.speed.has_value() &&
        fabric.speed.value > gigabits(400)) {
      leaf = "q3400";
    }
  }
  fabric.leaf.derive(std::move(leaf));
  fabric.spine.derive(fabric.leaf.value);
  fabric.core.derive(fabric.spine.value);
  for (const Given<std::string>* id : {&fabric.leaf, &fabric.spine, &fabric.core}) {
    if (!check_switch(*id)) return;  // the others may only repeat it
    const SwitchModel& model = *catalog_.switch_model(id->value);
    if (model.network.value != fabric.network.value) {
      diagnostics_.error(id->place.known() ? id->place : fabric.place,
                         fmt::format("{} is an {} switch, but the fabric is {}", id->value,
                                     text_of(model.network.value), text_of(fabric.network.value)),
                         {}, id->value.size());
      return;
    }
  }
}

void Resolver::fabric_addresses(FabricSpec& fabric, FabricKindIndex kind) {
  const bool infiniband = fabric.network.value == NetworkKind::infiniband;
  const auto prefix = [](unsigned second, unsigned third, std::uint8_t length) {
    return Ipv4Prefix{Ipv4{(10U << 24U) | (second << 16U) | (third << 8U)}, length};
  };
  const auto index = static_cast<unsigned>(kind);
  std::vector<Ipv4Prefix> subnets;
  if (kind == FabricKindIndex::backend) {
    for (unsigned rail = 0; rail < 10; ++rail) subnets.push_back(prefix(60 + rail, 0, 16));
    fabric.mtu.derive(infiniband ? 4096 : 9000);
    fabric.vrf.derive(Name{"backend"});
    fabric.vlan.derive(600);
  } else if (kind == FabricKindIndex::storage) {
    subnets = {prefix(70, 0, 16), prefix(71, 0, 16)};
    fabric.mtu.derive(infiniband ? 4096 : 9000);
    fabric.vrf.derive(Name{"storage"});
    fabric.vlan.derive(700);
  } else {
    subnets = {prefix(20, 50, 24)};
    fabric.mtu.derive(1500);
    fabric.vrf.derive(Name{"frontend"});
    fabric.vlan.derive(200);
  }
  fabric.subnets.derive(std::move(subnets));
  if (fabric.subnets->empty()) diagnostics_.error(fabric.subnets.place, "a fabric needs at least one subnet");
  if (kind == FabricKindIndex::frontend && fabric.subnets->size() != 1) {
    diagnostics_.error(fabric.subnets.place, "the frontend has one subnet");
  }
  for (const Ipv4Prefix& subnet : fabric.subnets.value) {
    if (subnet.length < 8 || subnet.length > 28) {
      diagnostics_.error(fabric.subnets.place, fmt::format("{}: a subnet is between /8 and /28", to_text(subnet)));
    }
  }
  if (fabric.ipv6.has_value() && fabric.ipv6->length > 48) {
    diagnostics_.error(fabric.ipv6.place,
                       fmt::format("a fabric needs a /48 or shorter, not a /{}", fabric.ipv6->length));
  }
  fabric.loopbacks.derive(prefix(252 + index, 0, 16));
  fabric.switch_link_subnet.derive(kind == FabricKindIndex::backend ? Ipv4Prefix{Ipv4{(100U << 24U) | (64U << 16U)}, 10}
                                   : kind == FabricKindIndex::storage ? prefix(192, 0, 11)
                                                                      : prefix(224, 0, 13));
  fabric.asn.derive(4'200'000'000 + static_cast<std::int64_t>(index) * 1'000'000);
}

void Resolver::fabric_qos(FabricSpec& fabric, FabricKindIndex kind) {
  QosSpec& qos = fabric.qos.value;
  if (kind == FabricKindIndex::frontend) {
    if (!qos.lossless.from_file()) {
      qos.lossless.value = false;
      qos.lossless.origin = Origin::derived;
    }
    return;
  }
  const bool backend = kind == FabricKindIndex::backend;
  qos.priority.derive(backend ? 3 : 4);
  qos.dscp.derive(backend ? 26 : 34);
  if (qos.ecn_min.has_value() && qos.ecn_max.has_value() && qos.ecn_min.value >= qos.ecn_max.value) {
    diagnostics_.error(qos.ecn_min.place, fmt::format("ecn_min ({}) must be below ecn_max ({})",
                                                      to_text(qos.ecn_min.value), to_text(qos.ecn_max.value)));
  }
  if (qos.priority.value == qos.cnp_priority.value) {
    diagnostics_.error(qos.priority.from_file() ? qos.priority.place : qos.cnp_priority.place,
                       fmt::format("data and congestion notifications share priority {}", qos.priority.value),
                       "notifications must pass when data is paused");
  }
}

void Resolver::managers(FabricSpec& fabric) {
  unique_names(fabric.managers.value, "manager");
  for (const ManagerSpec& manager : fabric.managers.value) {
    if (!check_server(manager.server)) continue;
    const ServerModel& server = *catalog_.server(manager.server.value);
    if (manager.ports.value > port_count(server, PortUse::backend)) {
      diagnostics_.error(manager.ports.place.known() ? manager.ports.place : manager.place,
                         fmt::format("{} has {} fabric ports, not {}", manager.server.value,
                                     port_count(server, PortUse::backend), manager.ports.value));
    }
    if (manager.back_to_back.value && (manager.count.value % 2 != 0 || port_count(server, PortUse::oob) < 2)) {
      diagnostics_.error(manager.back_to_back.place,
                         "back-to-back needs an even count and a second management port on the appliance");
    }
    for (const PoolSpec& pool : spec_.pools.value) {
      if (pool.name.value == manager.name.value) {
        diagnostics_.error(manager.name.place, fmt::format("`{}` is a pool already", manager.name->text));
      }
    }
  }
}

void Resolver::oob() {
  OobSpec& oob = spec_.fabrics.value.oob.value;
  oob.subnet.derive(Ipv4Prefix{Ipv4{(10U << 24U) | (128U << 16U)}, 10});
  if (oob.subnet->length < 8 || oob.subnet->length > 26) {
    diagnostics_.error(oob.subnet.place,
                       fmt::format("{}: the out-of-band subnet is between /8 and /26", to_text(oob.subnet.value)));
  }
  for (const Given<std::string>* id : {&oob.leaf, &oob.spine}) {
    if (!check_switch(*id)) continue;
    if (catalog_.switch_model(id->value)->network.value != NetworkKind::ethernet) {
      diagnostics_.error(id->place, fmt::format("{} is not an Ethernet switch", id->value), {}, id->value.size());
    }
  }
}

void Resolver::subnets_apart() {
  struct Named {
    Ipv4Prefix prefix;
    Place place;
    std::string name;
  };
  std::vector<Named> all;
  const auto add = [&](const FabricSpec& fabric, const char* name) {
    for (const Ipv4Prefix& subnet : fabric.subnets.value) all.push_back({subnet, fabric.subnets.place, name});
    all.push_back({fabric.loopbacks.value, fabric.loopbacks.place, std::string(name) + " loopbacks"});
    if (fabric.switch_links.value == LinkAddressing::numbered) {
      all.push_back({fabric.switch_link_subnet.value, fabric.switch_link_subnet.place, std::string(name) + " links"});
    }
  };
  const FabricsSpec& fabrics = spec_.fabrics.value;
  add(fabrics.backend.value, "backend");
  add(fabrics.storage.value, "storage");
  add(fabrics.frontend.value, "frontend");
  all.push_back({fabrics.oob->subnet.value, fabrics.oob->subnet.place, "oob"});
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (!all[i].prefix.overlaps(all[j].prefix)) continue;
      const Named& shown = all[j].place.known() ? all[j] : all[i];
      diagnostics_.error(shown.place, fmt::format("subnets overlap: {} ({}) and {} ({})", to_text(all[i].prefix),
                                                  all[i].name, to_text(all[j].prefix), all[j].name));
    }
  }
}

void Resolver::storage() {
  unique_names(spec_.storage.value, "storage system");
  std::set<std::string> volumes;
  for (StorageSpec& system : spec_.storage.value) {
    if (const PoolSpec* pool = find_pool(system.pool)) {
      if (pool->role.value != PoolRole::storage && system.tier.value != StorageTier::hot) {
        diagnostics_.error(
            system.pool.place,
            fmt::format("pool `{}` is for {}, not for storage", system.pool.value, text_of(pool->role.value)),
            "only a hot tier (node-local drives) runs on other pools", system.pool->size());
      }
      const ServerModel* server = catalog_.server(pool->server.value);
      if (server != nullptr && pool->count.has_value()) {
        const std::int64_t servers = pool->count.value;
        system.targets.derive(servers);
        system.read.derive(ByteRate{server->read->per_second * servers});
        system.write.derive(ByteRate{server->write->per_second * servers});
        system.capacity.derive(
            (system.tier.value == StorageTier::hot ? server->local_nvme.value : server->capacity.value) * servers);
      }
      if (system.targets.has_value()) {
        system.stripe_count.derive(std::min(system.stripe_count.value, system.targets.value));
      }
      if (system.stripe_count.value > system.targets.value && system.targets.has_value() &&
          system.stripe_count.from_file()) {
        diagnostics_.error(system.stripe_count.place, fmt::format("a stripe over {} targets, but there are {}",
                                                                  system.stripe_count.value, system.targets.value));
      }
    }
    for (const VolumeSpec& volume : system.volumes.value) {
      if (!volumes.insert(volume.name->text).second) {
        diagnostics_.error(volume.name.place, fmt::format("volume `{}` is defined twice", volume.name->text), {},
                           volume.name->text.size());
      }
      if (!volume.replicate_to.has_value()) continue;
      bool found = false;
      for (const StorageSpec& other : spec_.storage.value)
        found = found || other.name->text == volume.replicate_to.value;
      if (!found) {
        unknown_name(
            volume.replicate_to, "storage system", spec_.storage.value,
            [](const StorageSpec& s) { return std::string_view(s.name->text); }, diagnostics_);
      } else if (volume.replicate_to.value == system.name->text) {
        diagnostics_.error(volume.replicate_to.place, "a replica on the same system is lost with it", {},
                           volume.replicate_to->size());
      }
    }
  }
}

void Resolver::control_plane() {
  ControlPlaneSpec& control = spec_.control_plane.value;
  if (!control.pool.has_value()) {
    for (const PoolSpec& pool : spec_.pools.value) {
      if (pool.role.value == PoolRole::infrastructure) {
        control.pool.derive(pool.name->text);
        break;
      }
    }
  }
  if (control.pool.has_value()) {
    const PoolSpec* pool = find_pool(control.pool);
    if (pool != nullptr && pool->count.has_value()) {
      if (!control.etcd_members.from_file() && pool->count.value < 3) {
        control.etcd_members.derive(1);
      } else if (control.etcd_members.value > pool->count.value) {
        diagnostics_.error(control.etcd_members.place.known() ? control.etcd_members.place : control.pool.place,
                           fmt::format("{} etcd members on {} servers of pool `{}`", control.etcd_members.value,
                                       pool->count.value, control.pool.value));
      }
    }
  }
  if (control.etcd_members.value % 2 == 0) {
    diagnostics_.error(control.etcd_members.place,
                       fmt::format("{} etcd members have no better quorum than {}", control.etcd_members.value,
                                   control.etcd_members.value - 1),
                       "use an odd number");
  }
  control.allocator.derive(control.kind.value == ControlKind::kubernetes ? Allocator::kubernetes : Allocator::slurm);
}

void Resolver::scheduling() {
  const WorkloadSpec& workload = spec_.workload.value;
  if (workload.training_percent.from_file() && workload.inference_percent.from_file() &&
      workload.training_percent.value + workload.inference_percent.value > 100) {
    diagnostics_.error(workload.inference_percent.place,
                       fmt::format("training and inference add up to {} percent",
                                   workload.training_percent.value + workload.inference_percent.value));
  }
  if (!spec_.priorities.from_file()) {
    const auto make = [](const char* name, std::int64_t value, bool preemptible) {
      PrioritySpec priority;
      priority.name = Given<Name>(Name{name});
      priority.value = Given<std::int64_t>(value);
      priority.preemptible = Given<bool>(preemptible);
      return priority;
    };
    // Values of the source design: inference is never preempted, batch goes first.
    spec_.priorities.derive({make("ai-inference-critical", 1'000'000, false), make("ai-training-high", 500'000, true),
                             make("ai-batch-low", 100'000, true)});
  }
  unique_names(spec_.priorities.value, "priority");
  if (!spec_.partitions.from_file()) {
    std::vector<PartitionSpec> partitions;
    for (const PoolSpec& pool : spec_.pools.value) {
      if (!gpu_role(pool.role.value) && pool.role.value != PoolRole::cpu) continue;
      PartitionSpec partition;
      partition.name = Given<Name>(Name{pool.name->text});
      partition.pools = Given<std::vector<std::string>>({pool.name->text});
      partitions.push_back(std::move(partition));
    }
    spec_.partitions.derive(std::move(partitions));
  }
  unique_names(spec_.partitions.value, "partition");
  for (const PartitionSpec& partition : spec_.partitions.value) {
    if (partition.pools->empty()) diagnostics_.error(partition.pools.place, "a partition needs at least one pool");
    for (const std::string& name : partition.pools.value) {
      Given<std::string> given(name);
      given.place = partition.pools.place;
      find_pool(given);
    }
    check_priority(partition.priority);
  }
  unique_names(spec_.tenants.value, "tenant");
  for (const TenantSpec& tenant : spec_.tenants.value) {
    for (const std::string& name : tenant.partitions.value) {
      bool found = false;
      for (const PartitionSpec& partition : spec_.partitions.value) found = found || partition.name->text == name;
      if (found) continue;
      Given<std::string> given(name);
      given.place = tenant.partitions.place;
      unknown_name(
          given, "partition", spec_.partitions.value,
          [](const PartitionSpec& p) { return std::string_view(p.name->text); }, diagnostics_);
    }
    check_priority(tenant.priority);
  }
}

void Resolver::services() {
  unique_names(spec_.services.value, "service");
  for (ServiceSpec& service : spec_.services.value) {
    const PoolSpec* pool = find_pool(service.pool);
    if (service.tenant.has_value()) {
      bool found = false;
      for (const TenantSpec& tenant : spec_.tenants.value) found = found || tenant.name->text == service.tenant.value;
      if (!found) {
        unknown_name(
            service.tenant, "tenant", spec_.tenants.value,
            [](const TenantSpec& t) { return std::string_view(t.name->text); }, diagnostics_);
      }
    }
    check_priority(service.priority);
    if (service.gpus.has_value() && service.mig.has_value()) {
      diagnostics_.error(service.mig.place, "give `gpus` or `mig`, not both");
    }
    if (!service.mig.has_value()) service.gpus.derive(1);
    if (service.max_replicas.value < service.min_replicas.value) {
      diagnostics_.error(service.max_replicas.place.known() ? service.max_replicas.place : service.min_replicas.place,
                         fmt::format("max_replicas ({}) is below min_replicas ({})", service.max_replicas.value,
                                     service.min_replicas.value));
    }
    if (pool == nullptr || !service.mig.has_value()) continue;
    bool offered = false;
    for (const auto& [profile, count] : pool->mig.value) offered = offered || profile == service.mig.value;
    if (!offered) {
      diagnostics_.error(service.mig.place,
                         fmt::format("pool `{}` offers no MIG profile `{}`", pool->name->text, service.mig.value),
                         "add it under the pool's `mig`", service.mig->size());
    }
  }
}

}  // namespace

void resolve(Spec& spec, const Catalog& catalog, Diagnostics& diagnostics) {
  Resolver(spec, catalog, diagnostics).run();
}

}  // namespace weft
