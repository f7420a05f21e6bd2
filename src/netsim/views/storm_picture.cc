// The storm tree as a picture: the tree on the left, the pause times of each link on the right.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/human_format.h"
#include "netsim/views/picture_style.h"
#include "netsim/views/result_cells.h"
#include "netsim/views/storm_tree.h"

namespace weft::netsim {
namespace {

using picture::Anchor;
using picture::Svg;

constexpr std::size_t kMaxRows = 160;
constexpr double kRow = 20;
constexpr double kMargin = 24;
constexpr double kIndent = 16;
constexpr double kTimeline = 520;
constexpr double kNumbers = 150;  // stops and paused time

class StormPainter {
 public:
  StormPainter(const Network& network, const SimResult& result, const StormTree& tree)
      : network_(network), tree_(tree), end_(std::max(result.end, picoseconds(1))), axis_(time_axis(end_)) {
    name_width_ = 240;
    for (std::size_t i = 0; i < std::min(tree.branches.size(), kMaxRows); ++i) {
      const StormBranch& branch = tree.branches[i];
      name_width_ = std::max(name_width_, indent_of(branch) + 20 + picture::text_width(label_of(branch), 12));
    }
    for (const StormRoot& root : tree.roots) {
      name_width_ = std::max(name_width_, 24 + picture::text_width(root_name(network, root), 13, true));
    }
    name_width_ = std::min(name_width_, 480.0);
    timeline_x_ = kMargin + name_width_ + kNumbers + 12;
    width_ = timeline_x_ + kTimeline + kMargin;
  }

  std::string paint(std::string_view title, std::string_view where) && {
    double y = draw_picture_heading(svg_, width_, title, {where, subtitle()});
    if (tree_.empty()) {
      svg_.text({kMargin, y + 20}, "No link was paused.", {.size = 13, .fill = kPictureInk});
      return svg_.finish(width_, y + 50, title);
    }
    y = headings(y + 6);
    axis(y, y + rows_height());
    y = rows(y) + 40;
    y = legend(y);
    return svg_.finish(width_, y + 12, title);
  }

 private:
  [[nodiscard]] static double indent_of(const StormBranch& branch) {
    return kIndent * std::min<std::uint32_t>(branch.depth + 1, 12);
  }

  [[nodiscard]] std::string label_of(const StormBranch& branch) const {
    return network_.link_name(branch.link) + (branch.closes_cycle ? " (closes a cycle)" : "");
  }

  [[nodiscard]] std::string subtitle() const {
    std::set<std::uint32_t> links;
    SimTime paused;
    for (const StormBranch& branch : tree_.branches) {
      links.insert(model::index_of(branch.link));
      paused += branch.paused;
    }
    std::string text = fmt::format(
        "{} paused {} from {}, {} of pause in total, over a run of {}", grouped_plural(links.size(), "link", "links"),
        grouped_plural(tree_.stops, "time", "times"), grouped_plural(tree_.roots.size(), "cause", "causes"),
        format_fine_time(paused), format_fine_time(end_));
    if (tree_.not_kept > 0) text += fmt::format("; {} later pauses were not recorded", group_digits(tree_.not_kept));
    return text;
  }

  [[nodiscard]] double x_of(SimTime at) const {
    return timeline_x_ +
           kTimeline * std::clamp(static_cast<double>(at.count()) / static_cast<double>(end_.count()), 0.0, 1.0);
  }

  double headings(double y) {
    const picture::TextStyle style{.size = 12, .fill = kPictureSoftInk};
    picture::TextStyle numbers = style;
    numbers.anchor = Anchor::end;
    svg_.text({kMargin, y + 12}, "where it began, which links it paused", style);
    svg_.text({kMargin + name_width_ + 60, y + 12}, "pauses", numbers);
    svg_.text({kMargin + name_width_ + kNumbers, y + 12}, "paused", numbers);
    svg_.text({timeline_x_, y + 12}, fmt::format("when, in {}", axis_.unit), style);
    return y + 22;
  }

  // Height that rows() will use, so that the grid can be drawn below them.
  [[nodiscard]] double rows_height() const {
    const std::size_t shown = std::min(tree_.branches.size(), kMaxRows);
    std::set<std::uint32_t> roots;
    for (std::size_t i = 0; i < shown; ++i) roots.insert(tree_.branches[i].root);
    const std::size_t more = shown < tree_.branches.size() ? 1 : 0;
    return kRow * static_cast<double>(shown + roots.size() + more) + 6 * static_cast<double>(roots.size()) + 4;
  }

  double rows(double y) {
    const std::size_t shown = std::min(tree_.branches.size(), kMaxRows);
    std::uint32_t root = UINT32_MAX;
    double root_y = y;
    std::vector<double> row_y(shown);
    for (std::size_t i = 0; i < shown; ++i) {
      const StormBranch& branch = tree_.branches[i];
      if (branch.root != root) {
        root = branch.root;
        y = root_row(tree_.roots[root], y);
        root_y = y - kRow;
      }
      row_y[i] = y;
      elbow(branch, branch.parent == StormBranch::kNoParent ? root_y : row_y[branch.parent], y);
      branch_row(branch, y);
      y += kRow;
    }
    if (shown < tree_.branches.size()) {
      svg_.text({kMargin, y + 14}, fmt::format("and {} more", group_digits(tree_.branches.size() - shown)),
                {.size = 12, .fill = kPictureSoftInk});
      y += kRow;
    }
    return y + 4;
  }

  double root_row(const StormRoot& root, double y) {
    y += 6;
    svg_.rect({kMargin, y + 4, 12, 12}, {.fill = kRootColor, .radius = 6});
    svg_.text({kMargin + 18, y + 14}, picture::fit_text(root_name(network_, root), 13, name_width_ - 18, true),
              {.size = 13, .fill = kPictureInk, .bold = true});
    numbers(y, root.stops, root.paused, true);
    const double x = x_of(root.first);
    svg_.line({x, y + 2}, {x, y + kRow - 2}, {.stroke = kRootColor, .stroke_width = 2},
              fmt::format("first pause at {}", format_fine_time(root.first)));
    const std::string words =
        fmt::format("from {}: {}, {} deep", format_fine_time(root.first), grouped_plural(root.links, "link", "links"),
                    grouped_plural(root.deepest, "hop", "hops"));
    const bool right = x > timeline_x_ + kTimeline / 2;
    svg_.text({right ? x - 6 : x + 6, y + 14}, words,
              {.size = 11.5, .fill = kPictureSoftInk, .anchor = right ? Anchor::end : Anchor::start});
    return y + kRow;
  }

  void elbow(const StormBranch& branch, double from_y, double y) {
    const double x = kMargin + 6 + kIndent * std::min<std::uint32_t>(branch.depth, 11);
    const picture::Paint line{.stroke = kPictureFrame, .stroke_width = 1.2};
    svg_.line({x, from_y + kRow / 2 + 8}, {x, y + kRow / 2}, line);
    svg_.line({x, y + kRow / 2}, {x + kIndent - 7, y + kRow / 2}, line);
  }

  void branch_row(const StormBranch& branch, double y) {
    const double x = kMargin + indent_of(branch) + 4;
    svg_.text({x, y + 14}, picture::fit_text(label_of(branch), 12, kMargin + name_width_ - x),
              {.size = 12, .fill = branch.closes_cycle ? std::string_view("#b00020") : kPictureInk});
    numbers(y, branch.stops, branch.paused, false);
    svg_.line({timeline_x_, y + kRow / 2}, {timeline_x_ + kTimeline, y + kRow / 2},
              {.stroke = kPictureIdle, .stroke_width = 1});
    bars(branch, y);
  }

  void numbers(double y, std::uint32_t stops, SimTime paused, bool bold) {
    const picture::TextStyle style{.size = 12, .fill = kPictureInk, .anchor = Anchor::end, .bold = bold};
    svg_.text({kMargin + name_width_ + 60, y + 14}, group_digits(stops), style);
    svg_.text({kMargin + name_width_ + kNumbers, y + 14}, format_fine_time(paused), style);
  }

  // Spans closer than a pixel become one bar.
  void bars(const StormBranch& branch, double y) {
    const std::string color = heat_color(std::max(0.35, 0.85 - 0.12 * branch.depth));
    const auto draw = [&](double from, double until) {
      svg_.rect({from, y + 4, std::max(until - from, 1.0), kRow - 8}, {.fill = color},
                fmt::format("{}: {} for {}", network_.link_name(branch.link),
                            grouped_plural(branch.stops, "stop", "stops"), format_fine_time(branch.paused)));
    };
    double from = -1;
    double until = -1;
    for (const StormSpan& span : branch.spans) {
      const double left = x_of(span.from);
      if (from >= 0 && left - until > 1) {
        draw(from, until);
        from = -1;
      }
      if (from < 0) from = left;
      until = std::max(until, x_of(span.until));
    }
    if (from >= 0) draw(from, until);
  }

  void axis(double top, double bottom) {
    for (const AxisTick& tick : axis_.ticks) {
      const double x = x_of(SimTime(static_cast<std::int64_t>(tick.at * axis_.per_unit_ps)));
      svg_.line({x, top}, {x, bottom}, {.stroke = "#dfe2e5", .stroke_width = 0.7, .dash = "2 3"});
      svg_.text({x, bottom + 14}, tick.text, {.size = 11, .fill = kPictureSoftInk, .anchor = Anchor::middle});
    }
    svg_.line({timeline_x_, bottom}, {timeline_x_ + kTimeline, bottom}, {.stroke = kPictureSoftInk});
    svg_.text({timeline_x_ + kTimeline, bottom + 30}, fmt::format("simulated time ({})", axis_.unit),
              {.size = 11, .fill = kPictureSoftInk, .anchor = Anchor::end});
  }

  double legend(double y) {
    svg_.rect({kMargin, y, 12, 12}, {.fill = kRootColor, .radius = 6});
    svg_.text({kMargin + 18, y + 10.5}, "where the pauses began", {.size = 12, .fill = kPictureInk});
    svg_.rect({kMargin + 190, y + 1, 18, 11}, {.fill = heat_color(0.85)});
    svg_.text({kMargin + 214, y + 10.5}, "link paused (lighter: further from the cause)",
              {.size = 12, .fill = kPictureInk});
    return y + 20;
  }

  static constexpr std::string_view kRootColor = "#0072b2";
  const Network& network_;
  const StormTree& tree_;
  SimTime end_;
  TimeAxis axis_;
  double name_width_ = 0;
  double timeline_x_ = 0;
  double width_ = 0;
  Svg svg_;
};

}  // namespace

std::string storm_svg(const Network& network, const SimResult& result, const StormTree& tree, std::string_view title,
                      std::string_view where) {
  return StormPainter(network, result, tree).paint(title, where);
}

}  // namespace weft::netsim
