// The chassis and its sensors, in the new schema (Sensors) and the old one (Thermal, Power); the outlets of a PDU.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "bmcsim/resource.h"

namespace weft::bmcsim {
namespace {

constexpr std::string_view kChassis = "/redfish/v1/Chassis/1";
constexpr std::string_view kPdu = "/redfish/v1/PowerEquipment/RackPDUs/1";

struct SensorRule {
  std::string_view id;
  std::string_view name;
  std::string_view type;
  std::string_view unit;
  std::string_view context;
  int off = 0;   // reading while the machine is off, in tenths
  int on = 0;    // reading while it runs
  int most = 0;  // upper critical threshold, in tenths; 0: none
};
// A loaded air-cooled server: inlets of 18 to 27 degrees (recommended by ASHRAE TC 9.9), GPUs throttle at 90.
constexpr std::array<SensorRule, 9> kSensors{{
    {"InletTemp", "Inlet Temperature", "Temperature", "Cel", "Intake", 220, 240, 420},
    {"OutletTemp", "Outlet Temperature", "Temperature", "Cel", "Exhaust", 230, 480, 750},
    {"CPU1Temp", "CPU 1 Temperature", "Temperature", "Cel", "CPU", 230, 620, 950},
    {"GPU1Temp", "GPU 1 Temperature", "Temperature", "Cel", "GPU", 230, 710, 900},
    {"Fan1", "Fan 1", "Rotational", "RPM", "Fan", 0, 98'000, 0},
    {"Fan2", "Fan 2", "Rotational", "RPM", "Fan", 0, 97'000, 0},
    {"P12V", "12 V Rail", "Voltage", "V", "SystemBoard", 120, 121, 132},
    {"PSU1InputVoltage", "PSU 1 Input Voltage", "Voltage", "V", "PowerSupply", 2300, 2300, 2640},
    {"TotalPower", "Total Power", "Power", "W", "PowerSubsystem", 0, 0, 0},
}};

// In tenths of the unit, with some variation over time per sensor.
std::int64_t reading_of(const SimBmc& bmc, const SensorRule& rule) {
  const bool on = bmc.power() == oob::PowerState::on;
  std::int64_t tenths = on ? rule.on : rule.off;
  // Standby draws 2 percent of the maximum, load 70 percent.
  if (rule.type == "Power") tenths = bmc.device().power.count() / (on ? 143 : 5000);
  const std::int64_t second = bmc.now().count() / 1'000'000'000;
  const auto wobble = static_cast<std::int64_t>(hash64(fmt::format("{}{}{}", bmc.device().name, rule.id, second)) % 41);
  return tenths + tenths * (wobble - 20) / 1000;
}

double tenths_to_number(std::int64_t tenths) { return static_cast<double>(tenths) / 10; }

Value sensor(const SimBmc& bmc, const SensorRule& rule) {
  Value value =
      resource_head(fmt::format("{}/Sensors/{}", kChassis, rule.id), "Sensor.v1_7_0.Sensor", rule.id, rule.name);
  value.put("ReadingType", rule.type);
  value.put("ReadingUnits", rule.unit);
  value.put("PhysicalContext", rule.context);
  value.put("Reading", tenths_to_number(reading_of(bmc, rule)));
  if (rule.most != 0) {
    value.put("Thresholds", Value::map({{"UpperCritical", Value::map({{"Reading", tenths_to_number(rule.most)}})}}));
  }
  value.put("Status", status_ok());
  return value;
}

Value thermal(const SimBmc& bmc) {
  Value value = resource_head(fmt::format("{}/Thermal", kChassis), "Thermal.v1_7_1.Thermal", "Thermal", "Thermal");
  Value temperatures = Value::list();
  Value fans = Value::list();
  for (const SensorRule& rule : kSensors) {
    const bool fan = rule.type == "Rotational";
    if (!fan && rule.type != "Temperature") continue;
    Value& list = fan ? fans : temperatures;
    const std::size_t number = list.is_list() ? list.items().size() : 0;
    Value item = Value::map();
    item.put("@odata.id", fmt::format("{}/Thermal#/{}/{}", kChassis, fan ? "Fans" : "Temperatures", number));
    item.put("MemberId", fmt::format("{}", number));
    item.put("Name", rule.name);
    item.put("PhysicalContext", rule.context);
    item.put(fan ? "Reading" : "ReadingCelsius", tenths_to_number(reading_of(bmc, rule)));
    if (fan) item.put("ReadingUnits", "RPM");
    if (rule.most != 0) item.put("UpperThresholdCritical", tenths_to_number(rule.most));
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
  for (const SensorRule& rule : kSensors) {
    if (rule.type == "Power") {
      control.put("@odata.id", fmt::format("{}/Power#/PowerControl/0", kChassis));
      control.put("MemberId", "0");
      control.put("Name", "System Power Control");
      control.put("PowerConsumedWatts", tenths_to_number(reading_of(bmc, rule)));
      control.put("PowerCapacityWatts", bmc.device().power.count() / 1000);
      control.put("Status", status_ok());
    }
    if (rule.type != "Voltage") continue;
    const std::size_t number = voltages.items().size();
    Value item = Value::map();
    item.put("@odata.id", fmt::format("{}/Power#/Voltages/{}", kChassis, number));
    item.put("MemberId", fmt::format("{}", number));
    item.put("Name", rule.name);
    item.put("ReadingVolts", tenths_to_number(reading_of(bmc, rule)));
    item.put("UpperThresholdCritical", tenths_to_number(rule.most));
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

}  // namespace

std::optional<Value> chassis_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) return collection("/redfish/v1/Chassis", "Chassis", "Chassis", {"1"});
  if (path[1] != "1" || path.size() > 4) return std::nullopt;
  if (path.size() == 2) return chassis(bmc);
  if (path[2] == "Thermal" && path.size() == 3) return thermal(bmc);
  if (path[2] == "Power" && path.size() == 3) return power(bmc);
  if (path[2] != "Sensors") return std::nullopt;
  if (path.size() == 4) {
    for (const SensorRule& rule : kSensors) {
      if (rule.id == path[3]) return sensor(bmc, rule);
    }
    return std::nullopt;
  }
  std::vector<std::string> ids;
  ids.reserve(kSensors.size());
  for (const SensorRule& rule : kSensors) ids.emplace_back(rule.id);
  return collection(fmt::format("{}/Sensors", kChassis), "Sensor", "Sensors", ids);
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
