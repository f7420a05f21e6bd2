// The whole cluster on one screen. Everything is counted in single passes, so the time is linear in the number of GPUs.
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/host_range.h"
#include "base/human_format.h"
#include "design/views.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

using views::count_cell;
using views::left;
using views::right;
using views::wide;

constexpr std::array<model::FabricKind, model::kFabrics> kAllFabrics = {
    model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend, model::FabricKind::oob};

struct Totals {
  std::uint64_t servers = 0;
  std::uint64_t switches = 0;
  std::uint64_t pdus = 0;
  std::uint64_t nic_ports = 0;
  std::uint64_t addresses = 0;
  std::uint64_t links = 0;
  std::uint64_t cables = 0;
};

Totals count_totals(const model::Cluster& cluster) {
  Totals totals;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind == model::DeviceKind::server) totals.servers += group.count;
    if (group.kind == model::DeviceKind::network_switch) totals.switches += group.count;
    if (group.kind == model::DeviceKind::pdu) totals.pdus += group.count;
  }
  for (const model::Device& device : cluster.devices()) totals.addresses += device.loopback.bits != 0 ? 1U : 0U;
  for (const model::Port& port : cluster.ports()) {
    totals.addresses += port.address.bits != 0 ? 1U : 0U;
    const bool host = cluster.group_of(port.device).kind == model::DeviceKind::server;
    totals.nic_ports += host && port.fabric != model::FabricKind::oob ? 1U : 0U;
  }
  totals.links = views::count_links(cluster);
  totals.cables = views::count_cables(cluster);
  return totals;
}

std::string servers_text(const model::Cluster& cluster, std::uint64_t total) {
  std::string text;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::server || group.count == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} x {}", group.name, group_digits(group.count), group.server->id->text);
  }
  return fmt::format("{} ({})", group_digits(total), text);
}

FactsSection summary_facts(const model::Cluster& cluster) {
  const Totals totals = count_totals(cluster);
  FactsSection section{"cluster", "Cluster", {}};
  const auto fact = [&](std::string key, std::string title, Cell value) {
    section.facts.push_back(Fact{std::move(key), std::move(title), std::move(value)});
  };
  fact("name", "Name", cluster.name());
  fact("profile", "Profile", model::text_of(*cluster.spec().profile));
  fact("gpus", "GPUs", count_cell(cluster.gpu_count()));
  fact("servers", "Servers", Cell(totals.servers, servers_text(cluster, totals.servers)));
  fact("switches", "Switches", count_cell(totals.switches));
  fact("racks", "Racks", count_cell(cluster.racks().size()));
  fact("power_w", "Power, maximum", views::power_cell(cluster.total_power()));
  fact("nic_ports", "NIC ports", count_cell(totals.nic_ports));
  fact("links", "Links", count_cell(totals.links));
  fact("cables", "Cables", count_cell(totals.cables));
  fact("pdus", "PDUs", count_cell(totals.pdus));
  fact("addresses", "Addresses", count_cell(totals.addresses));
  return section;
}

TableSection fabric_table(const model::Cluster& cluster) {
  TableSection table{"fabrics", "Fabrics", {}, {}};
  table.columns = {left("fabric", "Fabric"),
                   left("network", "Network"),
                   left("wiring", "Wiring"),
                   right("tiers", "Tiers"),
                   right("planes", "Planes"),
                   right("rails", "Rails"),
                   right("host_speed_bps", "Host speed"),
                   right("leaves", "Leaves"),
                   right("spines", "Spines"),
                   right("cores", "Cores"),
                   wide(right("pods", "Pods")),
                   right("host_links", "Host links"),
                   right("leaf_spine_links", "Leaf-spine links"),
                   right("spine_core_links", "Spine-core links"),
                   wide(right("host_cages", "Host cages")),
                   wide(right("leaf_spine_cages", "Leaf-spine cages")),
                   wide(right("spine_core_cages", "Spine-core cages")),
                   wide(right("uplink_speed_bps", "Uplink speed")),
                   wide(right("manager_links", "Manager links")),
                   wide(right("peer_links", "Peer links")),
                   wide(right("external_links", "External links")),
                   right("oversubscription", "Oversubscription"),
                   wide(right("spine_oversubscription", "At spine")),
                   right("mtu_bytes", "MTU (bytes)")};
  for (const model::FabricKind kind : kAllFabrics) {
    const model::FabricPlan& plan = cluster.fabric(kind);
    if (!plan.present) continue;
    const auto mtu = views::settings_of(cluster, kind).mtu;
    const bool uplinks = plan.leaf_spine_links > 0 && kind != model::FabricKind::oob;  // out-of-band is sized by ports
    const bool rails = kind == model::FabricKind::backend || kind == model::FabricKind::storage;
    table.rows.push_back({model::to_text(kind),
                          model::text_of(plan.network),
                          kind == model::FabricKind::oob ? Cell() : model::text_of(plan.wiring),
                          plan.tiers,
                          plan.planes,
                          rails ? Cell(plan.rails) : Cell(),
                          views::speed_cell(plan.host_speed),
                          count_cell(plan.leaves),
                          count_cell(plan.spines),
                          count_cell(plan.cores),
                          count_cell(plan.pods),
                          count_cell(plan.host_links),
                          count_cell(plan.leaf_spine_links),
                          count_cell(plan.spine_core_links),
                          count_cell(plan.host_cages),
                          count_cell(plan.leaf_spine_cages),
                          count_cell(plan.spine_core_cages),
                          views::speed_cell(plan.uplink_speed),
                          plan.manager_links,
                          plan.peer_links,
                          plan.external_links,
                          uplinks ? Cell(to_text(plan.oversubscription)) : Cell(),
                          plan.spine_core_links > 0 ? Cell(to_text(plan.spine_oversubscription)) : Cell(),
                          mtu ? Cell(*mtu) : Cell()});
  }
  return table;
}

TableSection pool_table(const model::Cluster& cluster) {
  TableSection table{"pools", "Pools", {}, {}};
  table.columns = {left("pool", "Pool"),    left("role", "Role"),        left("server", "Server"),
                   right("count", "Count"), right("gpus", "GPUs"),       right("racks", "Racks"),
                   right("units", "Units"), wide(left("hosts", "Hosts"))};
  // The last group seen in a rack and in a unit: only a new one is counted.
  std::vector<std::uint32_t> rack_seen(cluster.racks().size(), UINT32_MAX);
  std::vector<std::uint32_t> unit_seen(cluster.units().size(), UINT32_MAX);
  for (std::uint32_t g = 0; g < cluster.groups().size(); ++g) {
    const model::DeviceGroup& group = cluster.groups()[g];
    if (group.kind != model::DeviceKind::server) continue;
    std::int64_t gpus = 0;
    std::uint64_t racks = 0;
    std::uint64_t units = 0;
    std::vector<std::string> names;
    names.reserve(group.count);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      const model::Device& device = cluster.device(id);
      gpus += views::gpus_of(cluster, id);
      names.push_back(cluster.name_of(id));
      if (device.rack != model::kNone<model::RackId>)
        racks += std::exchange(rack_seen[model::index_of(device.rack)], g) != g ? 1U : 0U;
      if (device.unit != model::kNone<model::UnitId>)
        units += std::exchange(unit_seen[model::index_of(device.unit)], g) != g ? 1U : 0U;
    }
    table.rows.push_back({group.name, views::role_of(cluster, group), group.server->id->text, count_cell(group.count),
                          Cell(gpus, group_digits(static_cast<std::uint64_t>(gpus))), count_cell(racks),
                          count_cell(units), fold_hosts(std::move(names))});
  }
  return table;
}

// Notes units whose leaves have free ports for more servers, once per pool and fabric.
void note_partial_units(const model::Cluster& cluster, std::vector<std::string>& notes) {
  struct Room {
    std::uint64_t units = 0;
    std::uint64_t servers = 0;
    std::string example;
  };
  std::map<std::pair<model::FabricKind, int>, Room> rooms;
  for (std::uint32_t u = 0; u < cluster.units().size(); ++u) {
    const model::Unit& unit = cluster.units()[u];
    if (unit.servers >= unit.capacity) continue;
    Room& room = rooms[{unit.fabric, unit.pool}];
    if (room.units++ == 0) room.example = views::unit_name(cluster, static_cast<model::UnitId>(u));
    room.servers += unit.capacity - unit.servers;
  }
  for (const auto& [key, room] : rooms) {
    notes.push_back(fmt::format("{}: {} not full ({}{}); leaf positions for {} are free.", model::to_text(key.first),
                                grouped_plural(room.units, "unit is", "units are"),
                                room.units > 1 ? "for example " : "", room.example,
                                grouped_plural(room.servers, "more server", "more servers")));
  }
}

void note_fabrics(const model::Cluster& cluster, std::vector<std::string>& notes) {
  for (const model::FabricKind kind : kAllFabrics) {
    const model::FabricPlan& plan = cluster.fabric(kind);
    if (!plan.present) continue;
    const auto steep = [](const Ratio& ratio) { return ratio.numerator > 2 * ratio.denominator; };
    const std::uint32_t planes = plan.planes > 0 ? plan.planes : 1;
    const std::uint32_t spines = plan.spines / planes;
    // Out-of-band aggregation is a pair by design; bandwidth is not critical there.
    if (kind != model::FabricKind::oob && spines > 0 && spines < 4 && plan.cores == 0) {
      notes.push_back(fmt::format("{}: {}{}; losing one loses {}% of the bandwidth between leaves.",
                                  model::to_text(kind), grouped_plural(spines, "spine", "spines"),
                                  planes > 1 ? " in each plane" : "", 100 / plan.spines));
    }
    if (plan.leaf_spine_links > 0 && steep(plan.oversubscription)) {
      notes.push_back(fmt::format(
          "{}: leaves are oversubscribed {}: traffic between leaves gets {}% of line rate if all hosts send.",
          model::to_text(kind), to_text(plan.oversubscription),
          100 * plan.oversubscription.denominator / plan.oversubscription.numerator));
    }
    if (plan.spine_core_links > 0 && steep(plan.spine_oversubscription)) {
      notes.push_back(fmt::format("{}: spines are oversubscribed {} towards the core.", model::to_text(kind),
                                  to_text(plan.spine_oversubscription)));
    }
  }
}

void note_site(const model::Cluster& cluster, std::vector<std::string>& notes) {
  const model::Spec& spec = cluster.spec();
  if (*spec.fabrics->oob->uplink_to_frontend) {
    notes.emplace_back(
        "oob: the out-of-band network depends on the frontend: if the frontend is down, no BMC or switch console is "
        "reachable.");
  }
  if (*spec.site->feeds < 2) notes.emplace_back("site: one power feed; if it fails, the whole cluster is down.");
  std::vector<std::string> over;
  for (const model::Rack& rack : cluster.racks()) {
    if (rack.limit.count() > 0 && rack.power.count() > rack.limit.count()) over.push_back(rack.name);
  }
  if (!over.empty()) {
    notes.push_back(fmt::format("site: maximum power is above the limit in {}: {}.",
                                grouped_plural(over.size(), "rack", "racks"), fold_hosts(over)));
  }
}

}  // namespace

Document summary_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "summary";
  document.sections.emplace_back(summary_facts(cluster));
  document.sections.emplace_back(fabric_table(cluster));
  document.sections.emplace_back(pool_table(cluster));
  note_partial_units(cluster, document.notes);
  note_fabrics(cluster, document.notes);
  note_site(cluster, document.notes);
  return document;
}

}  // namespace weft::design
