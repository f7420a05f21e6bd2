// RedfishBmc: the sensors of all chassis, each once. Services of the last years have Sensor resources, older ones the
// lists of Thermal and Power (until Redfish 2020.4), and many have both, of which neither is complete.
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "oob/redfish/bmc.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

constexpr int kMaxLevels = 16;  // of chassis within chassis

// Readings, with the chassis that each was read from.
class SensorUnion {
 public:
  explicit SensorUnion(const std::vector<ChassisInfo>& chassis) {
    for (const ChassisInfo& one : chassis) within_.emplace(one.path, one.within);
  }

  // Those of one list: equal names in it are different sensors. A reading that was added for the same chassis, for one
  // within it or around it is left out.
  void add(const std::string& chassis, std::vector<SensorReading> readings) {
    std::map<Key, int> counts;
    std::vector<std::pair<Key, SensorReading>> fresh;
    for (SensorReading& reading : readings) {
      Key key{to_lower(reading.name), reading.kind};
      const int count = ++counts[key];
      if (is_known(key, chassis)) continue;
      if (count > 1) reading.name += fmt::format(" ({})", count);
      fresh.emplace_back(std::move(key), std::move(reading));
    }
    for (auto& [key, reading] : fresh) {
      places_[key].insert(chassis);
      all_.push_back(std::move(reading));
    }
  }
  [[nodiscard]] std::vector<SensorReading> take() { return std::move(all_); }

 private:
  using Key = std::tuple<std::string, std::string>;  // name in lower case, kind

  [[nodiscard]] bool is_known(const Key& key, const std::string& chassis) const {
    const auto places = places_.find(key);
    if (places == places_.end()) return false;
    for (const std::string& place : places->second) {
      if (is_within(place, chassis) || is_within(chassis, place)) return true;
    }
    return false;
  }
  // Whether `inner` is `outer` or a part of it.
  [[nodiscard]] bool is_within(std::string inner, const std::string& outer) const {
    for (int level = 0; level < kMaxLevels && !inner.empty(); ++level) {
      if (inner == outer) return true;
      const auto found = within_.find(inner);
      if (found == within_.end()) return false;
      inner = found->second;
    }
    return false;
  }

  std::map<std::string, std::string> within_;
  std::map<Key, std::set<std::string>> places_;
  std::vector<SensorReading> all_;
};

}  // namespace

Result<std::vector<ChassisInfo>> RedfishBmc::chassis() {
  const Result<std::vector<Value>> values = members(session_->root().chassis, kMaxMembers, false);
  if (!values.ok()) return values.error();
  std::vector<ChassisInfo> out;
  for (const Value& value : *values) {
    out.push_back(parse_chassis(value));
    if (out.back().path.empty()) out.back().path = fmt::format("{}", out.size());  // distinct from the others
  }
  return out;
}

Result<std::vector<SensorReading>> RedfishBmc::sensors() {
  if (session_->root().chassis.empty()) return error(ErrorCode::not_found, "has no chassis and therefore no sensors");
  const Result<std::vector<ChassisInfo>> all = chassis();
  if (!all.ok()) return all.error();
  std::optional<Error> problem;
  const auto note = [&](const Error& seen) {
    if (!problem && seen.code != ErrorCode::not_found) problem = seen;
  };
  SensorUnion out(*all);
  std::vector<std::string> collections;
  for (const ChassisInfo& one : *all) collections.push_back(one.sensors);
  std::erase(collections, "");
  const std::vector<Members> sensors = members_of(collections, kMaxMembers);
  for (std::size_t i = 0, next = 0; i < all->size(); ++i) {
    if ((*all)[i].sensors.empty()) continue;
    const Members& read = sensors[next++];
    if (read.problem) note(*read.problem);
    std::vector<SensorReading> readings;
    for (const Member& member : read.members) {
      if (!member.value.ok()) note(member.value.error());
      if (member.value.ok()) readings.push_back(parse_sensor(*member.value));
    }
    out.add((*all)[i].path, std::move(readings));
  }
  for (const ChassisInfo& one : *all) {
    for (const auto& [path, parse] : {std::pair(one.thermal, &parse_thermal), std::pair(one.power, &parse_power)}) {
      if (path.empty()) continue;
      const Result<RedfishReply> reply = session_->get(path);
      if (!reply.ok()) note(reply.error());
      if (reply.ok()) out.add(one.path, parse(reply->value));
    }
  }
  std::vector<SensorReading> readings = out.take();
  if (readings.empty() && problem) return *problem;
  return readings;
}

}  // namespace weft::oob
