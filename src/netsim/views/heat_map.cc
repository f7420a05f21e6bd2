#include "netsim/views/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/human_format.h"
#include "netsim/views/heat_diagram.h"
#include "netsim/views/link_class.h"
#include "netsim/views/picture_style.h"
#include "netsim/views/result_cells.h"

namespace weft::netsim {
namespace {

using picture::Anchor;
using picture::Svg;

constexpr double kMargin = 24;
constexpr double kMaxWidth = 1640;  // of the picture, unless one layer needs more
constexpr double kMinPanel = 200;   // its heading must fit
constexpr double kGap = 36;
constexpr double kPanelWidth = 560;  // of the cells, at most
constexpr double kPanelHeight = 900;
constexpr std::size_t kMaxCells = 48;  // rows or columns; more share a cell

// The two directions of one layer of links: rows are the switches below (or the leaf, for hosts), columns what they
// are connected to.
struct Layer {
  LinkClass first;
  LinkClass second;
  std::string_view row_word;
  std::string_view column_word;
};
constexpr Layer kLayers[] = {
    {LinkClass::spine_up, LinkClass::core_down, "spine", "core"},
    {LinkClass::leaf_up, LinkClass::spine_down, "leaf", "spine"},
    {LinkClass::lateral, LinkClass::lateral, "switch", "neighbor"},
    {LinkClass::nic_send, LinkClass::nic_receive, "leaf", "host port"},
    {LinkClass::scale_up_send, LinkClass::scale_up_receive, "NVLink switch", "GPU"},
};

struct HeatCell {
  std::uint32_t links = 0;
  LinkId hottest = model::kNone<LinkId>;
  double share = 0;
  bool paused = false;
};

struct Matrix {
  std::vector<std::string> rows;  // labels
  std::vector<std::string> columns;
  bool named_columns = false;
  std::uint32_t rows_each = 1;  // rows per cell
  std::uint32_t columns_each = 1;
  std::vector<HeatCell> first;  // by row, then column
  std::vector<HeatCell> second;
  [[nodiscard]] bool used() const {
    const auto busy = [](const HeatCell& cell) { return cell.share > 0; };
    return std::any_of(first.begin(), first.end(), busy) || std::any_of(second.begin(), second.end(), busy);
  }
};

class MatrixMaker {
 public:
  MatrixMaker(const Network& network, const SimResult& result) : network_(network), result_(result) {}

  Matrix make(const Layer& layer) {
    neighbors_.clear();
    column_nodes_.clear();
    placed_row_ = UINT32_MAX;
    for (std::size_t i = 0; i < network_.links().size(); ++i) {
      const auto id = static_cast<LinkId>(i);
      if (class_of(network_, id) != layer.first) continue;
      const auto [row, column] = ends_of(id);
      neighbors_[row].insert(column);
      column_nodes_.insert(column);
    }
    Matrix matrix;
    if (neighbors_.empty()) return matrix;
    label(matrix, layer);
    for (std::size_t i = 0; i < network_.links().size(); ++i) {
      const auto id = static_cast<LinkId>(i);
      const LinkClass kind = class_of(network_, id);
      if (kind == layer.first) add(matrix, matrix.first, id);
      if (kind == layer.second && layer.second != layer.first) add(matrix, matrix.second, id);
    }
    return matrix;
  }

 private:
  // Row and column: the leaf for hosts, the lower switch between tiers, the sender between switches of one tier.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> ends_of(LinkId id) const {
    const Link& link = network_.link(id);
    const std::uint32_t from = model::index_of(link.from);
    const std::uint32_t to = model::index_of(link.to);
    switch (class_of(network_, id)) {
      case LinkClass::nic_send:
      case LinkClass::scale_up_send:
      case LinkClass::spine_down:
      case LinkClass::core_down:
        return {to, from};
      case LinkClass::nic_receive:
      case LinkClass::scale_up_receive:
      case LinkClass::leaf_up:
      case LinkClass::spine_up:
      case LinkClass::lateral:
        break;
    }
    return {from, to};
  }

  // Columns are named if most rows have most of them; else they are the first, second, ... neighbor of a row.
  void label(Matrix& matrix, const Layer& layer) {
    std::size_t pairs = 0;
    std::size_t longest = 0;
    for (const auto& [row, others] : neighbors_) {
      pairs += others.size();
      longest = std::max(longest, others.size());
    }
    const bool hosts = layer.first == LinkClass::nic_send || layer.first == LinkClass::scale_up_send;
    matrix.named_columns = !hosts && pairs * 2 >= neighbors_.size() * column_nodes_.size();
    const std::size_t columns = matrix.named_columns ? column_nodes_.size() : longest;
    matrix.rows_each = static_cast<std::uint32_t>((neighbors_.size() + kMaxCells - 1) / kMaxCells);
    matrix.columns_each = static_cast<std::uint32_t>((columns + kMaxCells - 1) / kMaxCells);
    std::size_t number = 0;
    for (const auto& [row, others] : neighbors_) {
      row_number_[row] = static_cast<std::uint32_t>(number);
      if (number++ % matrix.rows_each != 0) continue;
      matrix.rows.push_back(network_.name_of(static_cast<NodeId>(row)));
      if (matrix.rows_each > 1) matrix.rows.back() += fmt::format(" +{}", matrix.rows_each - 1);
    }
    number = 0;
    for (const std::uint32_t column : column_nodes_) {
      column_number_[column] = static_cast<std::uint32_t>(number);
      const bool shown = matrix.named_columns && number % matrix.columns_each == 0;
      if (shown) matrix.columns.push_back(network_.name_of(static_cast<NodeId>(column)));
      ++number;
    }
    if (!matrix.named_columns) {
      for (std::size_t i = 0; i < columns; i += matrix.columns_each) matrix.columns.push_back(std::to_string(i + 1));
    }
    matrix.first.resize(matrix.rows.size() * matrix.columns.size());
    matrix.second.resize(layer.first == layer.second ? 0 : matrix.first.size());
  }

  void add(const Matrix& matrix, std::vector<HeatCell>& cells, LinkId id) {
    const auto [row, column] = ends_of(id);
    const auto others = neighbors_.find(row);
    if (others == neighbors_.end()) return;
    const std::size_t place = matrix.named_columns ? column_number_[column] : place_among(row, others->second, column);
    HeatCell& cell = cells[row_number_[row] / matrix.rows_each * matrix.columns.size() + place / matrix.columns_each];
    const std::size_t index = model::index_of(id);
    const LinkStats stats = index < result_.links.size() ? result_.links[index] : LinkStats{};
    const double share = utilization(network_.link(id), stats, result_.end);
    if (cell.links++ == 0 || share > cell.share) {
      cell.hottest = id;
      cell.share = share;
    }
    cell.paused = cell.paused || stats.pauses > 0;
  }

  // The places of one row are computed once.
  std::size_t place_among(std::uint32_t row, const std::set<std::uint32_t>& others, std::uint32_t column) {
    if (row != placed_row_) {
      placed_row_ = row;
      places_.clear();
      std::size_t next = 0;
      for (const std::uint32_t other : others) places_[other] = next++;
    }
    return places_[column];
  }

  const Network& network_;
  const SimResult& result_;
  std::map<std::uint32_t, std::set<std::uint32_t>> neighbors_;  // row node: column nodes
  std::set<std::uint32_t> column_nodes_;
  std::map<std::uint32_t, std::uint32_t> row_number_;
  std::map<std::uint32_t, std::uint32_t> column_number_;
  std::uint32_t placed_row_ = UINT32_MAX;
  std::map<std::uint32_t, std::size_t> places_;
};

std::string link_words(const Network& network, const SimResult& result, const HeatCell& cell) {
  const std::size_t index = model::index_of(cell.hottest);
  const LinkStats stats = index < result.links.size() ? result.links[index] : LinkStats{};
  std::string text = fmt::format(
      "{}{}: {} of {}", cell.links > 1 ? fmt::format("hottest of {}: ", cell.links) : std::string(),
      network.link_name(cell.hottest), format_short_percent(cell.share), to_text(network.link(cell.hottest).rate));
  if (stats.max_queue.count() > 0) text += fmt::format(", queue up to {}", about(stats.max_queue));
  if (stats.marked > 0) text += fmt::format(", {} marked", group_digits(stats.marked));
  if (stats.pauses > 0) text += fmt::format(", paused {}", format_fine_time(stats.paused));
  if (stats.dropped > 0) text += fmt::format(", {} dropped", group_digits(stats.dropped));
  return text;
}

class HeatPainter {
 public:
  HeatPainter(const Network& network, const SimResult& result) : network_(network), result_(result) {}

  std::string paint(std::string_view title, std::string_view where) && {
    std::vector<std::pair<const Layer*, Matrix>> matrices;
    MatrixMaker maker(network_, result_);
    for (const Layer& layer : kLayers) {
      Matrix matrix = maker.make(layer);
      if (matrix.rows.empty() || (layer.first == LinkClass::scale_up_send && !matrix.used())) continue;
      matrices.emplace_back(&layer, std::move(matrix));
    }
    const std::vector<Place> places = arrange(matrices);
    width_ = std::max(900.0, heat_diagram_width(network_));
    for (std::size_t i = 0; i < places.size(); ++i) {
      width_ = std::max(width_, places[i].x + width_of(matrices[i].second) + kMargin);
    }
    double y = draw_picture_heading(svg_, width_, title, {where, subtitle()});
    y = legend(y);
    y = draw_heat_diagram(svg_, network_, result_, y);
    double bottom = y;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& [layer, matrix] = matrices[i];
      panels(*layer, matrix, places[i].x, y + places[i].y);
      bottom = std::max(bottom, y + places[i].y + height_of(matrix));
    }
    y = bottom;
    return svg_.finish(width_, y, title);
  }

 private:
  struct Place {
    double x = 0;
    double y = 0;
  };

  // Layers from left to right, wrapped if one does not fit.
  [[nodiscard]] static std::vector<Place> arrange(const std::vector<std::pair<const Layer*, Matrix>>& matrices) {
    std::vector<Place> places;
    Place next{kMargin, 0};
    double line = 0;  // height of the current line
    for (const auto& [layer, matrix] : matrices) {
      if (next.x > kMargin && next.x + width_of(matrix) + kMargin > kMaxWidth) {
        next = {kMargin, next.y + line};
        line = 0;
      }
      places.push_back(next);
      next.x += width_of(matrix) + 2 * kGap;
      line = std::max(line, height_of(matrix));
    }
    return places;
  }

  [[nodiscard]] static double cell_width(const Matrix& matrix) {
    return std::clamp(kPanelWidth / static_cast<double>(matrix.columns.size()), 8.0, 34.0);
  }
  [[nodiscard]] static double cell_height(const Matrix& matrix) {
    return std::clamp(kPanelHeight / static_cast<double>(matrix.rows.size()), 8.0, 20.0);
  }
  [[nodiscard]] static double label_width(const Matrix& matrix) {
    double width = 40;
    for (const std::string& row : matrix.rows) width = std::max(width, picture::text_width(row, 11));
    return std::min(width, 200.0) + 8;
  }
  [[nodiscard]] static double panel_width(const Matrix& matrix) {
    return label_width(matrix) + cell_width(matrix) * static_cast<double>(matrix.columns.size());
  }
  // Width of both directions.
  [[nodiscard]] static double width_of(const Matrix& matrix) {
    const double each = std::max(panel_width(matrix), kMinPanel);
    return matrix.second.empty() ? each : 2 * each + kGap;
  }
  [[nodiscard]] static double height_of(const Matrix& matrix) {
    return 40 + label_height(matrix) + cell_height(matrix) * static_cast<double>(matrix.rows.size()) + 26;
  }
  // Column labels: upright if they fit, else rotated.
  [[nodiscard]] static double longest_label(const Matrix& matrix) {
    double longest = 0;
    for (const std::string& column : matrix.columns) longest = std::max(longest, picture::text_width(column, 11));
    return longest;
  }
  [[nodiscard]] static std::size_t label_step(const Matrix& matrix) { return cell_width(matrix) >= 12 ? 1 : 2; }
  [[nodiscard]] static bool labels_upright(const Matrix& matrix) {
    return longest_label(matrix) + 2 <= cell_width(matrix) * static_cast<double>(label_step(matrix));
  }
  [[nodiscard]] static double label_height(const Matrix& matrix) {
    return labels_upright(matrix) ? 14 : std::min(longest_label(matrix), 160.0) + 6;
  }

  [[nodiscard]] std::string subtitle() const {
    std::uint64_t switches = 0;
    for (const Node& node : network_.nodes()) {
      if (node.kind == NodeKind::network_switch && !node.scale_up) ++switches;
    }
    return fmt::format(
        "{}, {}, {}; {} engine, {} simulated", grouped_plural(network_.endpoints().size(), "endpoint", "endpoints"),
        grouped_plural(switches, "switch", "switches"), grouped_plural(network_.links().size() / 2, "cable", "cables"),
        to_text(result_.fidelity), format_fine_time(result_.end));
  }

  double legend(double y) {
    constexpr int kSteps = 40;
    constexpr double kStep = 7;
    const double x = kMargin;
    for (int i = 0; i < kSteps; ++i) {
      svg_.rect({x + i * kStep, y, kStep + 0.3, 14}, {.fill = heat_color((i + 0.5) / kSteps)});
    }
    const picture::TextStyle style{.size = 11, .fill = kPictureSoftInk, .anchor = Anchor::middle};
    for (const int percent : {0, 25, 50, 75, 100}) {
      const double at = x + kSteps * kStep * percent / 100;
      svg_.line({at, y + 14}, {at, y + 18}, {.stroke = kPictureSoftInk});
      svg_.text({at, y + 30}, std::to_string(percent), style);
    }
    svg_.text({x + kSteps * kStep + 14, y + 11}, "% of the link's rate, mean over the run",
              {.size = 12, .fill = kPictureInk});
    const double right = x + kSteps * kStep + 14 + 260;
    svg_.rect({right, y, 18, 14}, {.fill = kPictureIdle});
    svg_.text({right + 24, y + 11}, "idle", {.size = 12, .fill = kPictureInk});
    svg_.rect({right + 74, y + 1, 16, 12}, {.fill = "#ffffff", .stroke = kPicturePaused, .stroke_width = 2});
    svg_.text({right + 98, y + 11}, "paused by PFC at least once", {.size = 12, .fill = kPictureInk});
    return y + 48;
  }

  void panels(const Layer& layer, const Matrix& matrix, double x, double y) {
    panel(layer, layer.first, matrix, matrix.first, {x, y});
    if (matrix.second.empty()) return;
    panel(layer, layer.second, matrix, matrix.second, {x + std::max(panel_width(matrix), kMinPanel) + kGap, y});
  }

  void panel(const Layer& layer, LinkClass kind, const Matrix& matrix, const std::vector<HeatCell>& cells, Place at) {
    std::string heading(to_text(kind));
    if (heading.front() >= 'a') heading.front() = static_cast<char>(heading.front() - 'a' + 'A');
    svg_.text({at.x, at.y + 14}, heading, {.size = 14, .fill = kPictureInk, .bold = true});
    svg_.text({at.x, at.y + 30}, axes_words(layer, matrix), {.size = 11, .fill = kPictureSoftInk});
    const double left = at.x + label_width(matrix);
    column_labels(matrix, left, at.y + 38);
    const double top = at.y + 40 + label_height(matrix);
    const double height = cell_height(matrix);
    for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
      const double y = top + height * static_cast<double>(row);
      if (height >= 11 || row % 2 == 0) {
        svg_.text({left - 6, y + height / 2 + 4}, picture::fit_text(matrix.rows[row], 11, 200),
                  {.size = 11, .fill = kPictureInk, .anchor = Anchor::end});
      }
      for (std::size_t column = 0; column < matrix.columns.size(); ++column) {
        cell(cells[row * matrix.columns.size() + column],
             {left + cell_width(matrix) * static_cast<double>(column), y, cell_width(matrix), height});
      }
    }
  }

  static std::string axes_words(const Layer& layer, const Matrix& matrix) {
    std::string words = fmt::format("row: {}, column: {}{}", layer.row_word, layer.column_word,
                                    matrix.named_columns ? "" : " by number");
    std::uint32_t most = 0;
    for (const HeatCell& cell : matrix.first) most = std::max(most, cell.links);
    if (most > 1) words += fmt::format("; hottest of up to {} links", most);
    return words;
  }

  void column_labels(const Matrix& matrix, double left, double y) {
    const bool upright = labels_upright(matrix);
    for (std::size_t i = 0; i < matrix.columns.size(); i += label_step(matrix)) {
      const double middle = left + cell_width(matrix) * (static_cast<double>(i) + 0.5);
      const std::string text = picture::fit_text(matrix.columns[i], 11, 160);
      if (upright) {
        svg_.text({middle, y + 10}, text, {.size = 11, .fill = kPictureInk, .anchor = Anchor::middle});
      } else {
        svg_.text({middle + 4, y + label_height(matrix) - 2}, text, {.size = 11, .fill = kPictureInk, .angle = -90});
      }
    }
  }

  void cell(const HeatCell& cell, const picture::Box& box) {
    if (cell.links == 0) return;
    const double inset = box.width >= 12 && box.height >= 12 ? 0.75 : 0.25;
    const picture::Box inner{box.x + inset, box.y + inset, box.width - 2 * inset, box.height - 2 * inset};
    const std::string color = cell.share > 0 ? heat_color(cell.share) : std::string(kPictureIdle);
    svg_.rect(inner, {.fill = color}, link_words(network_, result_, cell));
    if (cell.paused) {
      svg_.rect({inner.x + 1, inner.y + 1, inner.width - 2, inner.height - 2},
                {.stroke = kPicturePaused, .stroke_width = box.width >= 12 ? 2.0 : 1.0});
    }
    if (box.width >= 26 && box.height >= 14 && cell.share > 0) {
      svg_.text_in(inner, fmt::format("{:.0f}", cell.share * 100), {.size = 10.5, .fill = heat_ink(cell.share)});
    }
  }

  const Network& network_;
  const SimResult& result_;
  double width_ = 0;
  Svg svg_;
};

}  // namespace

std::string heat_map_svg(const Network& network, const SimResult& result, std::string_view title,
                         std::string_view where) {
  return HeatPainter(network, result).paint(title, where);
}

}  // namespace weft::netsim
