// A fabric prepared for drawing: leaves in blocks with the hosts they serve, and the tiers above them. It is drawn with
// every device (picture_fabric_detail.cc), or as blocks with their counts (picture_fabric_blocks.cc).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "design/picture_style.h"
#include "html/svg.h"
#include "model/cluster.h"

namespace weft::design {

using Bundle = std::map<std::uint32_t, std::uint64_t>;  // links by speed in Mb/s

// The leaves of a unit, or one leaf without a unit, with the hosts connected to them.
struct Block {
  std::string name;
  int pool = -1;
  std::uint32_t pod = 0;
  std::vector<model::DeviceId> leaves;
  std::vector<model::DeviceId> hosts;
  Bundle host_links;
  std::map<model::DeviceId, Bundle> links_of_leaf;  // those of host_links, by leaf
  Bundle uplinks;
};

struct Diagram {
  const model::Cluster* cluster = nullptr;
  model::FabricKind fabric = model::FabricKind::backend;
  std::vector<Block> blocks;
  std::vector<model::DeviceId> spines;
  std::vector<model::DeviceId> cores;
  std::vector<model::DeviceId> above;  // uplinks of the fabric: the site's network, or the frontend for out-of-band
  std::size_t hosts = 0;
  std::size_t leaves = 0;
  std::uint64_t host_links = 0;
  std::uint32_t rails = 0;                     // rails, or links of a bond, per host
  std::map<std::uint32_t, Bundle> core_links;  // by pod
  Bundle above_links;

  [[nodiscard]] const model::FabricPlan& plan() const { return cluster->fabric(fabric); }
  // Whether there are several pods under the cores.
  [[nodiscard]] bool in_pods() const { return !cores.empty() && fabric != model::FabricKind::oob; }
  // Whether each switch of a tier serves only one rail, so that it can have the rail's color.
  [[nodiscard]] bool tier_has_rails(model::Tier tier) const {
    if (rails < 2 || fabric == model::FabricKind::oob) return false;
    if (plan().wiring == model::Wiring::rail_only) return tier != model::Tier::none;
    return plan().wiring == model::Wiring::rail_optimized && tier == model::Tier::leaf;
  }
  // The devices above the leaves if there are no spines.
  [[nodiscard]] const std::vector<model::DeviceId>& over_leaves() const { return spines.empty() ? above : spines; }
};

[[nodiscard]] Diagram sort_fabric(const model::Cluster& cluster, model::FabricKind fabric);
[[nodiscard]] std::string bundle_text(const Bundle& bundle);  // "256 × 400G + 8 × 100G"
[[nodiscard]] std::uint64_t bundle_size(const Bundle& bundle);
[[nodiscard]] std::string folded_names(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices);
// "32 servers", "18 switches", "12 PDUs"
[[nodiscard]] std::vector<std::string> host_counts(const model::Cluster& cluster,
                                                   const std::vector<model::DeviceId>& hosts);
[[nodiscard]] std::string hosts_text(const model::Cluster& cluster,
                                     const std::vector<model::DeviceId>& hosts);  // the same in one line
// Common catalog ids of the devices: "sn5600" or "sn5600, sn5400".
[[nodiscard]] std::string models_text(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices);

inline constexpr double kPictureWidth = 2400;
inline constexpr double kMinWidth = 1080;
inline constexpr double kMargin = 24;
inline constexpr double kSide = 196;  // the column of labels on the left

// A label in the left column: a bold word with lines below it.
void draw_side(picture::Svg& svg, double center_y, std::string_view word, const std::vector<std::string>& lines);
[[nodiscard]] std::vector<std::string> uplink_lines(const Diagram& diagram);
[[nodiscard]] std::vector<std::string> host_link_lines(const Diagram& diagram);
[[nodiscard]] std::vector<std::string> core_link_lines(const Diagram& diagram);

// Both draw below `top` and return the size of the picture.
[[nodiscard]] bool fits_in_detail(const Diagram& diagram);
[[nodiscard]] double detail_width(const Diagram& diagram);
[[nodiscard]] double draw_detail(picture::Svg& svg, const Diagram& diagram, double top);
[[nodiscard]] double blocks_width(const Diagram& diagram);
[[nodiscard]] double draw_blocks(picture::Svg& svg, const Diagram& diagram, double top);

}  // namespace weft::design
