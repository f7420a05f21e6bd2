// Resolves the floor and the pools: names, counts, ports, MIG, overrides. See resolver.h.
#include <algorithm>

#include "base/host_range.h"
#include "model/resolver.h"
#include "model/server_ports.h"

namespace weft::model {

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
  if (site.row_pitch.value > meters(100) || site.cable_slack.value > meters(100)) {
    diagnostics_.error(site.row_pitch.value > meters(100) ? site.row_pitch.place : site.cable_slack.place,
                       "`row_pitch` and `cable_slack` must be at most 100 m");
  }
  if (const RackModel* rack = catalog_.rack(site.rack.value);
      rack != nullptr && site.row_pitch.value < rack->depth.value) {
    diagnostics_.error(site.row_pitch.place.known() ? site.row_pitch.place : site.place,
                       fmt::format("rows {} apart overlap: {} is {} deep", to_text(site.row_pitch.value),
                                   site.rack.value, to_text(rack->depth.value)));
  }
  site.domain.derive(spec_.name->text + ".internal");
  dns_name(site.domain);
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
                       "use one pool for servers with the same purpose, and overrides for the differences");
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
                       "choose a GPU server or another `role`", pool.server->size());
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
                         fmt::format("`hosts` lists {} hosts, but `count` is {}", hosts->size(), pool.count.value), {},
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
  const auto check = [&](const Sourced<std::int64_t>& given, PortUse use) {
    if (given.value <= has(use)) return;
    diagnostics_.error(given.place, fmt::format("pool `{}` needs {} {} ports, but {} has {}", pool.name->text,
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
    diagnostics_.error(pool.mig.place, fmt::format("{} has no GPU that supports MIG", pool.server.value),
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
            fmt::format("{} has different {} ports than {}", change.server.value, text_of(use), pool.server.value),
            "define a separate pool for servers with other ports", change.server->size());
      }
    }
    if (other.height.value > server.height.value) {
      diagnostics_.error(change.server.place,
                         fmt::format("{} is taller than {}", change.server.value, pool.server.value),
                         "define a separate pool for taller servers", change.server->size());
    }
  }
}

void resolve(Spec& spec, const Catalog& catalog, Diagnostics& diagnostics) {
  Resolver(spec, catalog, diagnostics).run();
}

}  // namespace weft::model
