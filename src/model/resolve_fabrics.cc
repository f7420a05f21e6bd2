// Resolves the four fabrics: switches, addresses, quality of service, managers. See resolver.h.
#include <algorithm>

#include "model/resolver.h"
#include "model/server_ports.h"

namespace weft::model {

void Resolver::fabric(FabricSpec& fabric, FabricKindIndex kind) {
  // The backend's stays unset: unless the file sets it, a small backend may use a single switch.
  if (kind == FabricKindIndex::frontend) fabric.wiring.derive(Wiring::pairs);
  if (kind == FabricKindIndex::storage) fabric.wiring.derive(Wiring::rail_optimized);
  if (kind == FabricKindIndex::frontend && fabric.wiring.value != Wiring::pairs) {
    diagnostics_.error(fabric.wiring.place, "the frontend supports only `pairs` wiring",
                       "rails apply only to backend and storage");
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
    diagnostics_.error(fabric.uplinks.place, "set `uplinks` or `oversubscription`, not both");
  }
  fabric.media.derive({MediumKind::dac, MediumKind::aoc, MediumKind::fibre});
  fabric.storage_media.derive(fabric.media.value);
  if (fabric.media->empty() || fabric.storage_media->empty()) {
    diagnostics_.error(fabric.media->empty() ? fabric.media.place : fabric.storage_media.place,
                       "`media` must list at least one kind of cable");
  }
  fabric_switches(fabric, kind);
  fabric_addresses(fabric, kind);
  fabric_qos(fabric, kind);
  managers(fabric);
  unused_fabric_keys(fabric, kind);
}

// All data fabrics have the same keys, but some keys have a meaning on some of them only.
void Resolver::unused_fabric_keys(const FabricSpec& fabric, FabricKindIndex kind) {
  const auto warn = [&](const auto& given, const char* key, const char* reason) {
    if (given.from_file()) diagnostics_.warning(given.place, fmt::format("`{}` has no effect: {}", key, reason));
  };
  if (kind == FabricKindIndex::frontend) {
    constexpr const char* kStorageLeaves = "the frontend has no leaves of its own for storage servers";
    warn(fabric.storage_breakout, "storage_breakout", kStorageLeaves);
    warn(fabric.storage_oversubscription, "storage_oversubscription", kStorageLeaves);
    warn(fabric.qos->global_pause, "global_pause", "flow control is configured on backend and storage ports only");
    return;
  }
  warn(fabric.peer_links, "peer_links", "only the leaves of the frontend are connected in pairs");
  warn(fabric.external->speed, "speed", "only the frontend is connected to the site network");
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
  for (const Sourced<std::string>* id : {&fabric.leaf, &fabric.spine, &fabric.core}) {
    if (!check_switch(*id)) return;  // the others may be the same error again
    const SwitchModel& model = *catalog_.switch_model(id->value);
    if (model.network.value != fabric.network.value) {
      diagnostics_.error(id->place.known() ? id->place : fabric.place,
                         fmt::format("{} is an {} switch, but the fabric is {}", id->value,
                                     text_of(model.network.value), text_of(fabric.network.value)),
                         {}, id->value.size());
      return;
    }
  }
  check_system(fabric.system, *catalog_.switch_model(fabric.leaf.value), fabric.place);
}

void Resolver::check_system(Sourced<std::string>& system, const SwitchModel& leaf, const SourceLocation& place) {
  const std::vector<std::string>& known = leaf.systems.value;
  if (!known.empty()) system.derive(known.front());
  if (!system.from_file() || std::find(known.begin(), known.end(), system.value) != known.end()) return;
  std::string hint;
  for (const std::string& name : known) hint += (hint.empty() ? "supported: " : ", ") + name;
  diagnostics_.error(system.place.known() ? system.place : place,
                     fmt::format("{} does not run `{}`", leaf.id->text, system.value), std::move(hint), system->size());
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
  fabric.switch_mtu.derive(infiniband || fabric.mtu.value <= 1500 ? fabric.mtu.value : 9216);
  if (kind == FabricKindIndex::frontend && !fabric.default_route.from_file()) fabric.default_route.derive(true);
  if (kind == FabricKindIndex::frontend && !fabric.bond.from_file()) fabric.bond.derive(true);
  for (const std::string& other : fabric.routes_to.value) {
    if (other == "backend" || other == "storage" || other == "frontend" || other == "oob") continue;
    diagnostics_.error(fabric.routes_to.place, fmt::format("unknown fabric `{}`", other),
                       "known: backend, storage, frontend, oob");
  }
  fabric.subnets.derive(std::move(subnets));
  if (fabric.subnets->empty()) diagnostics_.error(fabric.subnets.place, "a fabric must have at least one subnet");
  if (kind == FabricKindIndex::frontend && fabric.subnets->size() != 1) {
    diagnostics_.error(fabric.subnets.place, "the frontend must have exactly one subnet");
  }
  for (const Ipv4Prefix& subnet : fabric.subnets.value) {
    if (subnet.length < 8 || subnet.length > 28) {
      diagnostics_.error(fabric.subnets.place,
                         fmt::format("{}: the prefix length of a subnet must be between /8 and /28", to_text(subnet)));
    }
  }
  if (fabric.ipv6.has_value() && fabric.ipv6->length > 48) {
    diagnostics_.error(fabric.ipv6.place,
                       fmt::format("the IPv6 prefix of a fabric must be /48 or shorter, not /{}", fabric.ipv6->length));
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
  qos.pfc_priorities.derive({qos.priority.value});
  for (const std::int64_t priority : qos.pfc_priorities.value) {
    if (priority < 0 || priority > 7)
      diagnostics_.error(qos.pfc_priorities.place, "a priority must be between 0 and 7");
  }
  if (qos.priority.value == qos.cnp_priority.value) {
    diagnostics_.error(qos.priority.from_file() ? qos.priority.place : qos.cnp_priority.place,
                       fmt::format("data and congestion notifications share priority {}", qos.priority.value),
                       "congestion notifications must not be paused with the data");
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
                         "`back_to_back` needs an even count and a second management port on the appliance");
    }
    for (const PoolSpec& pool : spec_.pools.value) {
      if (pool.name.value == manager.name.value) {
        diagnostics_.error(manager.name.place,
                           fmt::format("the name `{}` is already used by a pool", manager.name->text));
      }
    }
  }
}

void Resolver::oob() {
  OobSpec& oob = spec_.fabrics.value.oob.value;
  oob.subnet.derive(Ipv4Prefix{Ipv4{(10U << 24U) | (128U << 16U)}, 10});
  if (oob.subnet->length < 8 || oob.subnet->length > 26) {
    diagnostics_.error(oob.subnet.place,
                       fmt::format("{}: the prefix length of the out-of-band subnet must be between /8 and /26",
                                   to_text(oob.subnet.value)));
  }
  for (const Sourced<std::string>* id : {&oob.leaf, &oob.spine}) {
    if (!check_switch(*id)) continue;
    if (catalog_.switch_model(id->value)->network.value != NetworkKind::ethernet) {
      diagnostics_.error(id->place, fmt::format("{} is not an Ethernet switch", id->value), {}, id->value.size());
    }
  }
  if (const SwitchModel* leaf = catalog_.switch_model(oob.leaf.value)) check_system(oob.system, *leaf, oob.place);
}

void Resolver::subnets_apart() {
  struct Named {
    Ipv4Prefix prefix;
    SourceLocation place;
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
  // Default subnets of the control plane are not checked for overlap: the cluster may have no control plane.
  const ControlPlaneSpec& control = spec_.control_plane.value;
  if (control.pod_subnet.from_file()) all.push_back({control.pod_subnet.value, control.pod_subnet.place, "pods"});
  if (control.service_subnet.from_file()) {
    all.push_back({control.service_subnet.value, control.service_subnet.place, "services"});
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (!all[i].prefix.overlaps(all[j].prefix)) continue;
      const Named& shown = all[j].place.known() ? all[j] : all[i];
      diagnostics_.error(shown.place, fmt::format("subnets overlap: {} ({}) and {} ({})", to_text(all[i].prefix),
                                                  all[i].name, to_text(all[j].prefix), all[j].name));
    }
  }
}

}  // namespace weft::model
