// The chassis and its sensors, in the new schema (Sensors) and the old one (Thermal, Power); those of its GPUs; the
// outlets of a PDU.
#include <fmt/format.h>

#include <utility>

#include "bmcsim/resource.h"
#include "bmcsim/sensor.h"

namespace weft::bmcsim {
namespace {

constexpr std::string_view kChassis = "/redfish/v1/Chassis/1";
constexpr std::string_view kPdu = "/redfish/v1/PowerEquipment/RackPDUs/1";

double threshold_of(const SimSensor& sensor) { return static_cast<double>(sensor.critical) / 10; }

Value sensor_value(const SimSensor& sensor, std::string_view chassis) {
  Value value = resource_head(fmt::format("/redfish/v1/Chassis/{}/Sensors/{}", chassis, sensor.id),
                              "Sensor.v1_7_0.Sensor", sensor.id, sensor.name);
  value.put("ReadingType", sensor.type);
  value.put("ReadingUnits", sensor.unit);
  value.put("PhysicalContext", sensor.context);
  value.put("Reading", sensor.reading());
  if (sensor.critical != 0) {
    value.put("Thresholds", Value::map({{"UpperCritical", Value::map({{"Reading", threshold_of(sensor)}})}}));
  }
  value.put("Status", status_ok());
  return value;
}

Value thermal(const SimBmc& bmc) {
  Value value = resource_head(fmt::format("{}/Thermal", kChassis), "Thermal.v1_7_1.Thermal", "Thermal", "Thermal");
  Value temperatures = Value::list();
  Value fans = Value::list();
  for (const SimSensor& sensor : machine_sensors(bmc)) {
    const bool fan = sensor.type == "Rotational";
    if (!fan && sensor.type != "Temperature") continue;
    Value& list = fan ? fans : temperatures;
    const std::size_t number = list.is_list() ? list.items().size() : 0;
    Value item = Value::map();
    item.put("@odata.id", fmt::format("{}/Thermal#/{}/{}", kChassis, fan ? "Fans" : "Temperatures", number));
    item.put("MemberId", fmt::format("{}", number));
    item.put("Name", sensor.name);
    item.put("PhysicalContext", sensor.context);
    item.put(fan ? "Reading" : "ReadingCelsius", sensor.reading());
    if (fan) item.put("ReadingUnits", "RPM");
    if (sensor.critical != 0) item.put("UpperThresholdCritical", threshold_of(sensor));
    item.put("Status", status_ok());
    list.add(std::move(item));
  }
  value.put("Temperatures", std::move(temperatures));
  value.put("Fans", std::move(fans));
  return value;
}

Value power(const SimBmc& bmc) {
  Value value = resource_head(fmt::format("{}/Power", kChassis), "Power.v1_7_1.Power", "Power", "Power");
  Value voltages = Value::list();
  Value control = Value::map();
  for (const SimSensor& sensor : machine_sensors(bmc)) {
    if (sensor.type == "Power") {
      control.put("@odata.id", fmt::format("{}/Power#/PowerControl/0", kChassis));
      control.put("MemberId", "0");
      control.put("Name", "System Power Control");
      control.put("PowerConsumedWatts", sensor.reading());
      control.put("PowerCapacityWatts", bmc.device().power.count() / 1000);
      control.put("Status", status_ok());
    }
    if (sensor.type != "Voltage") continue;
    const std::size_t number = voltages.items().size();
    Value item = Value::map();
    item.put("@odata.id", fmt::format("{}/Power#/Voltages/{}", kChassis, number));
    item.put("MemberId", fmt::format("{}", number));
    item.put("Name", sensor.name);
    item.put("ReadingVolts", sensor.reading());
    item.put("UpperThresholdCritical", threshold_of(sensor));
    item.put("Status", status_ok());
    voltages.add(std::move(item));
  }
  value.put("PowerControl", Value::list({std::move(control)}));
  value.put("Voltages", std::move(voltages));
  return value;
}

Value chassis(const SimBmc& bmc) {
  const SimDevice& device = bmc.device();
  Value value = resource_head(std::string(kChassis), "Chassis.v1_22_0.Chassis", "1", device.name);
  value.put("ChassisType", "RackMount");
  value.put("Manufacturer", "weft");
  value.put("Model", sim_model(device.kind));
  value.put("SerialNumber", sim_uuid(device.name).substr(0, 8));
  value.put("AssetTag", bmc.extras().asset_tag);
  value.put("PowerState", bmc.told_power() == oob::PowerState::on ? "On" : "Off");
  value.put("LocationIndicatorActive", bmc.indicator);
  value.put("Status", status_ok());
  value.put("Sensors", link_to(fmt::format("{}/Sensors", kChassis)));
  value.put("Thermal", link_to(fmt::format("{}/Thermal", kChassis)));
  value.put("Power", link_to(fmt::format("{}/Power", kChassis)));
  value.put("Links", Value::map({{"ComputerSystems", Value::list({link_to("/redfish/v1/Systems/1")})},
                                 {"ManagedBy", Value::list({link_to("/redfish/v1/Managers/BMC")})}}));
  return value;
}

Value outlet(const SimBmc& bmc, std::uint32_t number) {
  const std::string path = fmt::format("{}/Outlets/{}", kPdu, number);
  Value value =
      resource_head(path, "Outlet.v1_4_1.Outlet", fmt::format("{}", number), fmt::format("Outlet {}", number));
  const bool on = ((bmc.outlets_off >> (number - 1)) & 1U) == 0;
  value.put("PowerState", on ? "On" : "Off");
  value.put("PhaseWiringType", "OnePhase3Wire");
  value.put("OutletType", "IEC_60320_C19");
  value.put("Status", status_ok());
  Value control = Value::map();
  control.put("target", path + "/Actions/Outlet.PowerControl");
  control.put("PowerState@Redfish.AllowableValues", Value::list({"On", "Off", "PowerCycle"}));
  value.put("Actions", Value::map({{"#Outlet.PowerControl", std::move(control)}}));
  return value;
}

Value rack_pdu(const SimBmc& bmc) {
  Value value = resource_head(std::string(kPdu), "PowerDistribution.v1_3_0.PowerDistribution", "1", bmc.device().name);
  value.put("EquipmentType", "RackPDU");
  value.put("Manufacturer", "weft");
  value.put("Model", sim_model(SimKind::pdu));
  value.put("SerialNumber", sim_uuid(bmc.device().name).substr(0, 8));
  value.put("FirmwareVersion", kSimFirmware);
  value.put("Status", status_ok());
  value.put("Outlets", link_to(fmt::format("{}/Outlets", kPdu)));
  return value;
}

std::vector<std::string> outlet_ids() {
  std::vector<std::string> ids;
  ids.reserve(kSimOutlets);
  for (std::uint32_t i = 1; i <= kSimOutlets; ++i) ids.push_back(fmt::format("{}", i));
  return ids;
}

// A GPU module, as an HGX H100 baseboard shows it.
Value gpu_chassis(std::uint32_t gpu) {
  const std::string id = gpu_chassis_id(gpu);
  const std::string path = fmt::format("/redfish/v1/Chassis/{}", id);
  Value value = resource_head(path, "Chassis.v1_22_0.Chassis", id, fmt::format("GPU_SXM_{}", gpu));
  value.put("ChassisType", "Module");
  value.put("Manufacturer", "weft");
  value.put("Model", "Simulated GPU");
  value.put("Status", status_ok());
  value.put("Sensors", link_to(path + "/Sensors"));
  value.put("LogServices", link_to(path + "/LogServices"));
  value.put("Links", Value::map({{"ContainedBy", link_to(std::string(kChassis))},
                                 {"ComputerSystems", Value::list({link_to("/redfish/v1/Systems/1")})},
                                 {"ManagedBy", Value::list({link_to("/redfish/v1/Managers/BMC")})}}));
  return value;
}

std::optional<Value> sensor_resource(const std::vector<SimSensor>& sensors, const SimPath& path) {
  std::vector<std::string> ids;
  ids.reserve(sensors.size());
  for (const SimSensor& sensor : sensors) {
    if (path.size() == 4 && sensor.id == path[3]) return sensor_value(sensor, path[1]);
    ids.push_back(sensor.id);
  }
  if (path.size() != 3) return std::nullopt;
  return collection(fmt::format("/redfish/v1/Chassis/{}/Sensors", path[1]), "Sensor", "Sensors", ids);
}

}  // namespace

std::optional<Value> chassis_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) {
    std::vector<std::string> ids{"1"};
    for (std::uint32_t gpu = 1; gpu <= bmc.device().gpus; ++gpu) ids.push_back(gpu_chassis_id(gpu));
    return collection("/redfish/v1/Chassis", "Chassis", "Chassis", ids);
  }
  if (const std::optional<std::uint32_t> gpu = gpu_of_chassis(bmc, path[1])) {
    if (path.size() == 2) return gpu_chassis(*gpu);
    if (path[2] == "Sensors") return sensor_resource(gpu_sensors(bmc, *gpu), path);
    return path[2] == "LogServices" ? log_resource(bmc, path) : std::nullopt;
  }
  if (path[1] != "1" || path.size() > 4) return std::nullopt;
  if (path.size() == 2) return chassis(bmc);
  if (path[2] == "Thermal" && path.size() == 3) return thermal(bmc);
  if (path[2] == "Power" && path.size() == 3) return power(bmc);
  return path[2] == "Sensors" ? sensor_resource(machine_sensors(bmc), path) : std::nullopt;
}

std::optional<Value> power_equipment_resource(const SimBmc& bmc, const SimPath& path) {
  if (bmc.device().kind != SimKind::pdu) return std::nullopt;
  if (path.size() == 1) {
    Value value = resource_head("/redfish/v1/PowerEquipment", "PowerEquipment.v1_2_1.PowerEquipment", "PowerEquipment",
                                "Power Equipment");
    value.put("Status", status_ok());
    value.put("RackPDUs", link_to("/redfish/v1/PowerEquipment/RackPDUs"));
    return value;
  }
  if (path[1] != "RackPDUs" || path.size() > 5) return std::nullopt;
  if (path.size() == 2) return collection("/redfish/v1/PowerEquipment/RackPDUs", "PowerDistribution", "PDUs", {"1"});
  if (path[2] != "1") return std::nullopt;
  if (path.size() == 3) return rack_pdu(bmc);
  if (path[3] != "Outlets") return std::nullopt;
  if (path.size() == 4) return collection(fmt::format("{}/Outlets", kPdu), "Outlet", "Outlets", outlet_ids());
  const std::optional<std::uint32_t> number = number_in_path(path[4]);
  if (!number || *number > kSimOutlets) return std::nullopt;
  return outlet(bmc, *number);
}

}  // namespace weft::bmcsim
