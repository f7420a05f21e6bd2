// Sensors of a whole fleet: the lowest, median and highest value per sensor with the devices, how many are unhealthy,
// and outliers among machines of the same model whose BMC reports no problem. Readings are compact (24 bytes each):
// 16,384 BMCs with a hundred sensors each take 40 MB.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document.h"
#include "oob/bmc/bmc.h"
#include "oob/bmc/consolidate.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

struct SensorSample {
  std::uint32_t target = 0;
  std::uint32_t limits = 0;  // index into SensorFleet::limits()
  double value = 0;
  Health health = Health::unknown;
  bool readable = false;
};

struct SensorLimits {
  std::optional<double> low_critical;
  std::optional<double> high_critical;
  friend auto operator<=>(const SensorLimits&, const SensorLimits&) = default;
};

// One sensor of one server model on all machines that have it.
struct SensorSeries {
  std::string model;  // catalog name: fans of different models are not comparable
  std::string name;
  std::string kind;
  std::string unit;
  std::vector<SensorSample> samples;  // by target
};

class SensorFleet {
 public:
  explicit SensorFleet(const Inventory& inventory) : inventory_(inventory) {}
  // From any thread. A value that is not a number counts as unreadable.
  void add(std::uint32_t target, const std::vector<SensorReading>& readings);
  void add_unread(std::uint32_t target, const std::vector<UnreadSensors>& unread);
  // By model, kind and name in natural order, independent of the order of adding. Empty `kind`: all.
  [[nodiscard]] std::vector<SensorSeries> series(const std::string& kind) const;
  [[nodiscard]] SensorLimits limits(std::uint32_t index) const;
  // Parts whose sensors could not be read, by place and reason.
  struct Unread {
    std::string place;
    std::string why;
    std::vector<std::uint32_t> targets;
  };
  [[nodiscard]] std::vector<Unread> unread() const;
  // The kinds of all sensors, in order.
  [[nodiscard]] std::vector<std::string> kinds() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;  // model, kind, name, unit
  const Inventory& inventory_;
  mutable std::mutex mutex_;
  std::map<Key, std::vector<SensorSample>> samples_;
  std::map<SensorLimits, std::uint32_t> limit_numbers_;
  std::vector<SensorLimits> limits_;
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> unread_;
};

struct SensorSummary {
  std::optional<double> lowest;  // none if no device's value is readable
  std::optional<double> median;
  std::optional<double> highest;
  std::uint32_t highest_at = 0;
  std::vector<std::uint32_t> critical;
  std::vector<std::uint32_t> warning;
  std::vector<std::uint32_t> unreadable;  // the sensor exists, but has no value
  std::vector<std::uint32_t> outliers;
};
[[nodiscard]] SensorSummary summarize(const SensorSeries& series);

// Indexes of the values that are further from the median than 3.5 robust standard deviations: |x - median| / (1.4826
// MAD), Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993). If more than half of the values are equal, the
// MAD is zero, and 1.2533 times the mean absolute deviation is used instead. Fewer than 10 values have no outliers: the
// rule was tested on samples of 10 and more.
[[nodiscard]] std::vector<std::size_t> outliers_of(const std::vector<double>& values);

// Reorders the values, of which there is at least one.
[[nodiscard]] double median_of(std::vector<double>& values);

struct SensorsReport {
  Document document;
  bool critical = false;
};
// One row per sensor, critical first, then warnings, then outliers. `only_bad`: only these.
[[nodiscard]] SensorsReport sensors_report(const Inventory& inventory, const SensorFleet& fleet,
                                           const std::string& kind, bool only_bad,
                                           const std::vector<Unreached>& unreached);
// One row per host and sensor, for programs.
[[nodiscard]] SensorsReport sensor_rows(const Inventory& inventory, const SensorFleet& fleet, const std::string& kind,
                                        bool only_bad, const std::vector<Unreached>& unreached);

}  // namespace weft::oob
