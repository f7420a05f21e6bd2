// Draws a large fabric: blocks of leaves and hosts with their counts, equal blocks drawn once or twice with the number
// of the others between them, and bundles instead of links. With three tiers, blocks are grouped by pod.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/human_format.h"
#include "design/picture_fabric.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

constexpr std::size_t kMaxColumns = 9;  // of blocks, without ellipses
constexpr std::size_t kMaxRails = 16;   // drawn as a bundle each
constexpr std::size_t kMaxPodKinds = 3;
constexpr double kCardLeast = 206;
constexpr double kCardMost = 420;
constexpr double kEllipsis = 92;
constexpr double kGap = 16;
constexpr double kPodPad = 12;
constexpr double kPanelHeight = 74;
constexpr double kLeafPanel = 78;
constexpr double kHostPanel = 128;

// One column of the picture: a block, or "… × 61" for omitted ones.
struct Column {
  const Block* block = nullptr;
  std::size_t more = 0;
  std::string how;   // omitted blocks are "like", "similar to" ...
  std::string whom;  // ... this block
};

struct PodColumn {
  std::size_t more = 0;  // omitted pods; then there are no columns
  std::string whom;      // the pod that they are like
  std::uint32_t pod = 0;
  std::size_t units = 0;
  std::vector<model::DeviceId> spines;
  std::vector<Column> columns;
  double x = 0;
  double width = 0;
};

using Kind = std::vector<const Block*>;

std::string signature(const model::Cluster& cluster, const Block& block, bool rough) {
  std::string text = fmt::format("{};{};", block.pool, block.leaves.size());
  if (!rough) {
    return text + fmt::format("{};{};{}", hosts_text(cluster, block.hosts), bundle_text(block.host_links),
                              bundle_text(block.uplinks));
  }
  bool kinds[4] = {};
  for (const model::DeviceId id : block.hosts) kinds[static_cast<std::size_t>(cluster.group_of(id).kind)] = true;
  return text + fmt::format("{}{}{}{}", kinds[0], kinds[1], kinds[2], kinds[3]);
}

std::vector<Kind> sort_kinds(const model::Cluster& cluster, const std::vector<const Block*>& blocks, bool rough) {
  std::vector<Kind> kinds;
  std::map<std::string, std::size_t> known;
  for (const Block* block : blocks) {
    const auto [found, added] = known.emplace(signature(cluster, *block, rough), kinds.size());
    if (added) kinds.emplace_back();
    kinds[found->second].push_back(block);
  }
  return kinds;
}

// Blocks to draw: the first of each kind and, if they fit, the last, with the count of the rest between them.
std::vector<Column> choose_columns(const model::Cluster& cluster, const std::vector<const Block*>& blocks,
                                   std::size_t most) {
  std::vector<Column> columns;
  if (blocks.size() <= std::min<std::size_t>(most, 6)) {
    for (const Block* block : blocks) columns.push_back({block, 0, {}, {}});
    return columns;
  }
  std::vector<Kind> kinds = sort_kinds(cluster, blocks, false);
  const bool rough = kinds.size() > most;
  if (rough) kinds = sort_kinds(cluster, blocks, true);
  // The largest kinds are kept, in the order of their blocks.
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.size() > b.size(); });
  std::sort(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(std::min(most, kinds.size())),
            [](const Kind& a, const Kind& b) { return std::less<>()(a.front(), b.front()); });
  const bool ends = kinds.size() * 2 <= most;
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const Kind& kind = kinds[k];
    if (k >= most) {
      left_out += kind.size();
      continue;
    }
    const std::size_t shown = kind.size() == 1 ? 1 : ends ? 2 : 1;
    columns.push_back({kind.front(), 0, {}, {}});
    if (kind.size() > shown) {
      columns.push_back({nullptr, kind.size() - shown, rough ? "similar to" : "like", kind.front()->name});
    }
    if (shown == 2) columns.push_back({kind.back(), 0, {}, {}});
  }
  if (left_out > 0) columns.push_back({nullptr, left_out, "of other", "kinds"});
  return columns;
}

double columns_width(const std::vector<Column>& columns, double card) {
  double width = -kGap;
  for (const Column& column : columns) width += (column.block != nullptr ? card : kEllipsis) + kGap;
  return std::max(width, 0.0);
}

// Groups pods with the same numbers of the same kinds of blocks.
std::vector<PodColumn> choose_pods(const Diagram& diagram) {
  const model::Cluster& cluster = *diagram.cluster;
  std::map<std::uint32_t, std::vector<const Block*>> by_pod;
  std::map<std::uint32_t, std::vector<model::DeviceId>> spines;
  for (const Block& block : diagram.blocks) by_pod[block.pod].push_back(&block);
  for (const model::DeviceId id : diagram.spines) spines[cluster.device(id).pod].push_back(id);
  std::vector<std::vector<std::uint32_t>> kinds;
  std::map<std::string, std::size_t> known;
  for (const auto& [pod, blocks] : by_pod) {
    std::string text = fmt::format("{};", spines[pod].size());
    for (const Kind& kind : sort_kinds(cluster, blocks, false)) {
      text += fmt::format("{}x{};", kind.size(), signature(cluster, *kind.front(), false));
    }
    const auto [found, added] = known.emplace(std::move(text), kinds.size());
    if (added) kinds.emplace_back();
    kinds[found->second].push_back(pod);
  }
  std::vector<PodColumn> pods;
  std::size_t left_out = 0;
  const std::size_t most =
      std::max<std::size_t>(2, kMaxColumns / std::clamp<std::size_t>(kinds.size(), 1, kMaxPodKinds) - 1);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (k >= kMaxPodKinds) {
      left_out += kinds[k].size();
      continue;
    }
    PodColumn shown;
    shown.pod = kinds[k].front();
    shown.units = by_pod[shown.pod].size();
    shown.spines = spines[shown.pod];
    shown.columns = choose_columns(cluster, by_pod[shown.pod], most);
    pods.push_back(std::move(shown));
    if (kinds[k].size() > 1) {
      PodColumn rest;
      rest.more = kinds[k].size() - 1;
      rest.whom = fmt::format("like pod {}", kinds[k].front() + 1);
      pods.push_back(std::move(rest));
    }
  }
  if (left_out > 0) {
    PodColumn rest;
    rest.more = left_out;
    rest.whom = "of other kinds";
    pods.push_back(std::move(rest));
  }
  return pods;
}

struct Layout {
  std::vector<PodColumn> pods;
  double card = kCardLeast;  // width of a block
  double right = 0;
};

// The columns of the whole picture; without pods, all of them in one.
Layout lay_out(const Diagram& diagram) {
  Layout layout;
  const bool in_pods = diagram.in_pods();
  if (in_pods) {
    layout.pods = choose_pods(diagram);
  } else {
    std::vector<const Block*> blocks;
    for (const Block& block : diagram.blocks) blocks.push_back(&block);
    PodColumn all;
    all.units = blocks.size();
    all.spines = diagram.spines;
    all.columns = choose_columns(*diagram.cluster, blocks, kMaxColumns);
    layout.pods.push_back(std::move(all));
  }
  const auto place = [&] {
    double x = kMargin + kSide;
    for (PodColumn& pod : layout.pods) {
      pod.x = x;
      pod.width = pod.more > 0 ? kEllipsis : columns_width(pod.columns, layout.card) + (in_pods ? 2 * kPodPad : 0.0);
      x += pod.width + kGap;
    }
    layout.right = x - kGap;
  };
  place();
  // If there are few blocks, they are widened to fill the minimum width of a picture.
  std::size_t blocks = 0;
  for (const PodColumn& pod : layout.pods) {
    for (const Column& column : pod.columns) blocks += column.block != nullptr ? 1U : 0U;
  }
  const double spare = kMinWidth - kMargin - layout.right;
  if (spare > 0 && blocks > 0) {
    layout.card = std::min(kCardMost, kCardLeast + spare / picture::real(blocks));
    place();
  }
  return layout;
}

class BlockPainter {
 public:
  BlockPainter(picture::Svg& svg, const Diagram& diagram)
      : svg_(svg), diagram_(diagram), cluster_(*diagram.cluster), layout_(lay_out(diagram)) {}

  double draw(double top) {
    place(top);
    if (!diagram_.above.empty()) draw_above();
    if (!diagram_.cores.empty()) {
      draw_tier(picture::Box{left_, core_y_, right_ - left_, kPanelHeight}, diagram_.cores, "core", "cores");
    }
    for (const PodColumn& pod : layout_.pods) {
      if (pod.more > 0) {
        draw_ellipsis({pod.x, leaf_y_, pod.width, kLeafPanel}, pod.more, pod.more == 1 ? "pod" : "pods", pod.whom);
      } else {
        draw_pod(pod);
      }
    }
    draw_sides();
    return bottom_;
  }

 private:
  void place(double top) {
    left_ = layout_.pods.front().x;
    right_ = layout_.right;
    double y = top + 10;
    above_y_ = y;
    if (!diagram_.above.empty()) y += 40 + 64;
    core_y_ = y;
    if (!diagram_.cores.empty()) y += kPanelHeight + 84;
    spine_y_ = y;
    if (!diagram_.spines.empty()) y += kPanelHeight + 96;
    leaf_y_ = y + 24;
    host_y_ = leaf_y_ + kLeafPanel + 78;
    bottom_ = host_y_ + kHostPanel + (diagram_.in_pods() ? 22 : 8);
  }

  void draw_above() {
    const picture::Box box{left_, above_y_, right_ - left_, 40};
    const Look& look = look_of(cluster_, cluster_.group_of(diagram_.above.front()));
    svg_.rect(box, picture::Paint{"#ffffff", look.stroke, 1, 1, "5 3", 6}, folded_names(cluster_, diagram_.above));
    svg_.text_in(box, folded_names(cluster_, diagram_.above),
                 picture::TextStyle{12, kInk, picture::Anchor::middle, true});
    const double under = !diagram_.cores.empty() ? core_y_ : !diagram_.spines.empty() ? spine_y_ : leaf_y_;
    if (diagram_.fabric == model::FabricKind::oob && diagram_.spines.empty())
      return;  // the leaves' own bundles are drawn there
    bundle({box.center().x, under}, box.bottom_center(), bundle_text(diagram_.above_links));
  }

  void bundle(const picture::Point& from, const picture::Point& to, const std::string& text) {
    svg_.link(from, to, picture::Paint{"none", "#8d949b", 5, 0.5}, text);
    svg_.label({(from.x + to.x) / 2, (from.y + to.y) / 2}, text, picture::TextStyle{11, kInk});
  }

  // A panel with a row of switches, as many as fit, with their number and names.
  void draw_tier(const picture::Box& box, const std::vector<model::DeviceId>& devices, std::string_view one,
                 std::string_view many) {
    const std::string names = folded_names(cluster_, devices);
    svg_.rect(box, picture::Paint{kPanel, "#d5d8dc", 1, 1, {}, 6}, names);
    const std::string text = fmt::format("{}: {}", grouped_plural(devices.size(), one, many), names);
    svg_.text_in({box.x, box.y + 4, box.width, 18}, text, picture::TextStyle{12, kInk, picture::Anchor::middle, true});
    draw_icons({box.x + 10, box.y + 26, box.width - 20, box.height - 36}, devices, 44);
  }

  struct Icons {
    std::size_t shown = 0;
    double step = 0;
    double start = 0;  // x of the first
  };
  static Icons icons_in(const picture::Box& box, std::size_t count, double widest) {
    const auto fit = static_cast<std::size_t>(std::max(1.0, box.width / 16));
    const std::size_t shown = count <= fit ? count : fit - 1;
    const double places = picture::real(count <= fit ? shown : shown + 1);
    const double step = std::min(widest, box.width / places);
    return {shown, step, box.x + (box.width - step * places) / 2};
  }

  void draw_icons(const picture::Box& box, const std::vector<model::DeviceId>& devices, double widest) {
    const auto [shown, step, start] = icons_in(box, devices.size(), widest);
    for (std::size_t i = 0; i < shown; ++i) {
      const model::DeviceGroup& group = cluster_.group_of(devices[i]);
      const Look& look = look_of(cluster_, group);
      const picture::Box icon{start + picture::real(i) * step + 2, box.y, step - 4, box.height};
      mark_device(svg_, devices[i]);
      svg_.rect(icon, picture::Paint{look.fill, look.stroke, 0.8, 1, {}, 2}, cluster_.name_of(devices[i]));
      if (diagram_.tier_has_rails(group.tier)) {
        svg_.rect({icon.x, icon.bottom() - 6, icon.width, 6},
                  picture::Paint{rail_color(cluster_.device(devices[i]).rail), "#ffffff", 0.5});
      }
    }
    if (shown < devices.size())
      svg_.text({start + picture::real(shown) * step + 4, box.center().y + 5}, "…", picture::TextStyle{16, kSoftInk});
  }

  void draw_pod(const PodColumn& pod) {
    const bool framed = diagram_.in_pods();
    const double inside = pod.x + (framed ? kPodPad : 0);
    const picture::Box spine{inside, spine_y_, pod.width - (framed ? 2 * kPodPad : 0), kPanelHeight};
    if (framed) {
      const picture::Box frame{pod.x, spine_y_ - 28, pod.width, bottom_ - spine_y_ + 28};
      svg_.rect(frame, picture::Paint{"#fbfbfc", kFrame, 1, 1, "6 4", 8}, fmt::format("pod {}", pod.pod + 1));
      svg_.text({frame.x + 10, frame.y + 18}, fmt::format("Pod {}", pod.pod + 1),
                picture::TextStyle{13, kInk, picture::Anchor::start, true});
    }
    const auto links = diagram_.core_links.find(pod.pod);
    if (!diagram_.cores.empty() && links != diagram_.core_links.end()) {
      bundle(spine.top_center(), {spine.center().x, core_y_ + kPanelHeight}, bundle_text(links->second));
    }
    double x = inside;
    for (const Column& column : pod.columns) {
      if (column.block == nullptr) {
        draw_ellipsis({x, leaf_y_, kEllipsis, kLeafPanel}, column.more, column.how, column.whom);
        x += kEllipsis + kGap;
        continue;
      }
      draw_block(*column.block, x, spine);
      x += layout_.card + kGap;
    }
    if (!pod.spines.empty()) draw_tier(spine, pod.spines, "spine", "spines");
  }

  void draw_ellipsis(const picture::Box& box, std::size_t more, const std::string& how, const std::string& whom) {
    const picture::Point at = box.center();
    const picture::TextStyle small{10, kSoftInk, picture::Anchor::middle};
    svg_.text({at.x, at.y - 8}, "…", picture::TextStyle{28, kSoftInk, picture::Anchor::middle, true});
    svg_.text({at.x, at.y + 18}, fmt::format("× {}", group_digits(more)),
              picture::TextStyle{17, kInk, picture::Anchor::middle, true});
    svg_.text({at.x, at.y + 35}, how, small);
    svg_.text({at.x, at.y + 48}, picture::fit_text(whom, small.size, box.width + kGap - 4), small);
  }

  void draw_block(const Block& block, double x, const picture::Box& spine) {
    const double width = layout_.card;
    const picture::Box leaf{x + 6, leaf_y_, width - 12, kLeafPanel};
    const picture::Box host{x + 6, host_y_, width - 12, kHostPanel - 6};
    if (!block.uplinks.empty()) {
      const double over = diagram_.spines.empty() ? above_y_ + 40 : spine.bottom();
      bundle({leaf.center().x, leaf.y - 24}, {leaf.center().x, over}, bundle_text(block.uplinks));
    }
    const std::string names = folded_names(cluster_, block.leaves);
    svg_.rect({x, leaf.y - 24, width, host.bottom() - leaf.y + 30}, picture::Paint{"#ffffff", "#d5d8dc", 1, 1, {}, 6},
              fmt::format("{}: {}", block.name, names));
    svg_.text_in({x, leaf.y - 21, width, 18}, block.name,
                 picture::TextStyle{12.5, kInk, picture::Anchor::middle, true});
    svg_.rect(leaf, picture::Paint{kPanel, "none", 1, 1, {}, 4});
    svg_.text_in({leaf.x, leaf.y + 3, leaf.width, 16}, grouped_plural(block.leaves.size(), "leaf", "leaves"),
                 picture::TextStyle{11, kInk, picture::Anchor::middle, true});
    draw_icons({leaf.x + 6, leaf.y + 22, leaf.width - 12, 30}, block.leaves, 44);
    svg_.text_in({leaf.x, leaf.y + 56, leaf.width, 16}, names, picture::TextStyle{9.5, kSoftInk});
    if (diagram_.tier_has_rails(model::Tier::leaf) && block.leaves.size() > 1 && block.leaves.size() <= kMaxRails) {
      draw_rails(block, leaf, host);
    } else {
      const std::string links = bundle_text(block.host_links);
      svg_.link(host.top_center(), leaf.bottom_center(),
                picture::Paint{"none", switch_look(diagram_.fabric).fill, 6, 0.45}, links);
      svg_.label({leaf.center().x, (leaf.bottom() + host.y) / 2}, links, picture::TextStyle{11, kInk});
    }
    draw_block_hosts(block, host);
  }

  // The links of a rail are one bundle from its leaf to all hosts of the block, in the rail's color.
  void draw_rails(const Block& block, const picture::Box& leaf, const picture::Box& host) {
    const std::string hosts = folded_names(cluster_, block.hosts);
    const Icons icons = icons_in({leaf.x + 6, leaf.y, leaf.width - 12, 0}, block.leaves.size(), 44);
    bool equal = true;
    std::string each;
    for (std::size_t i = 0; i < block.leaves.size(); ++i) {
      const model::DeviceId id = block.leaves[i];
      const auto found = block.links_of_leaf.find(id);
      const std::string links = found == block.links_of_leaf.end() ? "no links" : bundle_text(found->second);
      equal = equal && (i == 0 || links == each);
      each = links;
      if (i >= icons.shown || found == block.links_of_leaf.end()) continue;
      const double x = icons.start + (picture::real(i) + 0.5) * icons.step;
      svg_.set_data("l", std::to_string(model::index_of(id)));
      svg_.link({x, host.y}, {x, leaf.bottom()},
                picture::Paint{"none", rail_color(cluster_.device(id).rail), std::min(7.0, icons.step / 2)},
                fmt::format("rail {}: {} to {}, {}", cluster_.device(id).rail + 1, cluster_.name_of(id), hosts, links));
    }
    const std::string all = equal ? fmt::format("{} rails, each {}", block.leaves.size(), each)
                                  : fmt::format("{} rails, {}", block.leaves.size(), bundle_text(block.host_links));
    const bool fits = picture::text_width(all, 11) + 8 <= layout_.card;
    svg_.label({leaf.center().x, (leaf.bottom() + host.y) / 2}, fits ? all : bundle_text(block.host_links),
               picture::TextStyle{11, kInk});
  }

  void draw_block_hosts(const Block& block, const picture::Box& box) {
    constexpr std::size_t kAcross = 16;
    constexpr std::size_t kMax = 4 * kAcross;
    const std::string names = folded_names(cluster_, block.hosts);
    svg_.rect(box, picture::Paint{kPanel, "none", 1, 1, {}, 4}, names);
    const std::string counts = hosts_text(cluster_, block.hosts);
    const double size = picture::text_width(counts, 11, true) > box.width - 4 ? 9.5 : 11;
    svg_.text_in({box.x, box.y + 3, box.width, 16}, counts,
                 picture::TextStyle{size, kInk, picture::Anchor::middle, true});
    const std::size_t shown = std::min(block.hosts.size(), kMax);
    const double step = (box.width - 12) / picture::real(kAcross);
    const double start = box.x + 6 + (picture::real(kAcross) - picture::real(std::min(shown, kAcross))) * step / 2;
    for (std::size_t i = 0; i < shown; ++i) {
      const Look& look = look_of(cluster_, cluster_.group_of(block.hosts[i]));
      const picture::Box icon{start + picture::real(i % kAcross) * step + 1,
                              box.y + 23 + picture::real(i / kAcross) * 18, step - 2, 15};
      mark_device(svg_, block.hosts[i]);
      svg_.rect(icon, picture::Paint{look.fill, look.stroke, 0.7, 1, {}, 1.5}, cluster_.name_of(block.hosts[i]));
    }
    draw_host_names(names, shown < block.hosts.size(), {box.x, box.bottom() - 28, box.width, 26});
  }

  // Names in up to two lines, wrapped after a comma.
  void draw_host_names(std::string_view names, bool more, const picture::Box& box) {
    constexpr double kSize = 9.5;
    std::string first;
    while (!names.empty()) {
      // Commas between names are outside brackets.
      std::size_t end = 0;
      for (int depth = 0; end < names.size() && (names[end] != ',' || depth > 0); ++end) {
        depth += names[end] == '[' ? 1 : names[end] == ']' ? -1 : 0;
      }
      end = std::min(end + 1, names.size());
      const std::string longer = first + std::string(names.substr(0, end));
      if (!first.empty() && picture::text_width(longer, kSize) > box.width - 6) break;
      first = longer;
      names.remove_prefix(end);
    }
    const std::string second = std::string(names) + (more && names.empty() ? "(not all drawn)" : "");
    const double lift = second.empty() ? 6 : 0;
    svg_.text_in({box.x, box.y + lift, box.width, 12}, first, picture::TextStyle{kSize, kSoftInk});
    svg_.text_in({box.x, box.y + 12, box.width, 12}, second, picture::TextStyle{kSize, kSoftInk});
  }

  void draw_sides() {
    std::vector<model::DeviceId> leaves;
    std::vector<model::DeviceId> hosts;
    for (const Block& block : diagram_.blocks) {
      leaves.insert(leaves.end(), block.leaves.begin(), block.leaves.end());
      hosts.insert(hosts.end(), block.hosts.begin(), block.hosts.end());
    }
    const auto tier = [&](const std::vector<model::DeviceId>& devices) {
      return std::vector<std::string>{
          fmt::format("{} × {}", group_digits(devices.size()), models_text(cluster_, devices))};
    };
    if (!diagram_.above.empty()) {
      const bool site = cluster_.group_of(diagram_.above.front()).kind == model::DeviceKind::external;
      draw_side(svg_, above_y_ + 20, site ? "Site network" : "Frontend",
                {bundle_text(diagram_.above_links) + " links"});
    }
    if (!diagram_.cores.empty()) {
      draw_side(svg_, core_y_ + kPanelHeight / 2, "Cores", tier(diagram_.cores));
      draw_side(svg_, core_y_ + kPanelHeight + 36, "Spine to core", core_link_lines(diagram_));
    }
    if (!diagram_.spines.empty()) draw_side(svg_, spine_y_ + kPanelHeight / 2, "Spines", tier(diagram_.spines));
    const std::vector<std::string> up = uplink_lines(diagram_);
    const double over = diagram_.spines.empty() ? above_y_ + 40 : spine_y_ + kPanelHeight;
    if (!up.empty()) draw_side(svg_, (over + leaf_y_ - 24) / 2, "Uplinks", up);
    draw_side(svg_, leaf_y_ + kLeafPanel / 2, "Leaves", tier(leaves));
    draw_side(svg_, (leaf_y_ + kLeafPanel + host_y_) / 2, "Host links", host_link_lines(diagram_));
    draw_side(svg_, host_y_ + kHostPanel / 2, "Hosts", host_counts(cluster_, hosts));
  }

  picture::Svg& svg_;
  const Diagram& diagram_;
  const model::Cluster& cluster_;
  Layout layout_;
  double left_ = 0, right_ = 0, bottom_ = 0;
  double above_y_ = 0, core_y_ = 0, spine_y_ = 0, leaf_y_ = 0, host_y_ = 0;
};

}  // namespace

double blocks_width(const Diagram& diagram) { return lay_out(diagram).right + kMargin; }

double draw_blocks(picture::Svg& svg, const Diagram& diagram, double top) {
  return BlockPainter(svg, diagram).draw(top);
}

}  // namespace weft::design
