#include "design/picture_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/host_range.h"
#include "base/human_format.h"
#include "design/pictures.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

constexpr std::uint32_t kNoBlock = UINT32_MAX;

class FabricSorter {
 public:
  FabricSorter(const model::Cluster& cluster, model::FabricKind fabric) : cluster_(cluster) {
    diagram_.cluster = &cluster;
    diagram_.fabric = fabric;
    block_of_.assign(cluster.devices().size(), kNoBlock);
    placed_.assign(cluster.devices().size(), false);
  }

  Diagram sort() && {
    add_switches();
    for (const model::Cable& cable : cluster_.cables()) {
      if (cable.fabric == diagram_.fabric || cable.role == model::CableRole::oob_frontend) add_cable(cable);
    }
    return std::move(diagram_);
  }

 private:
  void add_switches() {
    std::vector<std::uint32_t> block_of_unit(cluster_.units().size(), kNoBlock);
    for (const model::DeviceGroup& group : cluster_.groups()) {
      if (group.kind != model::DeviceKind::network_switch || group.fabric != diagram_.fabric) continue;
      for (std::uint32_t i = 0; i < group.count; ++i) {
        const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
        if (group.tier == model::Tier::leaf) add_leaf(id, block_of_unit);
        if (group.tier == model::Tier::spine) diagram_.spines.push_back(id);
        if (group.tier == model::Tier::core) diagram_.cores.push_back(id);
      }
    }
  }

  void add_leaf(model::DeviceId id, std::vector<std::uint32_t>& block_of_unit) {
    const model::Device& leaf = cluster_.device(id);
    std::uint32_t index =
        leaf.unit == model::kNone<model::UnitId> ? kNoBlock : block_of_unit[model::index_of(leaf.unit)];
    if (leaf.unit == model::kNone<model::UnitId> && diagram_.plan().wiring == model::Wiring::pairs &&
        leaf.index % 2 == 1) {
      index = static_cast<std::uint32_t>(diagram_.blocks.size() - 1);  // the other half of a pair
      std::string& name = diagram_.blocks[index].name;
      const std::string& other = cluster_.name_of(id);
      const auto differs = std::mismatch(name.begin(), name.end(), other.begin(), other.end());
      name.erase(differs.first, name.end());
    }
    if (index == kNoBlock) {
      index = static_cast<std::uint32_t>(diagram_.blocks.size());
      Block block;
      block.pod = leaf.pod;
      if (leaf.unit == model::kNone<model::UnitId>) {
        block.name = cluster_.name_of(id);
      } else {
        block_of_unit[model::index_of(leaf.unit)] = index;
        block.name = views::unit_name(cluster_, leaf.unit);
        block.pool = cluster_.units()[model::index_of(leaf.unit)].pool;
      }
      diagram_.blocks.push_back(std::move(block));
    }
    diagram_.blocks[index].leaves.push_back(id);
    block_of_[model::index_of(id)] = index;
    ++diagram_.leaves;
  }

  void add_cable(const model::Cable& cable) {
    const model::Port& low = cluster_.port(cable.a);
    const model::Port& high = cluster_.port(cable.b);
    switch (cable.role) {
      case model::CableRole::host_leaf:
      case model::CableRole::manager_leaf:
        add_host_link(low, high);
        break;
      case model::CableRole::leaf_spine:
      case model::CableRole::oob_uplink:
        add_uplink(low);
        break;
      case model::CableRole::oob_frontend:
        if (diagram_.fabric == model::FabricKind::oob) {
          add_uplink(low);
          add_above(low, high);
        }
        break;
      case model::CableRole::spine_core:
        ++diagram_.core_links[cluster_.device(low.device).pod][low.speed_mbps];
        break;
      case model::CableRole::external:
        add_above(low, high);
        break;
      case model::CableRole::peer:
      case model::CableRole::back_to_back:
        break;
    }
  }

  void add_host_link(const model::Port& host, const model::Port& leaf) {
    const std::uint32_t index = block_of_[model::index_of(leaf.device)];
    if (index == kNoBlock) return;
    Block& block = diagram_.blocks[index];
    ++block.host_links[host.speed_mbps];
    ++block.links_of_leaf[leaf.device][host.speed_mbps];
    ++diagram_.host_links;
    diagram_.rails = std::max(diagram_.rails, std::uint32_t{host.rail} + 1);
    // A host is drawn with the leaves of its first link.
    if (placed_[model::index_of(host.device)]) return;
    placed_[model::index_of(host.device)] = true;
    block.hosts.push_back(host.device);
    ++diagram_.hosts;
  }

  void add_uplink(const model::Port& leaf) {
    const std::uint32_t index = block_of_[model::index_of(leaf.device)];
    if (index != kNoBlock) {
      ++diagram_.blocks[index].uplinks[leaf.speed_mbps];
    } else {
      // Out-of-band uplinks have one role on both levels.
      ++diagram_.core_links[cluster_.device(leaf.device).pod][leaf.speed_mbps];
    }
  }

  void add_above(const model::Port& low, const model::Port& high) {
    ++diagram_.above_links[low.speed_mbps];
    auto& above = diagram_.above;
    if (std::find(above.begin(), above.end(), high.device) == above.end()) above.push_back(high.device);
  }

  const model::Cluster& cluster_;
  Diagram diagram_;
  std::vector<std::uint32_t> block_of_;
  std::vector<bool> placed_;
};

std::string link_words(std::uint64_t links, BitRate speed) {
  return fmt::format("{} × {}", group_digits(links), to_text(speed));
}

}  // namespace

Diagram sort_fabric(const model::Cluster& cluster, model::FabricKind fabric) {
  return FabricSorter(cluster, fabric).sort();
}

std::uint64_t bundle_size(const Bundle& bundle) {
  std::uint64_t links = 0;
  for (const auto& [speed, count] : bundle) links += count;
  return links;
}

std::string bundle_text(const Bundle& bundle) {
  std::string text;
  for (auto entry = bundle.rbegin(); entry != bundle.rend(); ++entry) {
    if (!text.empty()) text += " + ";
    text += link_words(entry->second, BitRate(std::int64_t{entry->first} * 1'000'000));
  }
  return text;
}

std::string folded_names(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const model::DeviceId id : devices) names.push_back(cluster.name_of(id));
  return fold_hosts(std::move(names));
}

std::vector<std::string> host_counts(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts) {
  std::array<std::uint64_t, 4> kinds{};
  for (const model::DeviceId id : hosts) ++kinds[static_cast<std::size_t>(cluster.group_of(id).kind)];
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words = {
      {{"server", "servers"}, {"switch", "switches"}, {"PDU", "PDUs"}, {"network", "networks"}}};
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] > 0) counts.push_back(grouped_plural(kinds[i], words[i].first, words[i].second));
  }
  return counts;
}

std::string hosts_text(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts) {
  return fmt::format("{}", fmt::join(host_counts(cluster, hosts), ", "));
}

std::string models_text(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices) {
  std::vector<std::string> models;
  for (const model::DeviceId id : devices) {
    std::string model = views::model_id(cluster, id);
    if (!model.empty() && std::find(models.begin(), models.end(), model) == models.end()) {
      models.push_back(std::move(model));
    }
  }
  return fmt::format("{}", fmt::join(models, ", "));
}

void draw_side(picture::Svg& svg, double center_y, std::string_view word, const std::vector<std::string>& lines) {
  const double height = 18 + 15 * picture::real(lines.size());
  double y = center_y - height / 2 + 13;
  svg.text({kMargin, y}, word, picture::TextStyle{14, kInk, picture::Anchor::start, true});
  for (const std::string& line : lines) {
    y += 15;
    svg.text({kMargin, y}, picture::fit_text(line, 11, kSide - 16), picture::TextStyle{11, kSoftInk});
  }
}

std::vector<std::string> host_link_lines(const Diagram& diagram) {
  Bundle all;
  for (const Block& block : diagram.blocks) {
    for (const auto& [speed, count] : block.host_links) all[speed] += count;
  }
  std::vector<std::string> lines;
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    lines.push_back(
        fmt::format("{} links", link_words(entry->second, BitRate(std::int64_t{entry->first} * 1'000'000))));
  }
  return lines;
}

std::vector<std::string> uplink_lines(const Diagram& diagram) {
  const model::FabricPlan& plan = diagram.plan();
  Bundle all;
  for (const Block& block : diagram.blocks) {
    for (const auto& [speed, count] : block.uplinks) all[speed] += count;
  }
  std::vector<std::string> lines;
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    lines.push_back(
        fmt::format("{} links", link_words(entry->second, BitRate(std::int64_t{entry->first} * 1'000'000))));
  }
  if (lines.empty()) return lines;
  if (plan.links_per_spine > 0) lines.push_back(fmt::format("{} from a leaf to each spine", plan.links_per_spine));
  // The out-of-band network is sized by ports, not by bandwidth.
  if (diagram.fabric != model::FabricKind::oob) {
    lines.push_back(fmt::format("oversubscription {}", to_text(plan.oversubscription)));
  }
  return lines;
}

std::vector<std::string> core_link_lines(const Diagram& diagram) {
  Bundle all;
  for (const auto& [pod, bundle] : diagram.core_links) {
    for (const auto& [speed, count] : bundle) all[speed] += count;
  }
  if (all.empty()) return {};
  std::vector<std::string> lines = {bundle_text(all) + " links"};
  if (diagram.fabric != model::FabricKind::oob) {
    lines.push_back(fmt::format("oversubscription {}", to_text(diagram.plan().spine_oversubscription)));
  }
  return lines;
}

namespace {

std::string facts_line(const Diagram& diagram) {
  const model::FabricPlan& plan = diagram.plan();
  std::string text(plan.network == model::NetworkKind::infiniband ? "InfiniBand" : "Ethernet");
  if (plan.wiring == model::Wiring::pairs) {
    text += " · leaves in pairs";
  } else if (diagram.fabric != model::FabricKind::oob) {
    text += fmt::format(" · {} wiring", model::text_of(plan.wiring));
  }
  text += fmt::format(" · {}", grouped_plural(static_cast<std::uint64_t>(plan.tiers), "tier", "tiers"));
  if (plan.planes > 1) text += fmt::format(" · {} planes", plan.planes);
  if (plan.rails > 1 && diagram.fabric != model::FabricKind::oob && diagram.fabric != model::FabricKind::frontend) {
    text += fmt::format(" · {} rails", plan.rails);
  }
  text += fmt::format(" · {}", grouped_plural(diagram.host_links, "host link", "host links"));
  if (plan.host_speed.count() > 0) text += fmt::format(" at {}", to_text(plan.host_speed));
  if (plan.leaf_spine_links > 0) {
    text +=
        fmt::format(" · {} leaf-spine links at {}", group_digits(plan.leaf_spine_links), to_text(plan.uplink_speed));
    if (diagram.fabric != model::FabricKind::oob) {
      text += fmt::format(" · oversubscription {}", to_text(plan.oversubscription));
    }
  }
  if (plan.spine_core_links > 0) {
    text += fmt::format(" · {} spine-core links", group_digits(plan.spine_core_links));
  }
  const auto mtu = views::settings_of(*diagram.cluster, diagram.fabric).mtu;
  if (mtu) text += fmt::format(" · MTU {} bytes", *mtu);
  return text;
}

std::vector<LegendItem> fabric_legend(const Diagram& diagram, bool detail) {
  const model::Cluster& cluster = *diagram.cluster;
  std::vector<LegendItem> items;
  const Look& own = switch_look(diagram.fabric);
  items.push_back({own.fill, own.stroke, std::string(own.meaning), false});
  std::vector<std::string_view> known = {own.meaning};
  for (const Block& block : diagram.blocks) {
    for (const model::DeviceId id : block.hosts) {
      const Look& look = look_of(cluster, cluster.group_of(id));
      if (std::find(known.begin(), known.end(), look.meaning) != known.end()) continue;
      known.push_back(look.meaning);
      items.push_back({look.fill, look.stroke, std::string(look.meaning), false});
    }
  }
  const bool frontend = diagram.fabric == model::FabricKind::frontend;
  if (diagram.rails > 1 && diagram.fabric != model::FabricKind::oob &&
      (detail || diagram.tier_has_rails(model::Tier::leaf))) {
    const std::uint32_t shown = std::min<std::uint32_t>(diagram.rails, 8);
    for (std::uint32_t rail = 0; rail < shown; ++rail) {
      items.push_back({{}, rail_color(rail), fmt::format("{} {}", frontend ? "link" : "rail", rail + 1), true});
    }
  }
  if (!diagram.over_leaves().empty()) items.push_back({{}, kFrame, "link between switches", true});
  return items;
}

}  // namespace
std::string fabric_svg(const model::Cluster& cluster, model::FabricKind fabric) {
  using namespace picture;  // NOLINT(google-build-using-namespace): a picture is written in its words
  Svg svg;
  const model::FabricPlan& plan = cluster.fabric(fabric);
  const std::string heading = fmt::format("{}, {} fabric", cluster.name(), fabric_words(fabric));
  if (!plan.present) {
    const double bottom = draw_heading(svg, {kMargin, kMargin}, 700, heading, "this cluster has none");
    return svg.finish(760, bottom + kMargin, heading);
  }
  const Diagram diagram = sort_fabric(cluster, fabric);
  const bool detail = fits_in_detail(diagram);
  std::vector<model::DeviceId> hosts;
  for (const Block& block : diagram.blocks) hosts.insert(hosts.end(), block.hosts.begin(), block.hosts.end());
  std::string title =
      fmt::format("{}: {}, {}", heading, hosts_text(cluster, hosts), grouped_plural(diagram.leaves, "leaf", "leaves"));
  if (!diagram.spines.empty()) title += ", " + grouped_plural(diagram.spines.size(), "spine", "spines");
  if (!diagram.cores.empty()) title += ", " + grouped_plural(diagram.cores.size(), "core", "cores");
  const double width = std::max(kMinWidth, detail ? detail_width(diagram) : blocks_width(diagram));
  double y = draw_heading(svg, {kMargin, kMargin}, width - 2 * kMargin, title, facts_line(diagram));
  y = draw_legend(svg, {kMargin, y}, width - 2 * kMargin, fabric_legend(diagram, detail)) + 6;
  y = detail ? draw_detail(svg, diagram, y) : draw_blocks(svg, diagram, y);
  return svg.finish(width, y + kMargin, title);
}

}  // namespace weft::design
