// RedfishBmc: the sensors of all chassis, each once. Services of the last years have Sensor resources, older ones the
// lists of Thermal and Power (until Redfish 2020.4), and many have both, of which neither is complete.
#include <fmt/format.h>

#include <algorithm>
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

// `unread`, if given, gets those that cannot be read.
Result<std::vector<ChassisInfo>> RedfishBmc::chassis(std::vector<UnreadSensors>* unread) {
  const Members all = members_of({session_->root().chassis}, kMaxMembers).front();
  std::optional<Error> problem = all.problem;
  if (problem && unread != nullptr) unread->push_back({log_name(session_->root().chassis), *problem});
  std::vector<ChassisInfo> out;
  for (const Member& member : all.members) {
    if (!member.value.ok()) {
      const Error& error = member.value.error();
      if (error.code == ErrorCode::not_found) continue;
      if (!problem) problem = error;
      if (unread != nullptr) unread->push_back({log_name(member.path), error});
      continue;
    }
    out.push_back(parse_chassis(*member.value));
    if (out.back().path.empty()) out.back().path = member.path;
  }
  if (out.empty() && problem) return *problem;
  return out;
}

Result<std::vector<SensorReading>> RedfishBmc::sensors() {
  Result<SensorReadings> all = all_sensors();
  if (!all.ok()) return all.error();
  return std::move(all->readings);
}

Result<SensorReadings> RedfishBmc::all_sensors() {
  if (session_->root().chassis.empty()) return error(ErrorCode::not_found, "has no chassis and therefore no sensors");
  std::vector<UnreadSensors> unread;
  const Result<std::vector<ChassisInfo>> all = chassis(&unread);
  if (!all.ok()) return all.error();
  const auto note = [&](const ChassisInfo& where, const Error& seen) {
    if (seen.code == ErrorCode::not_found) return;
    std::string place = log_name(where.path);
    if (unread.empty() || unread.back().place != place) unread.push_back({std::move(place), seen});
  };
  SensorUnion out(*all);
  std::vector<std::string> collections;
  for (const ChassisInfo& one : *all) collections.push_back(one.sensors);
  std::erase(collections, "");
  const std::vector<Members> sensors = members_of(collections, kMaxMembers);
  for (std::size_t i = 0, next = 0; i < all->size(); ++i) {
    if ((*all)[i].sensors.empty()) continue;
    const Members& read = sensors[next++];
    if (read.problem) note((*all)[i], *read.problem);
    std::vector<SensorReading> readings;
    for (const Member& member : read.members) {
      if (!member.value.ok()) note((*all)[i], member.value.error());
      if (member.value.ok()) readings.push_back(parse_sensor(*member.value));
    }
    out.add((*all)[i].path, std::move(readings));
  }
  for (const ChassisInfo& one : *all) {
    for (const auto& [path, parse] : {std::pair(one.thermal, &parse_thermal), std::pair(one.power, &parse_power)}) {
      if (path.empty()) continue;
      const Result<RedfishReply> reply = session_->get(path);
      if (!reply.ok()) note(one, reply.error());
      if (reply.ok()) out.add(one.path, parse(reply->value));
    }
  }
  SensorReadings result{out.take(), {}};
  if (result.readings.empty() && !unread.empty()) return unread.front().error;
  // A chassis may have failed in Sensors and in Thermal.
  std::stable_sort(unread.begin(), unread.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
  unread.erase(
      std::unique(unread.begin(), unread.end(), [](const auto& a, const auto& b) { return a.place == b.place; }),
      unread.end());
  result.unread = std::move(unread);
  return result;
}

}  // namespace weft::oob
