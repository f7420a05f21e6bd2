// The blast radius of a single failure: a power feed, a row, a rack, the leaves of a unit, a leaf, a pair of leaves, a
// spine, a core, a plane. Each kind is listed once, with its worst case. Losses are computed by loss_meter.h, as in
// `weft failures`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host_range.h"
#include "design/loss_meter.h"
#include "design/views.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

using views::left;
using views::right;
using views::wide;

using Devices = std::vector<model::DeviceId>;

// Notes server models that fail with a single feed because the supplies on other feeds are not enough.
void note_feeds(const model::Cluster& cluster, std::vector<std::string>& notes) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::server || group.count == 0) continue;
    const views::Supplies supplies = views::supplies_of(cluster, group.first);
    std::map<int, int> on_feed;
    for (int psu = 0; psu < supplies.fitted; ++psu) ++on_feed[cluster.feed_of_psu(group.first, psu)];
    for (const auto& [feed, lost] : on_feed) {
      if (supplies.fitted - lost >= supplies.needed) continue;
      notes.push_back(fmt::format("{}: {} needs {} of its {} power supplies; feed {} carries {} of them.", group.name,
                                  views::model_id(cluster, group.first), supplies.needed, supplies.fitted,
                                  views::feed_name(feed), lost));
      break;
    }
  }
}

// Domains of one kind, each a set of devices that fail together.
struct DomainKind {
  std::string name;
  std::optional<model::FabricKind> fabric;
  std::vector<std::pair<std::string, Devices>> domains;
};

// Devices that fail with a feed: those powered by it alone, or left with too few supplies.
Devices lost_with_feed(const model::Cluster& cluster, int feed) {
  Devices lost;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    const model::DeviceKind kind = cluster.group_of(id).kind;
    if (kind == model::DeviceKind::pdu) {
      if (cluster.feed_of_pdu(id) == feed) lost.push_back(id);
      continue;
    }
    if (views::falls_with_feed(cluster, id, feed)) lost.push_back(id);
  }
  return lost;
}

void add_site_domains(const model::Cluster& cluster, std::vector<DomainKind>& kinds) {
  DomainKind feeds{"power feed", std::nullopt, {}};
  for (int feed = 0; feed < *cluster.spec().site->feeds; ++feed) {
    feeds.domains.emplace_back("feed " + views::feed_name(feed), lost_with_feed(cluster, feed));
  }
  DomainKind rows{"row", std::nullopt, {}};
  DomainKind racks{"rack", std::nullopt, {}};
  std::map<std::int32_t, Devices> by_row;
  for (std::uint32_t r = 0; r < cluster.racks().size(); ++r) {
    const model::Rack& rack = cluster.racks()[r];
    const auto devices = cluster.devices_in(static_cast<model::RackId>(r));
    racks.domains.emplace_back(rack.name, Devices(devices.begin(), devices.end()));
    Devices& row = by_row[rack.row];
    row.insert(row.end(), devices.begin(), devices.end());
  }
  for (auto& [row, devices] : by_row) rows.domains.emplace_back(fmt::format("row {}", row), std::move(devices));
  kinds.push_back(std::move(feeds));
  kinds.push_back(std::move(rows));
  kinds.push_back(std::move(racks));
}

void add_switch_domains(const model::Cluster& cluster, model::FabricKind fabric, std::vector<DomainKind>& kinds) {
  const model::FabricPlan& plan = cluster.fabric(fabric);
  if (!plan.present) return;
  DomainKind units{"unit (its leaves)", fabric, {}};
  DomainKind pairs{"leaf pair", fabric, {}};
  DomainKind leaves{"leaf", fabric, {}};
  DomainKind spines{"spine", fabric, {}};
  DomainKind cores{"core", fabric, {}};
  DomainKind planes{"plane", fabric, {}};
  std::map<std::uint32_t, Devices> by_unit;
  Devices without_unit;
  std::map<std::uint16_t, Devices> by_plane;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != fabric) continue;
    DomainKind& tier = group.tier == model::Tier::leaf ? leaves : group.tier == model::Tier::spine ? spines : cores;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      const model::Device& device = cluster.device(id);
      tier.domains.emplace_back(cluster.name_of(id), Devices{id});
      by_plane[device.plane].push_back(id);
      if (group.tier != model::Tier::leaf) continue;
      (device.unit == model::kNone<model::UnitId> ? without_unit : by_unit[model::index_of(device.unit)]).push_back(id);
    }
  }
  const bool paired = plan.wiring == model::Wiring::pairs || plan.wiring == model::Wiring::dual_tor;
  const auto add_pairs = [&](const Devices& members) {
    for (std::size_t i = 0; paired && fabric != model::FabricKind::oob && i + 1 < members.size(); i += 2) {
      const std::string name = fold_hosts({cluster.name_of(members[i]), cluster.name_of(members[i + 1])});
      pairs.domains.emplace_back(name, Devices{members[i], members[i + 1]});
    }
  };
  add_pairs(without_unit);
  for (auto& [unit, members] : by_unit) {
    add_pairs(members);
    units.domains.emplace_back(views::unit_name(cluster, static_cast<model::UnitId>(unit)), std::move(members));
  }
  for (auto& [plane, members] : by_plane) {
    if (plan.planes > 1) planes.domains.emplace_back(fmt::format("plane {}", plane + 1), std::move(members));
  }
  for (DomainKind* kind : {&units, &pairs, &leaves, &spines, &cores, &planes}) {
    if (!kind->domains.empty()) kinds.push_back(std::move(*kind));
  }
}

TableSection domain_table(const model::Cluster& cluster, LossMeter& meter) {
  TableSection table{"failure_domains", "Failure domains", {}, {}};
  table.columns = {left("kind", "Kind"),
                   left("fabric", "Fabric"),
                   right("domains", "Domains"),
                   left("worst", "Worst case"),
                   right("servers_lost", "Servers lost"),
                   right("gpus_lost", "GPUs lost"),
                   right("gpus_lost_percent", "Of all GPUs"),
                   right("servers_degraded", "Servers degraded"),
                   right("backend_lost_percent", "Backend lost"),
                   right("storage_lost_percent", "Storage lost"),
                   right("frontend_lost_percent", "Frontend lost"),
                   right("oob_lost_percent", "OOB lost"),
                   wide(right("servers_unmanaged", "Servers unmanaged")),
                   wide(right("harmless", "Without loss of servers"))};
  const auto counted = [](std::int64_t count) { return views::count_cell(static_cast<std::uint64_t>(count)); };
  std::vector<DomainKind> kinds;
  add_site_domains(cluster, kinds);
  for (int f = 0; f < model::kFabrics; ++f) add_switch_domains(cluster, static_cast<model::FabricKind>(f), kinds);
  for (const DomainKind& kind : kinds) {
    Loss worst;
    const std::string* example = nullptr;
    std::uint64_t harmless = 0;
    for (const auto& [name, devices] : kind.domains) {
      const Loss loss = meter.measure_loss(devices);
      harmless += loss.servers == 0 ? 1U : 0U;
      if (example != nullptr && loss.weight() <= worst.weight()) continue;
      worst = loss;
      example = &name;
    }
    if (example == nullptr) continue;
    const double of_gpus = cluster.gpu_count() == 0
                               ? 0.0
                               : 100.0 * static_cast<double>(worst.gpus) / static_cast<double>(cluster.gpu_count());
    std::vector<Cell> row = {kind.name,
                             kind.fabric ? Cell(model::to_text(*kind.fabric)) : Cell(),
                             views::count_cell(kind.domains.size()),
                             *example,
                             counted(worst.servers),
                             counted(worst.gpus),
                             views::percent_cell(of_gpus),
                             counted(worst.degraded)};
    for (int f = 0; f < model::kFabrics; ++f) {
      row.push_back(views::percent_cell(worst.lost_of(static_cast<model::FabricKind>(f))));
    }
    row.push_back(counted(worst.unmanaged_servers));
    row.push_back(views::count_cell(harmless));
    table.rows.push_back(std::move(row));
  }
  return table;
}

const model::DeviceGroup* group_of_pool(const model::Cluster& cluster, const std::string& pool) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind == model::DeviceKind::server && group.pool >= 0 && group.name == pool) return &group;
  }
  return nullptr;
}

// How related servers are distributed: how many of them are lost with one rack or one feed.
struct Spread {
  std::uint64_t members = 0;
  std::uint64_t racks = 0;
  std::uint64_t in_worst_rack = 0;
  std::string worst_rack;
  std::uint64_t in_worst_feed = 0;
};

Spread spread_of(const model::Cluster& cluster, const model::DeviceGroup& group, std::uint64_t members) {
  Spread spread;
  spread.members = std::min<std::uint64_t>(members, group.count);
  std::map<std::string, std::uint64_t> by_rack;
  std::vector<std::uint64_t> by_feed(static_cast<std::size_t>(std::max<std::int64_t>(1, *cluster.spec().site->feeds)));
  for (std::uint32_t i = 0; i < spread.members; ++i) {
    const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
    ++by_rack[views::rack_name(cluster, id)];
    for (std::size_t feed = 0; feed < by_feed.size(); ++feed) {
      by_feed[feed] += views::falls_with_feed(cluster, id, static_cast<int>(feed)) ? 1U : 0U;
    }
  }
  spread.racks = by_rack.size();
  for (const auto& [rack, count] : by_rack) {
    if (count <= spread.in_worst_rack) continue;
    spread.in_worst_rack = count;
    spread.worst_rack = rack;
  }
  spread.in_worst_feed = *std::max_element(by_feed.begin(), by_feed.end());
  return spread;
}

TableSection storage_table(const model::Cluster& cluster) {
  TableSection table{"storage", "Storage", {}, {}};
  table.columns = {left("system", "System"),
                   left("kind", "Kind"),
                   left("pool", "Pool"),
                   right("servers", "Servers"),
                   right("racks", "Racks"),
                   left("worst_rack", "Worst rack"),
                   right("servers_lost_with_rack", "Servers lost with it"),
                   right("lost_with_rack_percent", "Throughput lost"),
                   right("servers_lost_with_feed", "Servers lost with a feed")};
  for (const model::StorageSpec& system : *cluster.spec().storage) {
    const model::DeviceGroup* group = system.pool.has_value() ? group_of_pool(cluster, *system.pool) : nullptr;
    if (group == nullptr || group->count == 0) continue;
    const Spread spread = spread_of(cluster, *group, group->count);
    table.rows.push_back(
        {system.name->text, model::text_of(*system.kind), *system.pool, spread.members, spread.racks, spread.worst_rack,
         spread.in_worst_rack,
         views::percent_cell(100.0 * static_cast<double>(spread.in_worst_rack) / static_cast<double>(spread.members)),
         spread.in_worst_feed});
  }
  return table;
}

void add_control_plane(const model::Cluster& cluster, Document& document) {
  const model::ControlPlaneSpec& control = *cluster.spec().control_plane;
  const model::DeviceGroup* group = control.pool.has_value() ? group_of_pool(cluster, *control.pool) : nullptr;
  if (group == nullptr || *control.etcd_members <= 0) return;
  const Spread spread = spread_of(cluster, *group, static_cast<std::uint64_t>(*control.etcd_members));
  if (spread.members == 0) return;
  const std::uint64_t quorum = spread.members / 2 + 1;
  const auto survives = [&](std::uint64_t lost) { return spread.members - lost >= quorum; };
  TableSection table{"etcd_members", "etcd members", {}, {}};
  table.columns = {left("host", "Host"), left("rack", "Rack"), right("row", "Row"), left("feeds", "Feeds")};
  for (std::uint32_t i = 0; i < spread.members; ++i) {
    const auto id = static_cast<model::DeviceId>(model::index_of(group->first) + i);
    const model::RackId rack = cluster.device(id).rack;
    table.rows.push_back({cluster.name_of(id), views::text_cell(views::rack_name(cluster, id)),
                          rack == model::kNone<model::RackId> ? Cell() : Cell(cluster.rack(rack).row),
                          views::text_cell(views::feeds_of(cluster, id))});
  }
  FactsSection facts{"control_plane", "Control plane", {}};
  facts.facts = {{"etcd_members", "etcd members", spread.members},
                 {"quorum", "Quorum", quorum},
                 {"most_in_one_rack", "Most members in one rack", spread.in_worst_rack},
                 {"survives_rack", "Survives the loss of any rack", survives(spread.in_worst_rack)},
                 {"survives_feed", "Survives the loss of any feed", survives(spread.in_worst_feed)}};
  document.sections.emplace_back(std::move(facts));
  document.sections.emplace_back(std::move(table));
  if (!survives(spread.in_worst_rack)) {
    document.notes.push_back(
        fmt::format("control plane: {} of {} etcd members are in {}; losing that rack loses the quorum of {}.",
                    spread.in_worst_rack, spread.members, spread.worst_rack, quorum));
  }
}

}  // namespace

Document failure_domains_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "failure-domains";
  LossMeter meter(cluster);
  document.sections.emplace_back(domain_table(cluster, meter));
  TableSection storage = storage_table(cluster);
  if (!storage.rows.empty()) document.sections.emplace_back(std::move(storage));
  document.notes.emplace_back(
      "A server is lost when it has too few power supplies left, or when no link connects it to the main part of one "
      "of its data fabrics; it is degraded when it keeps some of its links. A fabric's percentage is the bandwidth "
      "lost at the most affected level (host to leaf, leaf to spine, spine to core, uplink).");
  note_feeds(cluster, document.notes);
  add_control_plane(cluster, document);
  return document;
}

}  // namespace weft::design
