// Bars and the histogram of the page. Every color has a number or a name next to it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/human_format.h"
#include "base/text.h"
#include "netsim/views/result_cells.h"
#include "workload/life/page_internal.h"
#include "workload/life/view_cells.h"

namespace weft::workload::page {
namespace {

struct Segment {
  std::size_t color = 0;  // index of the style's k0, k1, ...
  std::string_view title;
  double share = 0;
  std::string value;
};

// A bar of segments and a legend with the same numbers.
std::string stacked_bar(std::string_view label, const std::vector<Segment>& segments) {
  std::string spoken;
  std::string bar;
  std::string legend;
  std::size_t number = 0;
  for (const Segment& segment : segments) {
    ++number;
    const std::string words = fmt::format("{} {} ({})", segment.title, segment.value, format_percent(segment.share));
    spoken += (spoken.empty() ? "" : ", ") + words;
    // A number needs about 1.5 % of the bar, a share with it 6 %.
    const std::string inside = segment.share >= 0.06 ? fmt::format("{}<span class=\"pc\"> &middot; {}</span>", number,
                                                                   format_percent(segment.share))
                               : segment.share >= 0.015 ? std::to_string(number)
                                                        : std::string();
    bar += fmt::format("<i class=\"k{}\" style=\"width:{:.3f}%\" title=\"{}\">{}</i>", segment.color,
                       std::max(0.0, segment.share) * 100, escaped(words), inside);
    legend += fmt::format("<li><i class=\"k{} key\">{}</i>{} <b>{}</b> {}</li>\n", segment.color, number,
                          escaped(segment.title), escaped(segment.value), escaped(format_percent(segment.share)));
  }
  return fmt::format("<div class=\"bar\" role=\"img\" aria-label=\"{}: {}\">{}</div>\n<ol class=\"legend\">\n{}</ol>\n",
                     escaped(label), escaped(spoken), bar, legend);
}

constexpr double kWidth = 760;
constexpr double kHeight = 260;
constexpr double kLeft = 62;
constexpr double kRight = 16;
constexpr double kTop = 34;
constexpr double kBase = 210;  // y of the horizontal axis

struct Bins {
  double from = 0;  // in ms
  double width = 1;
  std::vector<std::uint64_t> counts;
};

Bins bins_of(const std::vector<SimTime>& times) {
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  Bins bins;
  const double from = seconds(*low) * 1e3;
  const double span = seconds(*high) * 1e3 - from;
  const auto root = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(times.size()))));
  const std::size_t count = span > 0 ? std::clamp<std::size_t>(root, 10, 48) : 1;
  // If all times are equal, they get one bin around them.
  bins.width = span > 0 ? span / static_cast<double>(count) : std::max(from * 0.01, 1e-6);
  bins.from = span > 0 ? from : from - bins.width / 2;
  bins.counts.assign(count, 0);
  for (const SimTime time : times) {
    const double at = (seconds(time) * 1e3 - bins.from) / bins.width;
    ++bins.counts[std::min(count - 1, static_cast<std::size_t>(std::max(0.0, at)))];
  }
  return bins;
}

// A step of 1, 2 or 5 times a power of ten that yields at most `most` ticks.
double tick_step(double span, int most) {
  const double raw = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= raw) return power * factor;
  }
  return power * 10;
}

class Histogram {
 public:
  explicit Histogram(const Tail& tail) : tail_(tail), bins_(bins_of(tail.times)) {
    const std::uint64_t most = *std::max_element(bins_.counts.begin(), bins_.counts.end());
    decades_ = std::max(1.0, std::ceil(std::log10(static_cast<double>(most))));
    span_ = bins_.width * static_cast<double>(bins_.counts.size());
  }

  std::string draw() {
    add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Histogram of the iterations\">"
        "<svg class=\"pic chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Histogram of {} iterations: p50 {}, "
        "p99 "
        "{}, "
        "slowest {}\">\n",
        kWidth, kHeight, group_digits(tail_.times.size()), format_fine_time(tail_.p50), format_fine_time(tail_.p99),
        format_fine_time(tail_.max));
    vertical_axis();
    bars();
    horizontal_axis();
    mark(tail_.p50, "p50", 12);
    mark(tail_.p99, "p99", 26);
    out_ += "</svg></div>\n";
    return std::move(out_);
  }

 private:
  // A bin of one is still visible: the axis starts at half an iteration.
  static constexpr double kFloor = -0.30103;  // log10(0.5)

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    append_format(out_, format, std::forward<Args>(args)...);
  }
  [[nodiscard]] double x_of(double ms) const { return kLeft + (ms - bins_.from) / span_ * (kWidth - kLeft - kRight); }
  [[nodiscard]] double y_of(double log_count) const {
    return kBase - (log_count - kFloor) / (decades_ - kFloor) * (kBase - kTop);
  }

  void vertical_axis() {
    for (int decade = 0; decade <= static_cast<int>(decades_); ++decade) {
      const double y = y_of(decade);
      add("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text class=\"s\" x=\"{}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{}</text>\n",
          kLeft, y, kWidth - kRight, kLeft - 6, y + 4,
          group_digits(static_cast<std::uint64_t>(std::llround(std::pow(10.0, decade)))));
    }
    add("<text class=\"s\" transform=\"rotate(-90)\" x=\"{}\" y=\"13\" text-anchor=\"middle\">iterations (log "
        "scale)</text>\n",
        -(kTop + kBase) / 2);
  }

  void bars() {
    const double width = (kWidth - kLeft - kRight) / static_cast<double>(bins_.counts.size());
    for (std::size_t i = 0; i < bins_.counts.size(); ++i) {
      if (bins_.counts[i] == 0) continue;
      const double from = bins_.from + bins_.width * static_cast<double>(i);
      const double y = y_of(std::log10(static_cast<double>(bins_.counts[i])));
      add("<rect class=\"k0f\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{:.1f} to {:.1f} "
          "ms: {}</title></rect>\n",
          x_of(from) + 0.5, y, std::max(1.0, width - 1), kBase - y, from, from + bins_.width,
          grouped_plural(bins_.counts[i], "iteration", "iterations"));
    }
  }

  void horizontal_axis() {
    add("<path class=\"axis\" d=\"M{} {}H{}\"/>\n", kLeft, kBase, kWidth - kRight);
    const double step = tick_step(span_, 8);
    const int digits = std::clamp(static_cast<int>(-std::floor(std::log10(step))), 0, 6);
    for (double at = std::ceil(bins_.from / step) * step; at <= bins_.from + span_ * 1.0001; at += step) {
      add("<path class=\"axis\" d=\"M{0:.1f} {1}v5\"/><text class=\"s\" x=\"{0:.1f}\" y=\"{2}\" "
          "text-anchor=\"middle\">{3:.{4}f}</text>\n",
          x_of(at), kBase, kBase + 18, at, digits);
    }
    add("<text class=\"s\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">iteration time (ms)</text>\n",
        (kLeft + kWidth - kRight) / 2, kBase + 38);
  }

  void mark(SimTime time, std::string_view name, double y) {
    const double x = std::clamp(x_of(seconds(time) * 1e3), kLeft, kWidth - kRight);
    const bool right = x > kWidth * 0.75;
    add("<path class=\"peak\" d=\"M{0:.1f} {1}V{2}\"/><text class=\"s b\" x=\"{3:.1f}\" y=\"{4}\" "
        "text-anchor=\"{5}\">{6} {7}</text>\n",
        x, y, kBase, right ? x - 5 : x + 5, y, right ? "end" : "start", name, format_fine_time(time));
  }

  const Tail& tail_;
  Bins bins_;
  double decades_ = 1;
  double span_ = 1;  // ms
  std::string out_;
};

}  // namespace

std::string step_bar(const StepParts& parts) {
  std::vector<Segment> segments;
  const std::vector<StepPart> all = step_parts(parts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].time.count() <= 0) continue;
    segments.push_back({i, all[i].title, share_of(all[i].time, parts.step), format_time(all[i].time)});
  }
  if (segments.empty()) return {};
  return stacked_bar(fmt::format("A step of {}", format_time(parts.step)), segments);
}

std::string memory_bar(const MemoryUse& memory) {
  // Colors of the step's parts, chosen for contrast between neighbors.
  static constexpr std::array<std::size_t, 5> kColors = {0, 1, 8, 2, 7};
  std::vector<Segment> segments;
  const Bytes whole = std::max(memory.capacity, memory.total);
  const std::vector<MemoryPart> all = memory_parts(memory);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].bytes.count() <= 0) continue;
    segments.push_back({kColors[i], all[i].title, share_of(all[i].bytes, whole), format_bytes(all[i].bytes)});
  }
  if (segments.empty()) return {};
  const Bytes left = memory.capacity - memory.total;
  std::string note = fmt::format("<p>{} of {} in the fullest GPU (stage {}).", format_bytes(memory.total),
                                 format_bytes(memory.capacity), memory.stage);
  if (left.count() < 0) {
    note += fmt::format(" <b>Out of memory: exceeds the capacity by {}.</b>", format_bytes(Bytes(-left.count())));
  } else {
    segments.push_back({12, "Free", share_of(left, whole), format_bytes(left)});
  }
  return note + "</p>\n" + stacked_bar("Memory of the fullest GPU", segments);
}

std::string tail_histogram(const Tail& tail) {
  if (tail.times.empty()) return {};
  return Histogram(tail).draw();
}

std::string change_bars(const Verdict& verdict) {
  if (verdict.changes.empty()) return {};
  double most = 0;
  for (const Change& change : verdict.changes) most = std::max(most, change.gain);
  std::string out = "<p>Gain in tokens/s of each change, simulated separately.</p>\n<ul class=\"gains\">\n";
  for (const Change& change : verdict.changes) {
    const double width = most > 0 ? std::clamp(change.gain / most, 0.0, 1.0) * 100 : 0;
    out += fmt::format(
        "<li><span>{}<br><code>{}</code></span><div class=\"track\"><i class=\"k8\" style=\"width:{:.1f}%\"></i></div>"
        "<b>{}</b><small>step {}</small></li>\n",
        escaped(change.what), escaped(change.how), width, escaped(format_signed_percent(change.gain)),
        format_fine_time(change.step));
  }
  return out + "</ul>\n";
}

}  // namespace weft::workload::page
