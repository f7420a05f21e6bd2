#include "bmcsim/sensor.h"

#include <fmt/format.h>

#include <array>

#include "base/random.h"
#include "bmcsim/resource.h"

namespace weft::bmcsim {
namespace {

constexpr std::string_view kGpuPrefix = "HGX_GPU_SXM_";

struct SensorRule {
  std::string_view id;
  std::string_view name;
  std::string_view type;
  std::string_view unit;
  std::string_view context;
  int off = 0;       // reading while the machine is off, in tenths
  int on = 0;        // reading while it runs
  int critical = 0;  // upper critical threshold, in tenths; 0: none
};
// A loaded air-cooled server: inlets of 18 to 27 degrees (recommended by ASHRAE TC 9.9).
constexpr std::array<SensorRule, 8> kMachine{{
    {"InletTemp", "Inlet Temperature", "Temperature", "Cel", "Intake", 220, 240, 420},
    {"OutletTemp", "Outlet Temperature", "Temperature", "Cel", "Exhaust", 230, 480, 750},
    {"CPU1Temp", "CPU 1 Temperature", "Temperature", "Cel", "CPU", 230, 620, 950},
    {"Fan1", "Fan 1", "Rotational", "RPM", "Fan", 0, 98'000, 0},
    {"Fan2", "Fan 2", "Rotational", "RPM", "Fan", 0, 97'000, 0},
    {"P12V", "12 V Rail", "Voltage", "V", "SystemBoard", 120, 121, 132},
    {"PSU1InputVoltage", "PSU 1 Input Voltage", "Voltage", "V", "PowerSupply", 2300, 2300, 2640},
    {"TotalPower", "Total Power", "Power", "W", "PowerSubsystem", 0, 0, 0},
}};
// An H100 SXM5 draws 700 W at most and throttles at 90 degrees; here 70 percent of its power.
constexpr std::array<SensorRule, 2> kGpu{{
    {"TEMP_0", "TEMP 0", "Temperature", "Cel", "GPU", 230, 710, 900},
    {"Power_0", "Power 0", "Power", "W", "GPU", 0, 4900, 0},
}};

// With some variation over time per sensor, up to 2 percent.
std::int64_t vary(const SimBmc& bmc, std::string_view id, std::int64_t tenths) {
  const std::int64_t second = bmc.now().count() / 1'000'000'000;
  const auto step = static_cast<std::int64_t>(hash64(fmt::format("{}{}{}", bmc.device().name, id, second)) % 41);
  return tenths + tenths * (step - 20) / 1000;
}

SimSensor sensor_of(const SensorRule& rule) {
  SimSensor sensor;
  sensor.id = rule.id;
  sensor.name = rule.name;
  sensor.type = rule.type;
  sensor.unit = rule.unit;
  sensor.context = rule.context;
  sensor.critical = rule.critical;
  return sensor;
}

}  // namespace

std::vector<SimSensor> machine_sensors(const SimBmc& bmc) {
  const bool on = bmc.power() == oob::PowerState::on;
  std::vector<SimSensor> sensors;
  sensors.reserve(kMachine.size());
  for (const SensorRule& rule : kMachine) {
    std::int64_t tenths = on ? rule.on : rule.off;
    // Standby draws 2 percent of the maximum, load 70 percent.
    if (rule.type == "Power") tenths = bmc.device().power.count() / (on ? 143 : 5000);
    SimSensor sensor = sensor_of(rule);
    sensor.tenths = vary(bmc, rule.id, tenths);
    sensors.push_back(std::move(sensor));
  }
  return sensors;
}

std::vector<SimSensor> gpu_sensors(const SimBmc& bmc, std::uint32_t gpu) {
  const bool on = bmc.power() == oob::PowerState::on;
  std::vector<SimSensor> sensors;
  sensors.reserve(kGpu.size());
  for (const SensorRule& rule : kGpu) {
    SimSensor sensor = sensor_of(rule);
    sensor.id = fmt::format("{}_{}", gpu_chassis_id(gpu), rule.id);
    sensor.name = fmt::format("HGX GPU SXM {} {}", gpu, rule.name);
    sensor.tenths = vary(bmc, sensor.id, on ? rule.on : rule.off);
    sensors.push_back(std::move(sensor));
  }
  return sensors;
}

std::string gpu_chassis_id(std::uint32_t gpu) { return fmt::format("{}{}", kGpuPrefix, gpu); }

std::optional<std::uint32_t> gpu_of_chassis(const SimBmc& bmc, std::string_view id) {
  if (!id.starts_with(kGpuPrefix)) return std::nullopt;
  const std::optional<std::uint32_t> gpu = number_in_path(id.substr(kGpuPrefix.size()));
  return gpu && *gpu <= bmc.device().gpus ? gpu : std::nullopt;
}

}  // namespace weft::bmcsim
