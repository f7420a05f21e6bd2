// The sensors of a simulated BMC and their readings, which follow the power state. The one source of readings: Sensors,
// Thermal, Power and metric reports all show these. No resources here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bmcsim/bmc.h"

namespace weft::bmcsim {

struct SimSensor {
  std::string id{};
  std::string name{};
  std::string_view type{};     // ReadingType: "Temperature"
  std::string_view unit{};     // ReadingUnits, a UCUM code
  std::string_view context{};  // PhysicalContext
  std::int64_t tenths = 0;     // the reading now, in tenths of the unit
  int critical = 0;            // upper critical threshold in tenths; 0: none

  [[nodiscard]] double reading() const { return static_cast<double>(tenths) / 10; }
};

// Of the machine itself.
[[nodiscard]] std::vector<SimSensor> machine_sensors(const SimBmc& bmc);
// Of one GPU, from 1, with the names that an HGX H100 baseboard uses.
[[nodiscard]] std::vector<SimSensor> gpu_sensors(const SimBmc& bmc, std::uint32_t gpu);

// "HGX_GPU_SXM_3", the chassis of GPU 3, and back; empty for anything else.
[[nodiscard]] std::string gpu_chassis_id(std::uint32_t gpu);
[[nodiscard]] std::optional<std::uint32_t> gpu_of_chassis(const SimBmc& bmc, std::string_view id);

}  // namespace weft::bmcsim
