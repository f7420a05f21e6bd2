// Builds the out-of-band network: service racks for switches and small pools, 1G leaves for every management port, and
// their aggregation. Service racks contain out-of-band leaves, leaves serve the PDUs of service racks, and the frontend
// may carry out-of-band uplinks: the three counts are solved together before anything is placed.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft::model {
// The uplink mode of a leaf: the requested speed, else the fastest above 1G that the far end supports.
PortMode ClusterBuilder::oob_up_mode(const SwitchModel& model) const {
  const OobSpec& oob = spec_.fabrics->oob.value;
  if (oob.uplink_speed.has_value()) return find_mode(model, oob.uplink_speed.value);
  const SwitchModel& far = *catalog_.switch_model(
      oob.uplink_to_frontend.value ? fabric_spec(FabricKind::frontend).leaf.value : oob.spine.value);
  const SwitchModel& leaf = *catalog_.switch_model(oob.leaf.value);
  BitRate best(0);
  for (const CageGroup& cages : leaf.cages.value) {
    for (const Breakout& mode : cages.breakouts.value) {
      if (mode.speed > gigabits(1) && mode.speed > best && find_mode(far, mode.speed).cages != nullptr)
        best = mode.speed;
    }
  }
  return find_mode(model, best);
}

std::uint32_t ClusterBuilder::oob_leaves_needed(std::uint32_t endpoints) const {
  const OobSpec& oob = spec_.fabrics->oob.value;
  const std::uint32_t ports = find_mode(*catalog_.switch_model(oob.leaf.value), gigabits(1)).ports();
  const std::uint32_t usable = std::max(1U, ports * static_cast<std::uint32_t>(100 - oob.spare_percent.value) / 100);
  return divide_up(endpoints, usable);
}

// Aggregation switches come in pairs; with more than one pair, a pair of cores connects them.
std::uint32_t ClusterBuilder::oob_spines_needed(std::uint32_t leaves, std::uint32_t& cores) const {
  const OobSpec& oob = spec_.fabrics->oob.value;
  cores = 0;
  if (oob.uplink_to_frontend.value || leaves <= 1) return 0;
  const std::uint32_t ports = oob_up_mode(*catalog_.switch_model(oob.spine.value)).ports();
  const std::uint32_t each = divide_up(static_cast<std::uint32_t>(oob.uplinks.value), 2);
  const std::uint32_t sides = oob.uplinks.value > 1 ? 2 : 1;
  if (ports < 3) return 0;
  std::uint32_t pairs = divide_up(leaves * each, ports);
  if (pairs > 1) {
    pairs = divide_up(leaves * each, ports - 2);
    cores = 2;
  }
  return pairs * sides;
}

void ClusterBuilder::make_zones() {
  const bool by_row = spec_.site->switches.value == SwitchPlacement::row;
  zones_.emplace_back();
  std::map<std::pair<int, std::int32_t>, std::size_t> zone_of_row;
  rack_zone_pool_.assign(cluster_->racks_.size(), -1);
  for (std::size_t r = 0; r < cluster_->racks_.size(); ++r) {
    const Rack& rack = cluster_->racks_[r];
    std::size_t zone = 0;
    if (by_row) {
      const auto [at, added] = zone_of_row.try_emplace({rack.pool, rack.row}, zones_.size());
      if (added) {
        zones_.emplace_back();
        zones_.back().pool = rack.pool;
        zones_.back().row = rack.row;
      }
      zone = at->second;
    }
    zones_[zone].server_racks.push_back(static_cast<RackId>(r));
    zones_[zone].oob_endpoints +=
        rack.pdus * static_cast<std::uint32_t>(catalog_.pdu(spec_.site->pdu.value)->management_ports.value);
  }
  const auto zone_of_rack = [&](RackId rack) {
    const Rack& at = cluster_->rack(rack);
    return by_row ? zone_of_row.at({at.pool, at.row}) : std::size_t{0};
  };
  for (std::size_t i = 0; i < cluster_->devices_.size(); ++i) {
    const auto id = static_cast<DeviceId>(i);
    const DeviceGroup& group = cluster_->group_of(id);
    std::size_t zone = 0;
    if (group.kind == DeviceKind::server) {
      const Device& device = cluster_->device(id);
      const std::size_t home = device.rack != kNone<RackId> ? zone_of_rack(device.rack) : 0;
      if (group.pool >= 0) zones_[home].servers.push_back(id);
      const auto ports =
          group.pool >= 0
              ? static_cast<std::uint32_t>(spec_.pools.value[static_cast<std::size_t>(group.pool)].links->oob.value)
              : 1U;
      if (device.rack != kNone<RackId>) {
        zones_[zone_of_rack(device.rack)].oob_endpoints += ports;
        continue;
      }
      zones_[0].oob_endpoints += ports;
    } else if (group.kind == DeviceKind::network_switch) {
      // A leaf is in the row of its unit's first server; spines and cores are in the central zone.
      const Device& device = cluster_->device(id);
      if (group.tier == Tier::leaf && group.pool >= 0 && device.unit != kNone<UnitId>) {
        const Unit& unit = cluster_->units_[index_of(device.unit)];
        const DeviceGroup& servers = cluster_->groups_[pool_groups_[static_cast<std::size_t>(group.pool)]];
        const auto first = static_cast<DeviceId>(index_of(servers.first) + unit.index * unit.capacity);
        if (cluster_->device(first).rack != kNone<RackId>) zone = zone_of_rack(cluster_->device(first).rack);
      }
      zones_[zone].oob_endpoints +=
          static_cast<std::uint32_t>(std::min<std::int64_t>(1, group.network_switch->management_ports.value));
    } else {
      continue;
    }
    zones_[zone].devices.push_back(id);
  }
}

std::uint32_t ClusterBuilder::units_needed(const Zone& zone) const {
  std::int64_t units = 0;
  for (const DeviceId id : zone.devices) {
    const DeviceGroup& group = cluster_->group_of(id);
    units +=
        group.kind == DeviceKind::server ? cluster_->server_of(id).height.value : group.network_switch->height.value;
  }
  units += std::int64_t{zone.oob_leaves} * catalog_.switch_model(spec_.fabrics->oob->leaf.value)->height.value;
  return static_cast<std::uint32_t>(units);
}

// Members of the control plane's quorum are in separate racks if the pool is in the service racks.
std::uint32_t ClusterBuilder::racks_for_quorum() const {
  const ControlPlaneSpec& control = spec_.control_plane.value;
  for (std::size_t i = 0; i < spec_.pools->size(); ++i) {
    const PoolSpec& pool = spec_.pools.value[i];
    if (!control.pool.has_value() || pool.name->text != control.pool.value || !pool_in_service_racks_[i]) continue;
    return static_cast<std::uint32_t>(std::min(control.etcd_members.value, pool.count.value));
  }
  return 0;
}

void ClusterBuilder::size_zones() {
  const OobSpec& oob = spec_.fabrics->oob.value;
  const FabricSpec& frontend = fabric_spec(FabricKind::frontend);
  const SwitchModel& leaf = *catalog_.switch_model(oob.leaf.value);
  if (find_mode(leaf, gigabits(1)).ports() == 0) {
    diagnostics_.error(oob.leaf.place, fmt::format("{} has no 1G ports", oob.leaf.value), "out-of-band is 1G copper",
                       oob.leaf->size());
    return;
  }
  const PortMode up = oob_up_mode(leaf);
  const auto rack_height = static_cast<std::uint32_t>(catalog_.rack(spec_.site->rack.value)->height.value);
  const auto pdu_ports = static_cast<std::uint32_t>(catalog_.pdu(spec_.site->pdu.value)->management_ports.value);
  const auto pdus = static_cast<std::uint32_t>(spec_.site->service_rack_pdus.value);
  std::uint32_t leaves = 0;
  for (int round = 0; round < 32; ++round) {
    frontend_size_ = size_frontend(leaves);
    if (failed()) return;
    std::uint32_t cores = 0;
    const std::uint32_t spines = oob_spines_needed(leaves, cores);
    std::uint32_t total = 0;
    bool changed = false;
    const std::vector<std::size_t>& pair_zone = frontend_size_.pair_zone;
    for (std::size_t z = 0; z < zones_.size(); ++z) {
      Zone& zone = zones_[z];
      std::uint32_t units = units_needed(zone);
      std::uint32_t endpoints = zone.oob_endpoints + zone.racks * pdus * pdu_ports;
      const SwitchModel& fe_leaf = *catalog_.switch_model(frontend.leaf.value);
      const auto fe_leaves = 2 * static_cast<std::uint32_t>(std::count(pair_zone.begin(), pair_zone.end(), z));
      units += fe_leaves * static_cast<std::uint32_t>(fe_leaf.height.value);
      endpoints += fe_leaves * static_cast<std::uint32_t>(std::min<std::int64_t>(1, fe_leaf.management_ports.value));
      if (z == 0) {
        const SwitchModel& fe_spine = *catalog_.switch_model(frontend.spine.value);
        const ClosPlan& above = frontend_size_.plan;
        const std::uint32_t fe_above =
            above.uplinks.empty() ? 0 : above.spines() + (above.tiers == 3 ? above.cores() : 0);
        units += fe_above * static_cast<std::uint32_t>(fe_spine.height.value) +
                 (spines + cores) * static_cast<std::uint32_t>(catalog_.switch_model(oob.spine.value)->height.value);
        endpoints += fe_above * static_cast<std::uint32_t>(std::min<std::int64_t>(1, fe_spine.management_ports.value));
      }
      // Two units per rack are reserved for the gaps of round-robin placement.
      std::uint32_t racks = divide_up(units, rack_height - 2);
      if (z == 0) racks = std::max(racks, racks_for_quorum());
      if (z == 0 && spec_.site->service_racks.has_value()) {
        racks = static_cast<std::uint32_t>(spec_.site->service_racks.value);
        if (racks * rack_height < units) {
          diagnostics_.error(spec_.site->service_racks.place,
                             fmt::format("{} service racks have {}U, but switches and small pools need {}U", racks,
                                         racks * rack_height, units));
          return;
        }
      }
      const std::uint32_t needed = oob_leaves_needed(endpoints);
      // Counts only grow, so this converges.
      changed = changed || racks > zone.racks || needed > zone.oob_leaves;
      zone.racks = std::max(zone.racks, racks);
      zone.oob_leaves = std::max(zone.oob_leaves, needed);
      total += zone.oob_leaves;
    }
    changed = changed || total != leaves;
    leaves = total;
    if (!changed) break;
  }
  if ((leaves > 1 || oob.uplink_to_frontend.value) &&
      (up.cages == nullptr || up.ports() < static_cast<std::uint32_t>(oob.uplinks.value))) {
    diagnostics_.error(oob.leaf.place.known() ? oob.leaf.place : spec_.place,
                       fmt::format("{} has no {} uplinks that fit a port of {}", oob.leaf.value, oob.uplinks.value,
                                   oob.uplink_to_frontend.value ? frontend.leaf.value : oob.spine.value));
  }
}

void ClusterBuilder::add_oob_leaves() {
  // One group for the central zone and one per pool's rows, so that growth of one renumbers no other.
  const SwitchModel* model = catalog_.switch_model(spec_.fabrics->oob->leaf.value);
  for (int pool = -1; pool < static_cast<int>(spec_.pools->size()); ++pool) {
    std::uint32_t group_id = UINT32_MAX;
    for (Zone& zone : zones_) {
      if (zone.pool != pool) continue;
      if (group_id == UINT32_MAX) {
        DeviceGroup group;
        group.name = pool < 0
                         ? "oob-leaf"
                         : fmt::format("oob-{}-leaf", spec_.pools.value[static_cast<std::size_t>(pool)].name->text);
        group.kind = DeviceKind::network_switch;
        group.fabric = FabricKind::oob;
        group.tier = Tier::leaf;
        group.pool = pool;
        group.network_switch = model;
        group_id = add_group(std::move(group));
      }
      zone.first_oob_leaf = static_cast<std::uint32_t>(oob_leaves_.size());
      for (std::uint32_t n = 0; n < zone.oob_leaves; ++n) {
        const std::string name =
            pool < 0 ? fmt::format("oob-leaf{:03}", n + 1)
                     : fmt::format("oob-{}-row{:02}-leaf{}",
                                   spec_.pools.value[static_cast<std::size_t>(pool)].name->text, zone.row + 1, n + 1);
        oob_leaves_.push_back(add_device(group_id, name));
        if (pool >= 0) {
          row_number_[index_of(oob_leaves_.back())] = static_cast<std::uint32_t>(zone.row) * kRowStride + n;
          if (n == kRowStride) {
            diagnostics_.error(spec_.site->row_length.place.known() ? spec_.site->row_length.place : spec_.place,
                               "a row needs more than 64 out-of-band leaves", "use shorter rows: `site.row_length`");
          }
        }
        zone.devices.push_back(oob_leaves_.back());
      }
    }
  }
  std::uint32_t cores = 0;
  const std::uint32_t spines = oob_spines_needed(static_cast<std::uint32_t>(oob_leaves_.size()), cores);
  const auto add_tier = [&](Tier tier, std::uint32_t count, std::vector<DeviceId>& out) {
    if (count == 0) return;
    DeviceGroup group;
    group.name = fmt::format("oob-{}", to_text(tier));
    group.kind = DeviceKind::network_switch;
    group.fabric = FabricKind::oob;
    group.tier = tier;
    group.network_switch = catalog_.switch_model(spec_.fabrics->oob->spine.value);
    const std::uint32_t id = add_group(std::move(group));
    for (std::uint32_t n = 0; n < count; ++n) {
      out.push_back(add_device(id, fmt::format("oob-{}{:03}", to_text(tier), n + 1)));
      zones_[0].devices.push_back(out.back());
    }
  };
  add_tier(Tier::spine, spines, oob_spines_);
  add_tier(Tier::core, cores, oob_cores_);
}

// Distributes devices over the zone's service racks, so that neighbors (a pair of leaves, etcd members) are in
// different racks.
void ClusterBuilder::place_zone(Zone& zone) {
  if (zone.devices.empty()) return;
  const SiteSpec& site = spec_.site.value;
  const auto row_length = static_cast<std::int32_t>(site.row_length.value);
  const auto height = static_cast<std::uint32_t>(catalog_.rack(site.rack.value)->height.value);
  const auto add = [&] {
    const auto n = static_cast<std::int32_t>(zone.service_racks.size());
    const auto pdus = static_cast<std::uint32_t>(site.service_rack_pdus.value);
    if (zone.pool < 0) {
      zone.service_racks.push_back(
          add_rack(fmt::format("svc-r{:02}", n + 1), -1, -1 - n / row_length, n % row_length, pdus));
    } else {
      const auto strip = zone.pool * (row_length + 4);
      zone.service_racks.push_back(
          add_rack(fmt::format("{}-row{:02}-s{}", spec_.pools.value[static_cast<std::size_t>(zone.pool)].name->text,
                               zone.row + 1, n + 1),
                   -1, zone.row, strip + row_length + n, pdus));
    }
    rack_zone_pool_.resize(cluster_->racks_.size(), zone.pool);
  };
  for (std::uint32_t n = 0; n < zone.racks; ++n) add();
  std::size_t turn = 0;
  for (const DeviceId id : zone.devices) {
    const DeviceGroup& group = cluster_->group_of(id);
    const bool server = group.kind == DeviceKind::server;
    const auto tall =
        static_cast<std::uint32_t>(server ? cluster_->server_of(id).height.value : group.network_switch->height.value);
    std::size_t tries = 0;
    while (tries < zone.service_racks.size() &&
           cluster_->racks_[index_of(zone.service_racks[turn % zone.service_racks.size()])].used_units + tall >
               height) {
      ++turn;
      ++tries;
    }
    if (tries == zone.service_racks.size()) {
      diagnostics_.error(site.service_racks.place.known() ? site.service_racks.place : spec_.place,
                         fmt::format("no service rack has {}U free for `{}`", tall, cluster_->name_of(id)),
                         "increase `site.service_racks`");
      return;
    }
    const RackId rack_id = zone.service_racks[turn % zone.service_racks.size()];
    Rack& rack = cluster_->racks_[index_of(rack_id)];
    dev(id).rack = rack_id;
    dev(id).rack_unit = static_cast<std::uint16_t>(rack.used_units + 1);
    rack.used_units += tall;
    rack.power += server ? cluster_->server_of(id).power.value : group.network_switch->power.value;
    ++turn;
  }
}

void ClusterBuilder::cable_oob_endpoints(const Zone& zone) {
  const OobSpec& oob = spec_.fabrics->oob.value;
  const PortMode mode = find_mode(*catalog_.switch_model(oob.leaf.value), gigabits(1));
  const std::uint32_t usable =
      std::max(1U, mode.ports() * static_cast<std::uint32_t>(100 - oob.spare_percent.value) / 100);
  std::uint32_t next = 0;
  const auto attach = [&](PortId a) {
    const std::uint32_t leaf = zone.first_oob_leaf + next / usable;
    CHECK(next / usable < zone.oob_leaves, "size_zones() counted every management port");
    connect(a, add_switch_port(oob_leaves_[leaf], FabricKind::oob, mode, next % usable), CableRole::host_leaf);
    ++next;
  };
  const auto attach_device = [&](DeviceId id) {
    const DeviceGroup& group = cluster_->group_of(id);
    if (group.kind == DeviceKind::server) {
      const std::int64_t ports =
          group.pool >= 0 ? spec_.pools.value[static_cast<std::size_t>(group.pool)].links->oob.value : 1;
      for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(ports); ++p)
        attach(add_server_port(id, FabricKind::oob, p, p, 0, gigabits(1)));
    } else if (group.kind == DeviceKind::pdu) {
      if (group.pdu->management_ports.value > 0) attach(add_port(id, FabricKind::oob, 0, 0, 1, gigabits(1)));
    } else if (group.fabric != FabricKind::oob && group.network_switch->management_ports.value > 0) {
      std::int64_t cages = 0;
      for (const CageGroup& row : group.network_switch->cages.value) cages += row.count.value;
      attach(add_port(id, FabricKind::oob, static_cast<std::uint32_t>(cages), 0, 1, gigabits(1)));
    }
  };
  // Devices by rack: those of one rack connect to the same leaf.
  std::map<std::uint32_t, std::vector<DeviceId>> by_rack;
  for (const DeviceId id : zone.devices) by_rack[index_of(cluster_->device(id).rack)].push_back(id);
  const auto attach_pdus = [&](RackId id) {
    const Rack& rack = cluster_->racks_[index_of(id)];
    const DeviceId first = rack.first_pdu;
    for (std::uint32_t p = 0; p < rack.pdus; ++p) attach_device(static_cast<DeviceId>(index_of(first) + p));
  };
  std::vector<std::vector<DeviceId>> servers(zone.server_racks.size());
  std::map<std::uint32_t, std::size_t> slot;
  for (std::size_t i = 0; i < zone.server_racks.size(); ++i) slot[index_of(zone.server_racks[i])] = i;
  for (const DeviceId id : zone.servers) {
    const auto found = slot.find(index_of(cluster_->device(id).rack));
    if (found != slot.end()) servers[found->second].push_back(id);
  }
  for (std::size_t i = 0; i < zone.server_racks.size(); ++i) {
    for (const DeviceId id : servers[i]) attach_device(id);
    attach_pdus(zone.server_racks[i]);
  }
  for (const RackId rack : zone.service_racks) {
    for (const DeviceId id : by_rack[index_of(rack)]) attach_device(id);
    attach_pdus(rack);
  }
}

void ClusterBuilder::cable_oob_uplinks() {
  const OobSpec& oob = spec_.fabrics->oob.value;
  const PortMode up = oob_up_mode(*catalog_.switch_model(oob.leaf.value));
  const auto uplinks = static_cast<std::uint32_t>(oob.uplinks.value);
  if (oob.uplink_to_frontend.value) {
    CHECK(frontend_size_.oob_links.size() == oob_leaves_.size() * uplinks, "size_zones() settled on these leaves");
    for (std::size_t n = 0; n < frontend_size_.oob_links.size(); ++n) {
      const PairLink& link = frontend_size_.oob_links[n];
      const PortId a = add_switch_port(oob_leaves_[n / uplinks], FabricKind::oob, up, link.port);
      const PortId b = add_switch_port(frontend_leaves_[link.leaf], FabricKind::frontend, link.mode, link.position);
      connect(a, b, CableRole::oob_frontend);
    }
    return;
  }
  if (oob_spines_.empty()) return;
  const PortMode down = oob_up_mode(*catalog_.switch_model(oob.spine.value));
  std::vector<std::uint32_t> next(oob_spines_.size(), 0);
  const std::uint32_t sides = uplinks > 1 ? 2 : 1;
  const std::uint32_t each = divide_up(uplinks, 2);
  const std::uint32_t room = down.ports() - (oob_cores_.empty() ? 0 : 2);
  for (std::size_t n = 0; n < oob_leaves_.size(); ++n) {
    const auto pair = static_cast<std::uint32_t>(n / (room / each));
    for (std::uint32_t k = 0; k < uplinks; ++k) {
      const std::uint32_t spine =
          std::min(pair * sides + k % sides, static_cast<std::uint32_t>(oob_spines_.size() - 1));
      const PortId a = add_switch_port(oob_leaves_[n], FabricKind::oob, up, k);
      connect(a, add_switch_port(oob_spines_[spine], FabricKind::oob, down, next[spine]++), CableRole::oob_uplink);
    }
  }
  for (std::size_t s = 0; s < oob_spines_.size() && !oob_cores_.empty(); ++s) {
    for (std::uint32_t c = 0; c < 2; ++c) {
      if (s >= down.ports()) {
        diagnostics_.error(oob.spine.place.known() ? oob.spine.place : spec_.place,
                           "the out-of-band core has too few ports for its aggregation",
                           "choose a `spine` with more ports");
        return;
      }
      const PortId a = add_switch_port(oob_spines_[s], FabricKind::oob, down, room + c);
      connect(a, add_switch_port(oob_cores_[c], FabricKind::oob, down, static_cast<std::uint32_t>(s)),
              CableRole::oob_uplink);
    }
  }
}

void ClusterBuilder::build_oob() {
  // Frontend switches exist by now: leaves are placed with their servers, the rest in the central zone.
  const std::vector<std::size_t>& pair_zone = frontend_size_.pair_zone;
  for (std::size_t n = 0; n < frontend_leaves_.size(); ++n)
    zones_[pair_zone[n / 2]].devices.push_back(frontend_leaves_[n]);
  for (std::size_t i = 0; i < cluster_->devices_.size(); ++i) {
    const DeviceGroup& group = cluster_->groups_[cluster_->devices_[i].group];
    if (group.kind == DeviceKind::network_switch && group.fabric == FabricKind::frontend && group.tier != Tier::leaf) {
      zones_[0].devices.push_back(static_cast<DeviceId>(i));
    }
  }
  add_oob_leaves();
  for (Zone& zone : zones_) place_zone(zone);
  if (failed()) return;
  add_pdus();
  check_outlets();
  for (const RackSpec& change : spec_.racks.value) {
    bool found = false;
    for (Rack& rack : cluster_->racks_) {
      if (rack.name != change.name.value) continue;
      found = true;
      if (change.row.has_value()) rack.row = static_cast<std::int32_t>(change.row.value);
      if (change.position.has_value()) rack.column = static_cast<std::int32_t>(change.position.value);
      if (change.power.has_value()) rack.limit = change.power.value;
    }
    if (!found)
      diagnostics_.error(change.name.place, fmt::format("unknown rack `{}`", change.name.value), {},
                         change.name->size());
  }
  for (const Zone& zone : zones_) cable_oob_endpoints(zone);
  cable_oob_uplinks();
  for (const FabricKind kind : {FabricKind::backend, FabricKind::storage}) {
    for (const auto& [group_id, manager] : manager_groups_[static_cast<std::size_t>(kind)]) {
      if (!manager->back_to_back.value) continue;
      const DeviceGroup group = cluster_->groups_[group_id];
      for (std::uint32_t n = 0; n + 1 < group.count; n += 2) {
        const auto one = static_cast<DeviceId>(index_of(group.first) + n);
        const auto two = static_cast<DeviceId>(index_of(group.first) + n + 1);
        const PortId a = add_server_port(one, FabricKind::oob, 1, 1, 0, gigabits(1));
        connect(a, add_server_port(two, FabricKind::oob, 1, 1, 0, gigabits(1)), CableRole::back_to_back);
      }
    }
  }
  FabricPlan& out = plan_of(FabricKind::oob);
  out.present = true;
  out.wiring = Wiring::tor;
  out.tiers = oob_cores_.empty() ? (oob_spines_.empty() ? 1 : 2) : 3;
  out.rails = 1;
  out.pods = 1;
  out.leaves = static_cast<std::uint32_t>(oob_leaves_.size());
  out.spines = static_cast<std::uint32_t>(oob_spines_.size());
  out.cores = static_cast<std::uint32_t>(oob_cores_.size());
  out.host_speed = gigabits(1);
  const PortMode up = oob_up_mode(*catalog_.switch_model(spec_.fabrics->oob->leaf.value));
  out.uplink_speed = out.tiers > 1 || spec_.fabrics->oob->uplink_to_frontend.value ? up.speed : BitRate(0);
  out.leaf_down = find_mode(*catalog_.switch_model(spec_.fabrics->oob->leaf.value), gigabits(1)).ports();
  out.leaf_up = static_cast<std::uint32_t>(spec_.fabrics->oob->uplinks.value);
}

}  // namespace weft::model
