#include "netsim/views/heat_diagram.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/human_format.h"
#include "netsim/views/link_class.h"
#include "netsim/views/picture_style.h"
#include "netsim/views/result_cells.h"

namespace weft::netsim {
namespace {

constexpr std::size_t kMaxCables = 72;    // between switches
constexpr std::size_t kMaxSwitches = 12;  // of one tier
constexpr double kMargin = 24;
constexpr double kBoxWidth = 92;
constexpr double kBoxHeight = 26;
constexpr double kGap = 20;
constexpr double kTierHeight = 150;

struct Diagram {
  std::map<int, std::vector<NodeId>> tiers;
  std::vector<LinkId> cables;  // one direction of each between switches
  [[nodiscard]] bool fits() const {
    if (cables.empty() || cables.size() > kMaxCables || tiers.size() < 2) return false;
    return std::all_of(tiers.begin(), tiers.end(), [](const auto& tier) { return tier.second.size() <= kMaxSwitches; });
  }
  [[nodiscard]] double width() const {
    std::size_t most = 0;
    for (const auto& [tier, members] : tiers) most = std::max(most, members.size());
    return std::max(860.0, static_cast<double>(most) * (kBoxWidth + kGap)) + 2 * kMargin;
  }
};

bool is_fabric_switch(const Node& node) { return node.kind == NodeKind::network_switch && !node.scale_up; }

Diagram diagram_of(const Network& network) {
  Diagram diagram;
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (is_fabric_switch(network.node(id))) diagram.tiers[network.node(id).tier].push_back(id);
  }
  for (std::size_t i = 0; i < network.links().size() && diagram.cables.size() <= kMaxCables; ++i) {
    const auto id = static_cast<LinkId>(i);
    const Link& link = network.link(id);
    if (!is_fabric_switch(network.node(link.from)) || !is_fabric_switch(network.node(link.to))) continue;
    if (network.node(link.from).tier < network.node(link.to).tier) diagram.cables.push_back(id);
  }
  return diagram;
}

class DiagramPainter {
 public:
  DiagramPainter(picture::Svg& svg, const Network& network, const SimResult& result, Diagram diagram)
      : svg_(svg), network_(network), result_(result), diagram_(std::move(diagram)) {}

  double paint(double y) {
    svg_.text({kMargin, y + 14}, "Cables between switches", {.size = 14, .fill = kPictureInk, .bold = true});
    svg_.text({kMargin, y + 30}, "two lines per cable: up on the left, down on the right",
              {.size = 11, .fill = kPictureSoftInk});
    place(y + 44);
    const auto share_of = [&](LinkId id) { return utilization(network_.link(id), stats(id), result_.end); };
    // Draw the hottest on top.
    std::vector<LinkId> lines = diagram_.cables;
    for (const LinkId id : diagram_.cables) lines.push_back(network_.link(id).reverse);
    std::stable_sort(lines.begin(), lines.end(), [&](LinkId a, LinkId b) { return share_of(a) < share_of(b); });
    for (const LinkId id : lines) draw_line(id, share_of(id));
    for (const auto& [node, box] : boxes_) {
      svg_.rect(box, {.fill = "#ffffff", .stroke = kPictureSoftInk, .radius = 4},
                network_.name_of(static_cast<NodeId>(node)));
      svg_.text_in(box, network_.name_of(static_cast<NodeId>(node)), {.size = 12, .fill = kPictureInk});
    }
    return bottom_ + 26;
  }

 private:
  [[nodiscard]] LinkStats stats(LinkId id) const {
    return model::index_of(id) < result_.links.size() ? result_.links[model::index_of(id)] : LinkStats{};
  }

  void place(double y) {
    const double width = diagram_.width() - 2 * kMargin;
    for (auto tier = diagram_.tiers.rbegin(); tier != diagram_.tiers.rend(); ++tier) {
      const double step = width / static_cast<double>(tier->second.size());
      for (std::size_t i = 0; i < tier->second.size(); ++i) {
        const double middle = kMargin + step * (static_cast<double>(i) + 0.5);
        boxes_[model::index_of(tier->second[i])] = {middle - kBoxWidth / 2, y, kBoxWidth, kBoxHeight};
      }
      bottom_ = y + kBoxHeight;
      y += kTierHeight;
    }
  }

  // Spread lines along the edge of a box in the order of its neighbors, so that they do not all meet in one point.
  void draw_line(LinkId id, double share) {
    const Link& link = network_.link(id);
    const bool up = network_.node(link.from).tier < network_.node(link.to).tier;
    const NodeId low = up ? link.from : link.to;
    const NodeId high = up ? link.to : link.from;
    const picture::Box& below = boxes_[model::index_of(low)];
    const picture::Box& above = boxes_[model::index_of(high)];
    const double shift = up ? -2.5 : 2.5;
    const double low_x = below.x + below.width * place_of(high) + shift;
    const double high_x = above.x + above.width * place_of(low) + shift;
    const std::string color = share > 0 ? heat_color(std::max(share, 0.18)) : "#dfe2e5";
    svg_.link({low_x, below.y}, {high_x, above.bottom()},
              {.stroke = color, .stroke_width = 1.5 + 2.5 * std::min(share, 1.0)},
              fmt::format("{}: {} of {}", network_.link_name(id), format_short_percent(share), to_text(link.rate)));
  }

  [[nodiscard]] double place_of(NodeId other) const {
    const int tier = network_.node(other).tier;
    const std::vector<NodeId>& peers = diagram_.tiers.at(tier);
    const auto at = std::find(peers.begin(), peers.end(), other) - peers.begin();
    return (static_cast<double>(at) + 1) / (static_cast<double>(peers.size()) + 1);
  }

  picture::Svg& svg_;
  const Network& network_;
  const SimResult& result_;
  Diagram diagram_;
  std::map<std::uint32_t, picture::Box> boxes_;
  double bottom_ = 0;
};

}  // namespace

double heat_diagram_width(const Network& network) {
  const Diagram diagram = diagram_of(network);
  return diagram.fits() ? diagram.width() : 0;
}

double draw_heat_diagram(picture::Svg& svg, const Network& network, const SimResult& result, double y) {
  Diagram diagram = diagram_of(network);
  if (!diagram.fits()) return y;
  return DiagramPainter(svg, network, result, std::move(diagram)).paint(y);
}

}  // namespace weft::netsim
