// What is lost when one thing fails: a power feed, a row, a rack, the leaves of a unit, a leaf, a pair of leaves, a
// spine, a core, a plane. Each kind is told once, with its worst case. Looking at every domain of a kind walks the
// ports of its devices only, so the whole view is a few passes over the cluster.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/host_range.h"
#include "design/views.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

using views::left;
using views::right;
using views::wide;

using Devices = std::vector<model::DeviceId>;

constexpr int kLevels = 3;  // host to leaf, leaf to spine, spine to core

struct Loss {
  std::int64_t servers = 0;                       // without power, or cut off from a data fabric
  std::int64_t gpus = 0;                          // in those
  std::int64_t degraded = 0;                      // other servers that lost some of their links
  std::int64_t unmanaged = 0;                     // running servers whose BMC cannot be reached
  std::array<double, model::kFabrics> percent{};  // of the bandwidth at the level of the fabric that is hit hardest

  [[nodiscard]] auto weight() const {
    const double most = *std::max_element(percent.begin(), percent.end());
    return std::tuple(gpus, servers, degraded, most, unmanaged);
  }
};

// Works out losses. Marks carry the number of the question instead of being cleared, so a question costs only what it
// touches.
class LossMeter {
 public:
  explicit LossMeter(const model::Cluster& cluster)
      : cluster_(cluster),
        failed_(cluster.devices().size()),
        touched_(cluster.devices().size()),
        lost_(cluster.devices().size()),
        fitted_(cluster.devices().size()),
        cut_(cluster.cables().size()) {
    for (const model::Cable& cable : cluster.cables()) {
      const int level = level_of(cable);
      if (level < 0) continue;
      total(cable.fabric, level) += cluster.port(cable.a).speed().count();
      if (level == 0) ++fitted_[model::index_of(cluster.port(cable.a).device)][static_cast<std::size_t>(cable.fabric)];
    }
  }

  Loss of(const Devices& failed) {
    ++question_;
    cut_speed_ = {};
    hit_.clear();
    Loss loss;
    for (const model::DeviceId id : failed) failed_[model::index_of(id)] = question_;
    for (const model::DeviceId id : failed) {
      if (cluster_.group_of(id).kind == model::DeviceKind::server) {
        ++loss.servers;
        loss.gpus += views::gpus_of(cluster_, id);
      }
      for (const model::PortId port : cluster_.ports_of(id)) cut(cluster_.cable_of(port));
    }
    for (const model::DeviceId id : hit_) judge(id, loss);
    for (std::size_t f = 0; f < model::kFabrics; ++f) loss.percent[f] = worst_share(f);
    return loss;
  }

 private:
  [[nodiscard]] int level_of(const model::Cable& cable) const {
    switch (cable.role) {
      case model::CableRole::host_leaf:
        return 0;
      case model::CableRole::oob_uplink:  // one role on both levels
        return cluster_.group_of(cluster_.port(cable.a).device).tier == model::Tier::leaf ? 1 : 2;
      case model::CableRole::leaf_spine:
      case model::CableRole::oob_frontend:
        return 1;
      case model::CableRole::spine_core:
        return 2;
      default:
        return -1;
    }
  }
  std::int64_t& total(model::FabricKind fabric, int level) {
    return total_speed_[static_cast<std::size_t>(fabric)][static_cast<std::size_t>(level)];
  }

  void cut(model::CableId id) {
    if (id == model::kNone<model::CableId> || std::exchange(cut_[model::index_of(id)], question_) == question_) return;
    const model::Cable& cable = cluster_.cable(id);
    const int level = level_of(cable);
    if (level < 0) return;
    const model::Port& port = cluster_.port(cable.a);
    const bool failed_host = level == 0 && failed_[model::index_of(port.device)] == question_;
    // The management port of a switch or PDU that failed itself is no loss to the out-of-band network.
    if (failed_host && cluster_.group_of(port.device).kind != model::DeviceKind::server) return;
    const auto fabric = static_cast<std::size_t>(cable.fabric);
    cut_speed_[fabric][static_cast<std::size_t>(level)] += port.speed().count();
    const std::uint32_t host = model::index_of(port.device);
    if (level > 0 || failed_host) return;
    if (cluster_.group_of(port.device).kind != model::DeviceKind::server) return;
    if (std::exchange(touched_[host], question_) != question_) {
      lost_[host] = {};
      hit_.push_back(port.device);
    }
    ++lost_[host][fabric];
  }

  // A server that still has power but lost links.
  void judge(model::DeviceId id, Loss& loss) const {
    bool cut_off = false;
    bool weaker = false;
    for (std::size_t f = 0; f < model::kFabrics; ++f) {
      const std::uint16_t lost = lost_[model::index_of(id)][f];
      if (lost == 0) continue;
      const bool all = lost >= fitted_[model::index_of(id)][f];
      if (f == static_cast<std::size_t>(model::FabricKind::oob)) {
        loss.unmanaged += all ? 1 : 0;
      } else {
        cut_off = cut_off || all;
        weaker = true;
      }
    }
    if (cut_off) {
      ++loss.servers;
      loss.gpus += views::gpus_of(cluster_, id);
    } else if (weaker) {
      ++loss.degraded;
    }
  }

  [[nodiscard]] double worst_share(std::size_t fabric) const {
    double worst = 0.0;
    for (std::size_t level = 0; level < kLevels; ++level) {
      const auto all = static_cast<double>(total_speed_[fabric][level]);
      if (all > 0.0) worst = std::max(worst, 100.0 * static_cast<double>(cut_speed_[fabric][level]) / all);
    }
    return worst;
  }

  using Speeds = std::array<std::array<std::int64_t, kLevels>, model::kFabrics>;
  using Links = std::array<std::uint16_t, model::kFabrics>;

  const model::Cluster& cluster_;
  std::uint32_t question_ = 0;
  std::vector<std::uint32_t> failed_;
  std::vector<std::uint32_t> touched_;
  std::vector<Links> lost_;
  std::vector<Links> fitted_;
  std::vector<std::uint32_t> cut_;
  Speeds total_speed_{};
  Speeds cut_speed_{};
  Devices hit_;
};

// Server models that a single feed takes down, since what is not on it does not carry them.
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

// Everything that a feed carries alone, or without which too few supplies are left.
Devices lost_with_feed(const model::Cluster& cluster, int feed) {
  Devices lost;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    const model::DeviceKind kind = cluster.group_of(id).kind;
    if (kind == model::DeviceKind::pdu) {
      if (cluster.feed_of_pdu(id) == feed) lost.push_back(id);
      continue;
    }
    const views::Supplies supplies = views::supplies_of(cluster, id);
    if (kind == model::DeviceKind::external || supplies.fitted == 0) continue;
    int left_over = 0;
    for (int psu = 0; psu < supplies.fitted; ++psu) left_over += cluster.feed_of_psu(id, psu) != feed ? 1 : 0;
    if (left_over < supplies.needed) lost.push_back(id);
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
      const Loss loss = meter.of(devices);
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
    for (std::size_t f = 0; f < model::kFabrics; ++f) row.push_back(views::percent_cell(worst.percent[f]));
    row.push_back(counted(worst.unmanaged));
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

// How servers that belong together are spread: what the loss of one rack or one feed takes of them.
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
    const views::Supplies supplies = views::supplies_of(cluster, id);
    for (std::size_t feed = 0; feed < by_feed.size(); ++feed) {
      int left_over = 0;
      for (int psu = 0; psu < supplies.fitted; ++psu) {
        left_over += cluster.feed_of_psu(id, psu) != static_cast<int>(feed) ? 1 : 0;
      }
      by_feed[feed] += left_over < supplies.needed ? 1U : 0U;
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
        fmt::format("control plane: {} of {} etcd members stand in {}; losing that rack loses the "
                    "quorum of {}.",
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
      "A server is lost when it has too few power supplies left or when every link it has to a data fabric is gone; it "
      "is degraded when it keeps some of them. A fabric's percentage is the bandwidth lost at the level that is hit "
      "hardest (host to leaf, leaf to spine, spine to core).");
  note_feeds(cluster, document.notes);
  add_control_plane(cluster, document);
  return document;
}

}  // namespace weft::design
