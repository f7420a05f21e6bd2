// Plots of replays as SVG: lines over time, a cumulative distribution over a logarithmic axis, bars by class. Axes have
// names and units; the legend identifies each line by color and dash.
#pragma once

#include <string>
#include <vector>

#include "html/svg.h"
#include "sched/replay/view.h"

namespace weft::sched {

// Each draws into `svg` inside `box`, title included.
void draw_utilization(picture::Svg& svg, const picture::Box& box, const ReplayReport& report, bool legend);
void draw_waiting(picture::Svg& svg, const picture::Box& box, const ReplayReport& report, bool legend);
void draw_wait_distribution(picture::Svg& svg, const picture::Box& box, const ReplayReport& report, bool legend);
void draw_wait_by_size(picture::Svg& svg, const picture::Box& box, const ReplayReport& report, bool legend);

// Each as an image of its own that is readable on a narrow screen, without a legend.
[[nodiscard]] std::vector<std::string> replay_plots(const ReplayReport& report);
// The line that the plots draw for a run, as an inline image for a legend.
[[nodiscard]] std::string line_sample(std::size_t policy);

// All of them in one image.
[[nodiscard]] std::string replay_picture(const ReplayReport& report);

}  // namespace weft::sched
