// Selects media and length of every cable. Cables that share a cage share its plug, so the longest of them decides the
// optics of all; a splitter is bought as one piece, as long as its longest branch.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "model/cluster_builder.h"
#include "model/server_ports.h"

namespace weft::model {
namespace {

// Union-find with path halving.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t find(std::uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

std::uint64_t cage_key(const Port& port) { return (std::uint64_t{index_of(port.device)} << 16U) | port.cage; }

CageEnd switch_end(const SwitchModel& model, const Port& port) {
  std::uint32_t first = 0;
  for (const CageGroup& row : model.cages.value) {
    const auto count = static_cast<std::uint32_t>(row.count.value);
    if (port.cage < first + count) return {row.form.value, static_cast<std::uint32_t>(row.lanes.value) / port.lanes};
    first += count;
  }
  return {FormFactor::rj45, 1};  // the management port
}

}  // namespace

CageEnd ClusterBuilder::cage_end(const Port& port, const Port& peer) const {
  const DeviceGroup& group = cluster_->group_of(port.device);
  switch (group.kind) {
    case DeviceKind::server: {
      const PortUse use = group.manager && port.fabric != FabricKind::oob ? PortUse::backend : port_use(port.fabric);
      const PortGroup* ports = port_group(*group.server, use);
      return {ports->form.value, static_cast<std::uint32_t>(ports->per_cage.value) * planes_of(group, port.fabric)};
    }
    case DeviceKind::network_switch:
      return switch_end(*group.network_switch, port);
    // The site's end is assumed to be the same as this end.
    case DeviceKind::external:
      return switch_end(*cluster_->group_of(peer.device).network_switch, peer);
    case DeviceKind::pdu:
      break;
  }
  return {FormFactor::rj45, 1};
}

// Lengths of runs; lengths given in the file override the computed ones.
std::vector<std::uint32_t> ClusterBuilder::measure_runs() const {
  std::unordered_map<std::string, Length> asked;
  for (const CableSpec& change : spec_.cables.value) {
    if (change.length.has_value()) asked.emplace(change.from.value, change.length.value);
  }
  std::vector<std::uint32_t> runs;
  runs.reserve(cluster_->cables_.size());
  for (const Cable& cable : cluster_->cables_) {
    std::uint32_t run = run_length_mm(cluster_->port(cable.a).device, cluster_->port(cable.b).device);
    if (!asked.empty()) {
      const auto found = asked.find(cluster_->full_port_name(cable.a));
      if (found != asked.end()) {
        run = static_cast<std::uint32_t>(std::clamp<std::int64_t>(found->second.count(), 0, 1'000'000'000));
      }
    }
    runs.push_back(run);
  }
  return runs;
}

// Describes every link; links that share a cage, directly or through others, get the longest of their runs as reach and
// the kinds of cable that fit all of them.
std::vector<LinkEnds> ClusterBuilder::describe_links(std::vector<std::uint32_t>& kinds) {
  const std::vector<std::uint32_t> runs = measure_runs();
  std::vector<LinkEnds> links(runs.size());
  Groups groups(runs.size());
  std::unordered_map<std::uint64_t, std::uint32_t> first;  // first cable of each cage with several ports
  first.reserve(runs.size());
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const Cable& cable = cluster_->cables_[i];
    const Port& a = cluster_->port(cable.a);
    const Port& b = cluster_->port(cable.b);
    LinkEnds& link = links[i];
    link.a = cage_end(a, b);
    link.b = cage_end(b, a);
    link.speed = a.speed();
    link.network = cable.fabric == FabricKind::oob ? NetworkKind::ethernet : fabric_spec(cable.fabric).network.value;
    link.wanted = &wanted_media(cable);
    link.length_mm = runs[i];
    if (link.a.ports > 1) groups.join(first.try_emplace(cage_key(a), i).first->second, i);
    if (link.b.ports > 1) groups.join(first.try_emplace(cage_key(b), i).first->second, i);
  }
  std::vector<std::uint32_t> longest(runs.size(), 0);
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    std::uint32_t& most = longest[groups.find(i)];
    most = std::max(most, runs[i]);
  }
  std::vector<std::uint32_t> common(runs.size(), UINT32_MAX);
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    links[i].reach_mm = longest[groups.find(i)];
    common[groups.find(i)] &= media_.kinds(links[i], cluster_->media_);
  }
  kinds.resize(runs.size());
  for (std::uint32_t i = 0; i < runs.size(); ++i) kinds[i] = common[groups.find(i)];
  return links;
}

const std::vector<MediumKind>& ClusterBuilder::wanted_media(const Cable& cable) const {
  static const std::vector<MediumKind> kOutOfBand{MediumKind::copper, MediumKind::dac, MediumKind::aoc,
                                                  MediumKind::fibre};
  if (cable.fabric == FabricKind::oob) return kOutOfBand;
  const FabricSpec& fabric = fabric_spec(cable.fabric);
  const DeviceGroup& owner = cluster_->group_of(cluster_->port(cable.a).device);
  const bool target = owner.kind == DeviceKind::server && owner.pool >= 0 &&
                      spec_.pools.value[static_cast<std::size_t>(owner.pool)].role.value == PoolRole::storage;
  return target ? fabric.storage_media.value : fabric.media.value;
}

void ClusterBuilder::lay_cables() {
  std::vector<std::uint32_t> kinds;
  const std::vector<LinkEnds> links = describe_links(kinds);
  std::unordered_map<std::uint64_t, std::uint32_t> trunks;  // first cable of each splitter
  std::unordered_map<std::uint64_t, const void*> plugs;     // the plug of each cage with several ports
  std::map<std::string, int> complaints;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    Cable& cable = cluster_->cables_[i];
    const Port& a = cluster_->port(cable.a);
    const Port& b = cluster_->port(cable.b);
    const auto plug_at = [&](const Port& port, std::uint32_t ports) -> const void* {
      if (ports == 1) return nullptr;
      const auto found = plugs.find(cage_key(port));
      return found == plugs.end() ? nullptr : found->second;
    };
    const auto plug = [](const Medium& medium, const TransceiverModel* module) {
      return module != nullptr ? static_cast<const void*>(module) : medium.cable;
    };
    const void* at_a = plug_at(a, links[i].a.ports);
    const void* at_b = plug_at(b, links[i].b.ports);
    std::string why;
    const auto choice = media_.choose(
        links[i], kinds[i],
        [&](const Medium& medium) {
          return (at_a == nullptr || at_a == plug(medium, medium.at_a)) &&
                 (at_b == nullptr || at_b == plug(medium, medium.at_b));
        },
        cluster_->media_, why);
    if (!choice) {
      // One error per reason, independent of the run: messages that differ only in numbers are the same reason.
      std::string reason = why;
      reason.erase(std::remove_if(reason.begin(), reason.end(), [](char c) { return c >= '0' && c <= '9'; }),
                   reason.end());
      if (++complaints[reason] == 1) {
        const bool oob = cable.fabric == FabricKind::oob;
        const SourceLocation place = oob ? spec_.fabrics->oob->place : fabric_spec(cable.fabric).place;
        diagnostics_.error(place.known() ? place : spec_.place,
                           fmt::format("no cable from {} to {}: {}", cluster_->full_port_name(cable.a),
                                       cluster_->full_port_name(cable.b), why),
                           oob ? "place leaves near their servers with `site.switches: row`"
                               : "allow other `media`, or change speed or switch");
      }
      if (complaints.size() > 8) return;
      continue;
    }
    const Medium& medium = cluster_->media_[choice->medium];
    if (links[i].a.ports > 1) plugs[cage_key(a)] = plug(medium, medium.at_a);
    if (links[i].b.ports > 1) plugs[cage_key(b)] = plug(medium, medium.at_b);
    cable.medium = choice->medium;
    cable.length_mm = choice->length_mm;
    cable.assembly = i;
    if (choice->trunk_at_a || choice->trunk_at_b) {
      const Port& trunk = choice->trunk_at_a ? a : b;
      const std::uint32_t number = trunk.lane / (std::uint32_t{trunk.lanes} * choice->connector_ports);
      cable.assembly = trunks.try_emplace((cage_key(trunk) << 8U) | number, i).first->second;
    }
  }
  for (const Cable& cable : cluster_->cables_) {
    Cable& first = cluster_->cables_[cable.assembly];
    first.length_mm = std::max(first.length_mm, cable.length_mm);
  }
  for (Cable& cable : cluster_->cables_) cable.length_mm = cluster_->cables_[cable.assembly].length_mm;
}

}  // namespace weft::model
