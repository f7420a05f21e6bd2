// Draws the five states: one column per state, one lane per network, filled in proportion to utilization. Durations of
// states differ by factors of a thousand, so each column has its own time axis.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/human_format.h"
#include "base/text.h"
#include "html/svg.h"
#include "workload/life/page_internal.h"
#include "workload/life/view_cells.h"

namespace weft::workload::page {
namespace {

constexpr std::array<Medium, 5> kLanes = {Medium::backend, Medium::storage, Medium::frontend, Medium::oob,
                                          Medium::nvlink};
constexpr double kLabels = 84;  // width of the lanes' names
constexpr double kColumn = 223;
constexpr double kGap = 7;
constexpr double kHead = 66;
constexpr double kLane = 54;
constexpr double kLaneGap = 5;
constexpr double kEvent = 7;  // height of an event's bar
constexpr double kTick = 30;  // width of the mark at the peak
constexpr double kAxis = 26;
constexpr double kWidth = kLabels + 5 * kColumn;
constexpr double kBottom = kHead + static_cast<double>(kLanes.size()) * (kLane + kLaneGap);

class StatesPicture {
 public:
  explicit StatesPicture(const LifeResult& life) : life_(life) {}

  std::string draw() {
    add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Five states on five networks\">"
        "<svg class=\"pic states\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"st-t st-d\">"
        "<title id=\"st-t\">Use of each network in the five states</title><desc id=\"st-d\">{}</desc>\n"
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect class=\"d0\" width=\"6\" height=\"6\"/>"
        "<rect class=\"d1\" width=\"2\" height=\"6\"/></pattern></defs>\n",
        kWidth, kBottom + kAxis, escaped(description()));
    for (std::size_t i = 0; i < kLanes.size(); ++i) {
      add("<text class=\"b\" x=\"0\" y=\"{}\">{}</text>\n", lane_top(i) + kLane / 2 + 5, title_of(kLanes[i]));
    }
    for (std::size_t i = 0; i < life_.states.size(); ++i)
      column(life_.states[i], kLabels + kColumn * static_cast<double>(i));
    add("</svg></div>\n<p class=\"note\">Fill: mean use over the state. Mark on the right: peak. Strips on top: "
        "events, on "
        "the "
        "time axis of their own state. Hatched: dark (under 0.1 %). &#9733; the network that the state is "
        "about.</p>\n");
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    append_format(out_, format, std::forward<Args>(args)...);
  }
  static double lane_top(std::size_t lane) { return kHead + static_cast<double>(lane) * (kLane + kLaneGap); }

  [[nodiscard]] std::string description() const {
    std::string text;
    for (const LifeState& state : life_.states) {
      text += fmt::format("State {}, {}, {}:", state.number, state.name, format_time(state.duration));
      for (const Medium medium : kLanes) {
        const MediumUse& use = state.use[static_cast<std::size_t>(medium)];
        text += fmt::format(" {} {}", title_of(medium), is_dark(state, medium) ? "dark" : format_percent(use.mean));
      }
      text += ". ";
    }
    return text;
  }

  void column(const LifeState& state, double x) {
    const double width = kColumn - kGap;
    add("<circle class=\"badge\" cx=\"{}\" cy=\"10\" r=\"10\"/><text class=\"b ink-badge\" x=\"{}\" y=\"15\" "
        "text-anchor=\"middle\">{}</text><text class=\"b big\" x=\"{}\" y=\"16\">{}</text>",
        x + 10, x + 10, state.number, x + 27, escaped(format_time(state.duration)));
    name_lines(state.name, x, width);
    for (std::size_t i = 0; i < kLanes.size(); ++i) {
      cell(state, kLanes[i], {x, lane_top(i), width, kLane});
    }
    const double y = kBottom + 3;
    add("<path class=\"axis\" d=\"M{} {}v-4v4h{}v-4\"/>", x, y, width);
    add("<text class=\"s\" x=\"{}\" y=\"{}\">{}</text>", x, y + 15, format_moment(state.start));
    add("<text class=\"s\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", x + width, y + 15,
        format_moment(state.start + state.duration));
  }

  // In one or two lines, broken at a space.
  void name_lines(std::string_view name, double x, double width) {
    constexpr double kSize = 13;
    std::size_t cut = name.size();
    while (cut > 0 && picture::text_width(name.substr(0, cut), kSize) > width) {
      const std::size_t blank = name.rfind(' ', cut - 1);
      if (blank == std::string_view::npos || blank == 0) break;
      cut = blank;
    }
    const std::string first = picture::fit_text(name.substr(0, cut), kSize, width);
    add("<text x=\"{}\" y=\"35\">{}</text>", x, escaped(first));
    if (cut >= name.size()) return;
    add("<text x=\"{}\" y=\"52\">{}</text>", x, escaped(picture::fit_text(name.substr(cut + 1), kSize, width)));
  }

  void cell(const LifeState& state, Medium medium, const picture::Box& box) {
    const MediumUse& use = state.use[static_cast<std::size_t>(medium)];
    const bool dark = is_dark(state, medium);
    add("<g><title>{}, state {}: {}, mean {}, peak {}, {}, busy {}</title>", title_of(medium), state.number,
        dark ? "dark" : "lit", escaped(format_percent(use.mean)), escaped(format_percent(use.peak)),
        format_bytes(use.bytes), format_time(use.busy));
    add("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>", dark ? "dark" : "lane", box.x,
        box.y, box.width, box.height);
    if (!dark) fill(use, medium, box);
    events(state, medium, box);
    if (state.main == medium) {
      add("<rect class=\"main\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>", box.x, box.y, box.width,
          box.height);
    }
    if (dark) {
      add("<text class=\"ink-dark\" x=\"{}\" y=\"{}\">dark</text></g>\n", box.x + 8, box.y + 34);
      return;
    }
    add("<text class=\"b\" x=\"{}\" y=\"{}\">{}{}</text>", box.x + 8, box.y + 26,
        state.main == medium ? "&#9733; " : "", escaped(format_percent(use.mean)));
    add("<text class=\"xs\" x=\"{}\" y=\"{}\">peak {}</text>", box.x + 8, box.y + 43,
        escaped(format_percent(use.peak)));
    add("<text class=\"s\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text></g>\n", box.right() - kTick - 7, box.y + 26,
        use.bytes.count() > 0 ? format_bytes(use.bytes) : std::string());
  }

  void fill(const MediumUse& use, Medium medium, const picture::Box& box) {
    const double room = box.height - kEvent - 2;
    // A network with any traffic shows at least a line.
    const double mean = use.mean > 0 ? std::max(1.5, std::clamp(use.mean, 0.0, 1.0) * room) : 0;
    const double peak = box.bottom() - std::clamp(use.peak, 0.0, 1.0) * room;
    add("<rect class=\"m-{}\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>", to_text(medium), box.x,
        box.bottom() - mean, box.width, mean);
    if (use.peak > 0) add("<path class=\"peak\" d=\"M{} {:.1f}h{}\"/>", box.right() - kTick, peak, kTick);
  }

  void events(const LifeState& state, Medium medium, const picture::Box& box) {
    if (state.duration.count() <= 0) return;
    for (std::size_t i = 0; i < state.events.size(); ++i) {
      const LifeEvent& event = state.events[i];
      if (event.medium != medium) continue;
      const double from = std::clamp(share_of(event.start - state.start, state.duration), 0.0, 1.0);
      const double to = std::clamp(share_of(event.start + event.duration - state.start, state.duration), from, 1.0);
      const double width = std::max(2.0, (to - from) * box.width);
      add("<rect class=\"event\" data-event=\"e{}-{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
          "height=\"{}\"><title>{}</title></rect>",
          state.number, i, std::min(box.x + from * box.width, box.right() - width), box.y, width, kEvent,
          escaped(fmt::format("{} ({}): {}", event.what, event.protocol, format_time(event.duration))));
    }
  }

  const LifeResult& life_;
  std::string out_;
};

}  // namespace

std::string states_picture(const LifeResult& life) { return StatesPicture(life).draw(); }

}  // namespace weft::workload::page
