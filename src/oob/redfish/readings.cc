// Sensor readings for redfish/reply.h: Sensor, and the older Thermal and Power.
#include <array>
#include <utility>

#include "base/text.h"
#include "oob/redfish/json.h"
#include "oob/redfish/reply.h"

namespace weft::oob {
namespace {

struct KindName {
  std::string_view redfish;
  std::string_view kind;
};
// Sensor.ReadingType of DSP8010, as used by servers; others keep their name in lower case.
constexpr std::array<KindName, 5> kKinds{{{"Temperature", "temperature"},
                                          {"Rotational", "fan"},
                                          {"Voltage", "voltage"},
                                          {"Power", "power"},
                                          {"Current", "current"}}};

struct UnitName {
  std::string_view ucum;
  std::string_view unit;
};
// Sensor.ReadingUnits are UCUM codes (DSP0266, "Units of measure"); some services write names instead.
constexpr std::array<UnitName, 8> kUnits{{{"Cel", "C"},
                                          {"{rev}/min", "RPM"},
                                          {"RPM", "RPM"},
                                          {"Percent", "%"},
                                          {"Volts", "V"},
                                          {"Amps", "A"},
                                          {"Watts", "W"},
                                          {"Celsius", "C"}}};

std::string unit_of(std::string_view text) {
  for (const UnitName& name : kUnits) {
    if (name.ucum == text) return std::string(name.unit);
  }
  return clean(text);
}

std::string kind_of(const std::string& type, const std::string& unit) {
  for (const KindName& name : kKinds) {
    if (name.redfish == type) return std::string(name.kind);
  }
  if (type.empty()) return unit.empty() ? "discrete" : "";
  return to_lower(clean(type));
}

// Status.State of an absent component; its reading is meaningless.
bool is_absent(const Value& value) { return raw_text(value, {"Status", "State"}) == "Absent"; }

// Some services call a part critical that is not there.
Health health_of(const Value& value) {
  return is_absent(value) ? Health::unknown : parse_health(raw_text(value, {"Status", "Health"}));
}

struct OldReading {
  std::string_view kind{};
  std::string_view unit{};
  std::string_view member{};
};

SensorReading old_reading(const Value& item, const OldReading& old) {
  SensorReading reading;
  reading.name = clean_text(item, {"Name"});
  if (reading.name.empty()) reading.name = clean_text(item, {"FanName"});  // Thermal 1.0
  if (reading.name.empty()) reading.name = clean_text(item, {"MemberId"});
  reading.kind = old.kind;
  reading.unit = old.unit;
  reading.health = health_of(item);
  if (!is_absent(item)) reading.value = number(item, {old.member});
  reading.high_critical = number(item, {"UpperThresholdCritical"});
  reading.low_critical = number(item, {"LowerThresholdCritical"});
  return reading;
}

void add_old(std::vector<SensorReading>& out, const Value& value, std::string_view array, const OldReading& old) {
  for (const Value& item : list(value, {array})) {
    if (out.size() >= kMaxMembers) return;
    if (item.is_map()) out.push_back(old_reading(item, old));
  }
}

}  // namespace

Health parse_health(std::string_view text) {
  if (text == "OK") return Health::ok;
  if (text == "Warning") return Health::warning;
  if (text == "Critical") return Health::critical;
  return Health::unknown;
}

SensorReading parse_sensor(const Value& value) {
  SensorReading reading;
  reading.name = clean_text(value, {"Name"});
  if (reading.name.empty()) reading.name = clean_text(value, {"Id"});
  reading.unit = unit_of(raw_text(value, {"ReadingUnits"}));
  reading.kind = kind_of(raw_text(value, {"ReadingType"}), reading.unit);
  reading.health = health_of(value);
  if (!is_absent(value)) reading.value = number(value, {"Reading"});
  reading.high_critical = number(value, {"Thresholds", "UpperCritical", "Reading"});
  reading.low_critical = number(value, {"Thresholds", "LowerCritical", "Reading"});
  return reading;
}

std::vector<SensorReading> parse_thermal(const Value& value) {
  std::vector<SensorReading> out;
  add_old(out, value, "Temperatures", {"temperature", "C", "ReadingCelsius"});
  for (const Value& fan : list(value, {"Fans"})) {
    if (out.size() >= kMaxMembers) break;
    if (!fan.is_map()) continue;
    const bool percent = raw_text(fan, {"ReadingUnits"}) == "Percent";
    out.push_back(old_reading(fan, {"fan", percent ? "%" : "RPM", "Reading"}));
  }
  return out;
}

std::vector<SensorReading> parse_power(const Value& value) {
  std::vector<SensorReading> out;
  add_old(out, value, "PowerControl", {"power", "W", "PowerConsumedWatts"});
  add_old(out, value, "Voltages", {"voltage", "V", "ReadingVolts"});
  for (const Value& supply : list(value, {"PowerSupplies"})) {
    if (out.size() >= kMaxMembers) break;
    if (!supply.is_map()) continue;
    // PowerOutputWatts replaced LastPowerOutputWatts; services have what the supply takes, what it gives, or both.
    const bool has_output = number(supply, {"PowerOutputWatts"}).has_value();
    const OldReading output{"power", "W", has_output ? "PowerOutputWatts" : "LastPowerOutputWatts"};
    const OldReading input{"power", "W", "PowerInputWatts"};
    SensorReading given = old_reading(supply, output);
    SensorReading taken = old_reading(supply, input);
    if (!given.value || !taken.value) {
      out.push_back(taken.value ? std::move(taken) : std::move(given));
      continue;
    }
    given.name += " output";
    taken.name += " input";
    out.push_back(std::move(taken));
    out.push_back(std::move(given));
  }
  return out;
}

}  // namespace weft::oob
