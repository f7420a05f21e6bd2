// Colors and labels shared by the pictures. The palette is Okabe and Ito's, which is distinguishable with the common
// kinds of color blindness; switches are solid and servers are tinted, so that color is never the
// only cue. Solid ones are darkened for a contrast of at least 4.5 to their white text. assets/base/picture.css has the
// dark counterpart of each color: a new one needs a line there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "html/svg.h"
#include "model/cluster.h"

namespace weft::design {

inline constexpr std::string_view kInk = "#1a1a1a";
inline constexpr std::string_view kSoftInk = "#555b61";
inline constexpr std::string_view kFrame = "#9aa0a6";
inline constexpr std::string_view kPanel = "#f5f6f7";

struct Look {
  std::string_view fill;
  std::string_view stroke;
  std::string_view ink;
  std::string_view meaning;  // in legends
  friend bool operator==(const Look&, const Look&) = default;
};

// Marks the next shape as a device, or as a link between two, for the script of the page with all pictures.
void mark_device(picture::Svg& svg, model::DeviceId id);
void mark_link(picture::Svg& svg, model::DeviceId a, model::DeviceId b);

[[nodiscard]] const Look& look_of(const model::Cluster& cluster, const model::DeviceGroup& group);
[[nodiscard]] const Look& switch_look(model::FabricKind fabric);
[[nodiscard]] std::string_view rail_color(std::uint32_t rail);
[[nodiscard]] std::string_view fabric_words(model::FabricKind fabric);  // "out-of-band"

// Swatches with their meaning in one line, wrapped at `width`; returns the y below.
struct LegendItem {
  std::string_view fill;
  std::string_view stroke;
  std::string text;
  bool line = false;  // a link rather than a box
};
double draw_legend(picture::Svg& svg, const picture::Point& at, double width, const std::vector<LegendItem>& items);
// Heading and the line under it; returns the y below.
double draw_heading(picture::Svg& svg, const picture::Point& at, double width, std::string_view title,
                    std::string_view subtitle);

}  // namespace weft::design
