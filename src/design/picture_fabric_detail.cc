// Draws a small fabric with every switch, host and link.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "design/picture_fabric.h"
#include "design/views_common.h"

namespace weft::design {
namespace {

constexpr std::size_t kMaxLeaves = 48;
constexpr std::size_t kMaxSwitchesAbove = 64;
constexpr std::size_t kFewHosts = 64;  // drawn with all their links
constexpr std::size_t kMaxHosts = 160;
constexpr std::uint64_t kMaxHostLinks = 600;  // limit for more hosts than that
constexpr double kBlockGap = 18;
constexpr double kBlockPad = 8;
constexpr double kSwitchHeight = 30;
constexpr double kBandPad = 12;
constexpr double kHostText = 10;
constexpr double kWidestLeaf = 147;

// Widths of a host and a leaf, the largest that fit.
struct Sizes {
  double host = 26;
  double leaf = 92;
};

double block_width(const Block& block, const Sizes& sizes) {
  const double inside =
      std::max({picture::real(block.leaves.size()) * sizes.leaf, picture::real(block.hosts.size()) * sizes.host,
                picture::text_width(block.name, 11, true) + 6});
  return inside + 2 * kBlockPad;
}

double total_width(const Diagram& diagram, const Sizes& sizes) {
  double width = 2 * kMargin + kSide - kBlockGap;
  for (const Block& block : diagram.blocks) width += block_width(block, sizes) + kBlockGap;
  return width;
}

Sizes choose_sizes(const Diagram& diagram) {
  Sizes sizes;
  while (total_width(diagram, sizes) > kPictureWidth && (sizes.host > 13 || sizes.leaf > 38)) {
    sizes.host = std::max(13.0, sizes.host - 1);
    sizes.leaf = std::max(38.0, sizes.leaf - 4);
  }
  while (total_width(diagram, sizes) < kMinWidth && sizes.host < 36) sizes.host += 1;
  return sizes;
}

// Short names of the switches of a group: without their common prefix up to a '-'.
std::vector<std::string> short_names(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices) {
  if (devices.empty()) return {};
  std::string_view shared = cluster.name_of(devices.front());
  for (const model::DeviceId id : devices) {
    const std::string& name = cluster.name_of(id);
    const auto differs = std::mismatch(shared.begin(), shared.end(), name.begin(), name.end());
    shared = shared.substr(0, static_cast<std::size_t>(differs.first - shared.begin()));
  }
  const std::size_t dash = shared.rfind('-');
  const std::size_t cut = dash == std::string_view::npos ? 0 : dash + 1;
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const model::DeviceId id : devices) names.push_back(cluster.name_of(id).substr(cut));
  return names;
}

class DetailPainter {
 public:
  DetailPainter(picture::Svg& svg, const Diagram& diagram)
      : svg_(svg), diagram_(diagram), cluster_(*diagram.cluster), sizes_(choose_sizes(diagram)) {}

  double draw(double top) {
    place(top);
    draw_panels();
    draw_switch_links();
    draw_host_links();
    draw_switches();
    draw_hosts();
    draw_sides();
    return bottom_;
  }

 private:
  struct Row {
    double y = 0;  // of the boxes
    double height = kSwitchHeight;
    bool used = false;
    [[nodiscard]] double middle() const { return y + height / 2; }
  };

  void place(double top) {
    double y = top + kBandPad;
    const auto row = [&](Row& which, bool used, double gap) {
      which.used = used;
      which.y = y;
      if (used) y += which.height + gap;
    };
    row(above_, !diagram_.above.empty(), 70);
    row(cores_, !diagram_.cores.empty(), 110);
    row(spines_, !diagram_.spines.empty(), 130);
    leaves_.y = y + 18;  // the block's name is above its leaves
    y = leaves_.y + kSwitchHeight + (diagram_.host_links > 200 ? 190 : 130);
    hosts_.y = y;
    double longest = 40;
    for (const Block& block : diagram_.blocks) {
      for (const model::DeviceId id : block.hosts) {
        longest = std::max(longest, picture::text_width(cluster_.name_of(id), kHostText) + 10);
      }
    }
    hosts_.height = std::min(longest, 150.0);
    bottom_ = hosts_.y + hosts_.height + 2 * kBandPad;
    place_blocks();
    place_row(diagram_.spines, spines_.y);
    place_row(diagram_.cores, cores_.y);
    place_row(diagram_.above, above_.y);
  }

  void place_blocks() {
    double x = kMargin + kSide;
    for (const Block& block : diagram_.blocks) {
      const double width = block_width(block, sizes_);
      panels_.push_back({x, leaves_.y - 22, width, hosts_.y + hosts_.height + kBandPad - leaves_.y + 22});
      const double leaf_step = std::min(kWidestLeaf, (width - 2 * kBlockPad) / picture::real(block.leaves.size()));
      const double leaf_start = x + (width - leaf_step * picture::real(block.leaves.size())) / 2;
      for (std::size_t i = 0; i < block.leaves.size(); ++i) {
        boxes_[block.leaves[i]] = {leaf_start + picture::real(i) * leaf_step + 3, leaves_.y, leaf_step - 6,
                                   kSwitchHeight};
      }
      const double start = x + (width - sizes_.host * picture::real(block.hosts.size())) / 2;
      for (std::size_t i = 0; i < block.hosts.size(); ++i) {
        host_boxes_[block.hosts[i]] = {start + picture::real(i) * sizes_.host + 1, hosts_.y, sizes_.host - 2,
                                       hosts_.height};
      }
      x += width + kBlockGap;
    }
    right_ = x - kBlockGap;
  }

  void place_row(const std::vector<model::DeviceId>& devices, double y) {
    if (devices.empty()) return;
    const double start = kMargin + kSide;
    const double step = (right_ - start) / picture::real(devices.size());
    const double width = std::min(step - 6, 130.0);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      boxes_[devices[i]] = {start + (picture::real(i) + 0.5) * step - width / 2, y, width, kSwitchHeight};
    }
  }

  void draw_panels() {
    const double start = kMargin + kSide;
    for (const Row* row : {&cores_, &spines_, &above_}) {
      if (!row->used) continue;
      svg_.rect({start - 4, row->y - 8, right_ - start + 8, row->height + 16},
                picture::Paint{kPanel, "none", 1, 1, {}, 6});
    }
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      const Block& block = diagram_.blocks[i];
      svg_.rect(panels_[i], picture::Paint{kPanel, "#d5d8dc", 1, 1, {}, 6},
                fmt::format("{}: {}, {}", block.name, folded_names(cluster_, block.leaves),
                            hosts_text(cluster_, block.hosts)));
    }
  }

  void draw_switch_links() {
    std::map<std::pair<model::DeviceId, model::DeviceId>, std::uint64_t> trunks;
    std::map<std::pair<model::DeviceId, model::DeviceId>, std::uint32_t> speeds;
    for (const model::Cable& cable : cluster_.cables()) {
      if (cable.role == model::CableRole::host_leaf || cable.role == model::CableRole::manager_leaf) continue;
      const model::DeviceId low = cluster_.port(cable.a).device;
      const model::DeviceId high = cluster_.port(cable.b).device;
      if (low == high || boxes_.count(low) == 0 || boxes_.count(high) == 0 || !belongs(cable)) continue;
      ++trunks[{low, high}];
      speeds[{low, high}] = cluster_.port(cable.a).speed_mbps;
    }
    for (const auto& [ends, count] : trunks) {
      const auto& [low, high] = ends;
      const std::string tooltip = fmt::format("{} to {}: {} × {}", cluster_.name_of(low), cluster_.name_of(high), count,
                                              to_text(BitRate(std::int64_t{speeds[ends]} * 1'000'000)));
      const picture::Paint paint{"none", "#7d848b", std::min(0.9 + 0.2 * picture::real(count), 2.4), 0.55};
      const picture::Box& a = boxes_[low];
      const picture::Box& b = boxes_[high];
      mark_link(svg_, low, high);
      if (a.y == b.y) {
        svg_.line(a.center(), b.center(), picture::Paint{"none", "#7d848b", 2, 1, "4 2"}, tooltip);
      } else {
        svg_.link(a.top_center(), b.bottom_center(), paint, tooltip);
      }
    }
  }

  [[nodiscard]] bool belongs(const model::Cable& cable) const {
    return cable.fabric == diagram_.fabric ||
           (cable.role == model::CableRole::oob_frontend && diagram_.fabric == model::FabricKind::oob);
  }

  [[nodiscard]] std::string_view host_link_color(const model::Port& port) const {
    if (diagram_.fabric == model::FabricKind::oob || diagram_.rails < 2) return switch_look(diagram_.fabric).fill;
    return rail_color(port.rail);
  }

  void draw_host_links() {
    struct End {
      model::PortId host;
      model::PortId leaf;
    };
    std::map<model::DeviceId, std::vector<End>> by_leaf;
    std::map<model::DeviceId, std::size_t> per_host;
    for (const model::Cable& cable : cluster_.cables()) {
      if (cable.role != model::CableRole::host_leaf && cable.role != model::CableRole::manager_leaf) continue;
      if (!belongs(cable)) continue;
      by_leaf[cluster_.port(cable.b).device].push_back({cable.a, cable.b});
      ++per_host[cluster_.port(cable.a).device];
    }
    std::map<model::DeviceId, std::size_t> drawn;
    for (auto& [leaf, ends] : by_leaf) {
      // Sorted by the host's position, so that links to one leaf do not cross.
      std::stable_sort(ends.begin(), ends.end(), [&](const End& a, const End& b) {
        return host_boxes_[cluster_.port(a.host).device].x < host_boxes_[cluster_.port(b.host).device].x;
      });
      const picture::Box& leaf_box = boxes_[leaf];
      for (std::size_t i = 0; i < ends.size(); ++i) {
        const model::Port& port = cluster_.port(ends[i].host);
        const picture::Box& host = host_boxes_[port.device];
        const double at_host = (picture::real(drawn[port.device]++) + 0.5) / picture::real(per_host[port.device]);
        const double at_leaf = (picture::real(i) + 0.5) / picture::real(ends.size());
        mark_link(svg_, port.device, leaf);
        svg_.link({host.x + host.width * at_host, host.y},
                  {leaf_box.x + 4 + (leaf_box.width - 8) * at_leaf, leaf_box.bottom()},
                  picture::Paint{"none", host_link_color(port), 1, 0.65},
                  fmt::format("{} to {}, {}", cluster_.full_port_name(ends[i].host),
                              cluster_.full_port_name(ends[i].leaf), to_text(port.speed())));
      }
    }
  }

  void draw_switch_box(model::DeviceId id, std::string_view shown) {
    const model::DeviceGroup& group = cluster_.group_of(id);
    const Look& look = look_of(cluster_, group);
    const picture::Box& box = boxes_[id];
    mark_device(svg_, id);
    svg_.rect(box, picture::Paint{look.fill, look.stroke, 1, 1, {}, 3},
              fmt::format("{}: {} {}, rack {}", cluster_.name_of(id), views::model_id(cluster_, id),
                          views::role_of(cluster_, group), views::rack_name(cluster_, id)));
    const double size = picture::text_width(shown, 11, true) + 4 <= box.width ? 11 : 9;
    svg_.text_in(box, shown, picture::TextStyle{size, look.ink, picture::Anchor::middle, true});
    if (group.fabric != diagram_.fabric || !diagram_.tier_has_rails(group.tier)) return;
    svg_.rect({box.x, box.bottom() - 5, box.width, 5},
              picture::Paint{rail_color(cluster_.device(id).rail), "#ffffff", 0.5});
  }

  // To the left of the leaves if it fits; else above them with a background, because uplinks pass there.
  void draw_block_name(const Block& block, const picture::Box& panel) {
    const picture::TextStyle style{11, kInk, picture::Anchor::start, true};
    const double width = picture::text_width(block.name, style.size, true) + 10;
    if (boxes_[block.leaves.front()].x > panel.x + width + 12) {
      svg_.text({panel.x + 10, panel.y + 17}, block.name, style);
      return;
    }
    svg_.rect({panel.center().x - width / 2, panel.y + 3, width, 16}, picture::Paint{kPanel, "none", 1, 1, {}, 3});
    svg_.text_in({panel.x, panel.y + 3, panel.width, 16}, block.name, style);
  }

  void draw_switches() {
    for (std::size_t b = 0; b < diagram_.blocks.size(); ++b) {
      const Block& block = diagram_.blocks[b];
      std::vector<std::string> names = short_names(cluster_, block.leaves);
      if (names.size() == 1) {
        const std::string& full = cluster_.name_of(block.leaves.front());
        const double room = boxes_[block.leaves.front()].width - 4;
        names.front() = picture::text_width(full, 9, true) <= room ? full : block.name;
      } else {
        draw_block_name(block, panels_[b]);
      }
      for (std::size_t i = 0; i < block.leaves.size(); ++i) {
        draw_switch_box(block.leaves[i], names[i]);
      }
    }
    for (const auto* row : {&diagram_.spines, &diagram_.cores, &diagram_.above}) {
      const std::vector<std::string> names = short_names(cluster_, *row);
      for (std::size_t i = 0; i < row->size(); ++i) draw_switch_box((*row)[i], names[i]);
    }
  }

  void draw_hosts() {
    for (const Block& block : diagram_.blocks) {
      for (const model::DeviceId id : block.hosts) {
        const model::DeviceGroup& group = cluster_.group_of(id);
        const Look& look = look_of(cluster_, group);
        const picture::Box& box = host_boxes_[id];
        mark_device(svg_, id);
        svg_.rect(box, picture::Paint{look.fill, look.stroke, 0.8, 1, {}, 2},
                  fmt::format("{}: {}, rack {}", cluster_.name_of(id), views::model_id(cluster_, id),
                              views::rack_name(cluster_, id)));
        svg_.text_in(
            box, cluster_.name_of(id),
            picture::TextStyle{std::min(kHostText, box.width - 1.5), look.ink, picture::Anchor::middle, false, -90});
      }
    }
  }

  void draw_sides() {
    std::vector<model::DeviceId> leaves;
    std::vector<model::DeviceId> hosts;
    for (const Block& block : diagram_.blocks) {
      leaves.insert(leaves.end(), block.leaves.begin(), block.leaves.end());
      hosts.insert(hosts.end(), block.hosts.begin(), block.hosts.end());
    }
    const auto tier = [&](const std::vector<model::DeviceId>& devices) {
      return std::vector<std::string>{fmt::format("{} × {}", devices.size(), models_text(cluster_, devices))};
    };
    if (above_.used) {
      const bool site = cluster_.group_of(diagram_.above.front()).kind == model::DeviceKind::external;
      draw_side(svg_, above_.middle(), site ? "Site network" : "Frontend",
                {bundle_text(diagram_.above_links) + " links"});
    }
    if (cores_.used) draw_side(svg_, cores_.middle(), "Cores", tier(diagram_.cores));
    if (cores_.used) {
      draw_side(svg_, (cores_.middle() + spines_.middle()) / 2, "Spine to core", core_link_lines(diagram_));
    }
    if (spines_.used) draw_side(svg_, spines_.middle(), "Spines", tier(diagram_.spines));
    const Row& over = spines_.used ? spines_ : above_;
    if (over.used && !uplink_lines(diagram_).empty()) {
      draw_side(svg_, (over.middle() + leaves_.y + kSwitchHeight / 2) / 2, "Uplinks", uplink_lines(diagram_));
    }
    draw_side(svg_, leaves_.middle(), "Leaves", tier(leaves));
    draw_side(svg_, (leaves_.y + kSwitchHeight + hosts_.y) / 2, "Host links", host_link_lines(diagram_));
    draw_side(svg_, hosts_.middle(), "Hosts", host_counts(cluster_, hosts));
  }

  struct IdHash {
    std::size_t operator()(model::DeviceId id) const { return model::index_of(id); }
  };

  picture::Svg& svg_;
  const Diagram& diagram_;
  const model::Cluster& cluster_;
  Sizes sizes_;
  Row above_, cores_, spines_, leaves_, hosts_;
  std::vector<picture::Box> panels_;                                 // of the blocks
  std::unordered_map<model::DeviceId, picture::Box, IdHash> boxes_;  // of switches in their tier
  std::unordered_map<model::DeviceId, picture::Box, IdHash>
      host_boxes_;  // of hosts, including switches that are managed out of band
  double right_ = 0;
  double bottom_ = 0;
};

}  // namespace

double detail_width(const Diagram& diagram) { return total_width(diagram, choose_sizes(diagram)); }

bool fits_in_detail(const Diagram& diagram) {
  return diagram.leaves <= kMaxLeaves && diagram.hosts <= kMaxHosts &&
         (diagram.hosts <= kFewHosts || diagram.host_links <= kMaxHostLinks) &&
         diagram.spines.size() <= kMaxSwitchesAbove && diagram.cores.size() <= kMaxSwitchesAbove &&
         detail_width(diagram) <= kPictureWidth;
}

double draw_detail(picture::Svg& svg, const Diagram& diagram, double top) {
  return DetailPainter(svg, diagram).draw(top);
}

}  // namespace weft::design
