// Shared by the views: columns, cells with units, and labels for locations, roles and units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "model/cluster.h"

namespace weft::design::views {

[[nodiscard]] Column left(std::string key, std::string title);
[[nodiscard]] Column right(std::string key, std::string title);
[[nodiscard]] Column wide(Column column);

// Cells carry the base unit that the column's key ends in for machine formats, and the short form for people.
[[nodiscard]] Cell speed_cell(BitRate speed);             // key ends in _bps
[[nodiscard]] Cell power_cell(Power power);               // _w
[[nodiscard]] Cell meters_cell(std::uint32_t length_mm);  // _m
[[nodiscard]] Cell percent_cell(double percent);          // _percent; rounded to a tenth, below 1 to a hundredth
[[nodiscard]] Cell address_cell(Ipv4 address);            // empty if there is none
[[nodiscard]] Cell ordinal_cell(bool applies, std::uint32_t index);  // counted from 1, empty if it does not apply
[[nodiscard]] Cell count_cell(std::uint64_t count);                  // with thousands separators for people
[[nodiscard]] Cell text_cell(std::string text);                      // empty cell for empty text

// The settings of a fabric in the file, in one form for the data fabrics and the out-of-band network.
struct FabricSettings {
  std::optional<std::int64_t> mtu;
  std::string vrf;
};
[[nodiscard]] FabricSettings settings_of(const model::Cluster& cluster, model::FabricKind fabric);

// A link joins two ports. A cable is what is bought and laid: one carries several links if it is a splitter or a
// breakout. Every count in weft's output is one of the two, by these names.
[[nodiscard]] std::uint64_t count_cables(const model::Cluster& cluster);
[[nodiscard]] std::uint64_t count_links(const model::Cluster& cluster);

[[nodiscard]] std::string_view prefix_of(model::FabricKind fabric);  // "BE", "STO", "FE", "OOB"
[[nodiscard]] std::string unit_name(const model::Cluster& cluster, model::UnitId unit);
[[nodiscard]] std::string rack_name(const model::Cluster& cluster, model::DeviceId device);
[[nodiscard]] std::string pool_name(const model::Cluster& cluster, int pool);  // "shared" for -1
[[nodiscard]] std::string model_id(const model::Cluster& cluster, model::DeviceId device);
[[nodiscard]] std::string role_of(const model::Cluster& cluster, const model::DeviceGroup& group);

[[nodiscard]] std::int64_t height_of(const model::Cluster& cluster, model::DeviceId device);  // rack units; 0 for PDUs
[[nodiscard]] std::int64_t gpus_of(const model::Cluster& cluster, model::DeviceId device);

// Power supplies of a device and how many it needs; PDUs and external networks have none.
struct Supplies {
  int fitted = 0;
  int needed = 0;
};
[[nodiscard]] Supplies supplies_of(const model::Cluster& cluster, model::DeviceId device);
// Whether the device fails with this power feed because too few supplies are left. Not for PDUs.
[[nodiscard]] bool falls_with_feed(const model::Cluster& cluster, model::DeviceId device, int feed);
[[nodiscard]] std::string feed_name(int feed);                                              // "A"
[[nodiscard]] std::string feeds_of(const model::Cluster& cluster, model::DeviceId device);  // "A B"

}  // namespace weft::design::views
