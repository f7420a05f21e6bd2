#include "check/failures/failure_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/host_range.h"

namespace weft::check {

using design::views::falls_with_feed;
using design::views::feed_name;
using design::views::Supplies;
using design::views::supplies_of;

FailureSurvey::FailureQuery FailureSurvey::make_query(std::string kind, std::optional<model::FabricKind> fabric,
                                                      bool single) {
  FailureQuery query;
  query.failure.kind = std::move(kind);
  query.failure.fabric = fabric;
  query.failure.single = single;
  return query;
}

void FailureSurvey::record(FailureQuery query) {
  if (query.failure.count > 0) out_.failures_.push_back(std::move(query.failure));
}

design::Loss FailureSurvey::evaluate(FailureQuery& query, const std::string& name, const Devices& failed,
                                     const std::vector<model::CableId>& cut) {
  const design::Loss loss = meter_.measure_loss(failed, cut);
  std::int64_t members = 0;
  std::vector<std::uint32_t> of_system(out_.storage_.size(), 0);
  for (const model::DeviceId id : meter_.lost()) {
    const std::int32_t role = role_[model::index_of(id)];
    if (role == kMember) ++members;
    if (role >= 0) ++of_system[static_cast<std::size_t>(role)];
  }
  double storage_left = 100.0;
  for (std::size_t s = 0; s < of_system.size(); ++s) {
    const auto all = static_cast<double>(out_.storage_[s].group->count);
    storage_left = std::min(storage_left, 100.0 * (all - of_system[s]) / all);
  }
  const bool quorum = out_.control_.members.empty() || out_.control_.survives(static_cast<std::size_t>(members));
  bool fabric_gone = false;
  for (int f = 0; f < model::kFabrics; ++f)
    fabric_gone = fabric_gone || loss.left_of(static_cast<model::FabricKind>(f)) <= 0.0;
  Failure& failure = query.failure;
  ++failure.count;
  failure.quorum = failure.quorum && quorum;
  if (loss.beyond > 0 || !quorum || storage_left <= 0.0 || fabric_gone) ++failure.harmful;
  const auto weight = [](std::int64_t lost, double storage, const design::Loss& of) {
    return std::tuple_cat(of.weight(), std::tuple(lost, -storage));
  };
  if (!query.first &&
      weight(members, storage_left, loss) <= weight(failure.members_lost, failure.storage_left, failure.loss)) {
    return loss;
  }
  query.first = false;
  failure.worst = name;
  failure.loss = loss;
  failure.members_lost = members;
  failure.storage_left = storage_left;
  return loss;
}

void FailureSurvey::site_failures() {
  feed_failures();
  rack_failures();
  pdu_failures();
  supply_failures();
}

// Devices that go down with a feed or a PDU are not the failed component itself: all of them count as `beyond`.
void FailureSurvey::feed_failures() {
  FailureQuery feeds = make_query("power feed");
  for (int feed = 0; feed < *cluster_.spec().site->feeds; ++feed) {
    Devices lost;
    bool server = false;
    for (std::uint32_t d = 0; d < cluster_.devices().size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const model::DeviceKind kind = cluster_.group_of(id).kind;
      const bool falls =
          kind == model::DeviceKind::pdu ? cluster_.feed_of_pdu(id) == feed : falls_with_feed(cluster_, id, feed);
      if (!falls) continue;
      lost.push_back(id);
      server = server || kind == model::DeviceKind::server;
    }
    const std::uint64_t before = feeds.failure.harmful;
    evaluate(feeds, "feed " + feed_name(feed), lost);
    if (server) feeds.failure.harmful = before + 1;
  }
  record(std::move(feeds));
}

void FailureSurvey::rack_failures() {
  FailureQuery rows = make_query("row", std::nullopt, false);
  FailureQuery racks = make_query("rack");
  std::map<std::int32_t, Devices> by_row;
  for (std::uint32_t r = 0; r < cluster_.racks().size(); ++r) {
    const model::Rack& rack = cluster_.racks()[r];
    const auto in_rack = cluster_.devices_in(static_cast<model::RackId>(r));
    const design::Loss loss = evaluate(racks, rack.name, Devices(in_rack.begin(), in_rack.end()));
    if (loss.beyond > 0) out_.far_racks_.push_back({static_cast<model::RackId>(r), loss.beyond});
    Devices& row = by_row[rack.row];
    row.insert(row.end(), in_rack.begin(), in_rack.end());
  }
  for (const auto& [row, members] : by_row) evaluate(rows, fmt::format("row {}", row), members);
  record(std::move(rows));
  record(std::move(racks));
}

void FailureSurvey::pdu_failures() {
  FailureQuery pdus = make_query("PDU");
  for (std::uint32_t r = 0; r < cluster_.racks().size(); ++r) {
    const model::Rack& rack = cluster_.racks()[r];
    for (std::uint32_t p = 0; p < rack.pdus; ++p) {
      const auto pdu = static_cast<model::DeviceId>(model::index_of(rack.first_pdu) + p);
      Devices lost{pdu};
      bool server = false;
      for (const model::DeviceId id : cluster_.devices_in(static_cast<model::RackId>(r))) {
        const Supplies supplies = supplies_of(cluster_, id);
        if (supplies.fitted == 0) continue;
        // Power supply s is on PDU s modulo the rack's PDUs.
        const int on_it = supplies.fitted / static_cast<int>(rack.pdus) +
                          (static_cast<int>(p) < supplies.fitted % static_cast<int>(rack.pdus) ? 1 : 0);
        if (supplies.fitted - on_it >= supplies.needed) continue;
        lost.push_back(id);
        server = server || cluster_.group_of(id).kind == model::DeviceKind::server;
      }
      const std::uint64_t before = pdus.failure.harmful;
      evaluate(pdus, cluster_.name_of(pdu), lost);
      if (server) pdus.failure.harmful = before + 1;
    }
  }
  record(std::move(pdus));
}

void FailureSurvey::supply_failures() {
  FailureQuery supplies = make_query("power supply");
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.count == 0) continue;
    const Supplies fitted = supplies_of(cluster_, group.first);
    if (fitted.fitted == 0) continue;
    const bool falls = fitted.fitted - 1 < fitted.needed;
    const std::uint64_t before = supplies.failure.harmful;
    evaluate(supplies, cluster_.name_of(group.first), falls ? Devices{group.first} : Devices{});
    supplies.failure.count += std::uint64_t{group.count} * static_cast<std::uint64_t>(fitted.fitted) - 1;
    if (falls) supplies.failure.harmful = before + 1;
  }
  record(std::move(supplies));
}

void FailureSurvey::switch_failures(model::FabricKind fabric) {
  const model::FabricPlan& plan = cluster_.fabric(fabric);
  if (!plan.present) return;
  FailureQuery units = make_query("leaves of a unit", fabric, false);
  FailureQuery pairs = make_query("leaf pair", fabric, false);
  FailureQuery tiers[] = {make_query("leaf", fabric), make_query("spine", fabric), make_query("core", fabric)};
  FailureQuery planes = make_query("plane", fabric, false);
  std::map<std::uint32_t, Devices> by_unit;
  std::map<std::uint16_t, Devices> by_plane;
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != fabric || group.tier == model::Tier::none)
      continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      evaluate(tiers[static_cast<std::size_t>(group.tier) - 1], cluster_.name_of(id), {id});
      by_plane[cluster_.device(id).plane].push_back(id);
      if (group.tier == model::Tier::leaf) by_unit[model::index_of(cluster_.device(id).unit)].push_back(id);
    }
  }
  const bool paired = fabric != model::FabricKind::oob &&
                      (plan.wiring == model::Wiring::pairs || plan.wiring == model::Wiring::dual_tor);
  for (const auto& [unit, leaves] : by_unit) {
    for (std::size_t i = 0; paired && i + 1 < leaves.size(); i += 2) {
      evaluate(pairs, fold_hosts({cluster_.name_of(leaves[i]), cluster_.name_of(leaves[i + 1])}),
               {leaves[i], leaves[i + 1]});
    }
    if (unit == model::index_of(model::kNone<model::UnitId>) || paired) continue;
    std::vector<std::string> names;
    for (const model::DeviceId id : leaves) names.push_back(cluster_.name_of(id));
    evaluate(units, fold_hosts(std::move(names)), leaves);
  }
  if (plan.planes > 1) {
    for (const auto& [plane, members] : by_plane) evaluate(planes, fmt::format("plane {}", plane + 1), members);
  }
  record(std::move(units));
  record(std::move(pairs));
  for (FailureQuery& tier : tiers) record(std::move(tier));
  record(std::move(planes));
}

// Only a cable that is the single link of some server or switch can do more than reduce bandwidth; the fastest of the
// others represents the rest.
void FailureSurvey::cable_failures(model::FabricKind fabric) {
  if (!cluster_.fabric(fabric).present) return;
  const FabricWeakness& weak = out_.weakness(fabric);
  FailureQuery kinds[] = {make_query("host cable", fabric), make_query("trunk cable", fabric),
                          make_query("external cable", fabric)};
  model::CableId fastest[3] = {model::kNone<model::CableId>, model::kNone<model::CableId>,
                               model::kNone<model::CableId>};
  std::uint64_t count[3] = {};
  for (std::uint32_t c = 0; c < cluster_.cables().size(); ++c) {
    const model::Cable& cable = cluster_.cables()[c];
    if (cable.fabric != fabric || cable.role == model::CableRole::back_to_back || cable.role == model::CableRole::peer)
      continue;
    const std::size_t kind = design::ends_on_host(cable.role) ? 0 : cable.role == model::CableRole::external ? 2 : 1;
    ++count[kind];
    model::CableId& best = fastest[kind];
    if (best == model::kNone<model::CableId> ||
        cluster_.port(cluster_.cable(best).a).speed_mbps < cluster_.port(cable.a).speed_mbps) {
      best = static_cast<model::CableId>(c);
    }
  }
  const auto name = [&](model::CableId id) {
    return fmt::format("{} - {}", cluster_.full_port_name(cluster_.cable(id).a),
                       cluster_.full_port_name(cluster_.cable(id).b));
  };
  for (std::size_t kind = 0; kind < 3; ++kind) {
    if (fastest[kind] != model::kNone<model::CableId>) evaluate(kinds[kind], name(fastest[kind]), {}, {fastest[kind]});
  }
  if (!weak.single_homed.empty()) {
    for (const model::PortId port : cluster_.ports_of(weak.single_homed.front())) {
      if (cluster_.port(port).fabric != fabric) continue;
      evaluate(kinds[0], name(cluster_.cable_of(port)), {}, {cluster_.cable_of(port)});
    }
    if (fabric != model::FabricKind::oob) kinds[0].failure.harmful = weak.single_homed.size();
  }
  for (const model::CableId id : weak.cut_cables) evaluate(kinds[1], name(id), {}, {id});
  for (std::size_t kind = 0; kind < 3; ++kind) {
    kinds[kind].failure.count = count[kind];
    record(std::move(kinds[kind]));
  }
}

void FailureSurvey::server_failures() {
  FailureQuery servers = make_query("server");
  FailureQuery members = make_query("etcd member");
  FailureQuery storage = make_query("storage server");
  FailureQuery jumps = make_query("jump host");
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.kind != model::DeviceKind::server || group.count == 0 || group.manager) continue;
    const std::string& name = cluster_.name_of(group.first);
    evaluate(servers, name, {group.first});
    servers.failure.count += group.count - 1;
    if (role_[model::index_of(group.first)] >= 0) {
      evaluate(storage, name, {group.first});
      storage.failure.count += group.count - 1;
    }
    if (group.pool >= 0 &&
        *cluster_.spec().pools.value[static_cast<std::size_t>(group.pool)].role == model::PoolRole::jump) {
      evaluate(jumps, name, {group.first});
      jumps.failure.count += group.count - 1;
      if (group.count == 1) jumps.failure.harmful = 1;
    }
  }
  for (const model::DeviceId id : out_.control_.members) evaluate(members, cluster_.name_of(id), {id});
  record(std::move(servers));
  record(std::move(members));
  record(std::move(storage));
  controller_failures();
  manager_failures();
  record(std::move(jumps));
}

void FailureSurvey::controller_failures() {
  FailureQuery controllers = make_query("storage controller");
  for (const StorageAnalysis& storage : out_.storage_) {
    if (storage.controllers == 0) continue;
    const model::DeviceId id = storage.group->first;
    const bool falls = storage.controllers == 1;
    evaluate(controllers, cluster_.name_of(id), falls ? Devices{id} : Devices{});
    const std::uint64_t all = std::uint64_t{storage.group->count} * static_cast<std::uint64_t>(storage.controllers);
    controllers.failure.count += all - 1;
  }
  record(std::move(controllers));
}

void FailureSurvey::manager_failures() {
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (!group.manager || group.count == 0) continue;
    FailureQuery managers = make_query("fabric manager", group.fabric);
    evaluate(managers, cluster_.name_of(group.first), {group.first});
    managers.failure.count = group.count;
    if (group.count == 1) managers.failure.harmful = 1;
    record(std::move(managers));
  }
}

}  // namespace weft::check
