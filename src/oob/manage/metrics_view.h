// Telemetry of a whole fleet: values of equal parts (all GPUs, all NVLinks of a model) in one row, with the lowest,
// median and highest and which are outliers; texts, such as the state of a link, with who has which. Differences come
// first: a link that is slower than the others, a GPU that was throttled.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document.h"
#include "oob/bmc/bmc.h"
#include "oob/bmc/consolidate.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

// A number, or an ISO 8601 duration (DSP0266: "PT1H2.5S") as seconds. Nothing for another text, and for one that is not
// finite ("nan": no reading).
struct MetricNumber {
  double value = 0;
  bool is_duration = false;
};
[[nodiscard]] std::optional<MetricNumber> metric_number(std::string_view text);
// Whether a text says that there is no value: "nan", "NA", "".
[[nodiscard]] bool is_without_value(std::string_view text);

// "GPU_*/NVLink_*" for GPU_2/NVLink_17: parts that can be compared.
[[nodiscard]] std::string part_pattern(std::string_view part);

class MetricFleet {
 public:
  // `only`: metrics whose name or part contains it, in any case; empty: all. `keep_rows`: for rows().
  MetricFleet(const Inventory& inventory, std::string only, bool keep_rows)
      : inventory_(inventory), only_(std::move(only)), keep_rows_(keep_rows) {}
  void add(std::uint32_t target, const MetricReports& reports);  // from any thread
  void add_without_telemetry(std::uint32_t target);

  struct Sample {
    std::uint32_t target = 0;
    std::string part;
    std::string name;  // if it is one of several in the row: "CoreUtil_67"
    std::string text;
    std::optional<MetricNumber> number;
  };
  struct Series {
    std::string model;
    std::string part;  // a pattern
    std::string name;
    std::vector<Sample> samples;  // by target and part; the latest of a history
  };
  // By model, part and name in natural order, independent of the order of adding.
  [[nodiscard]] std::vector<Series> series() const;
  // As the BMCs wrote them, by target.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, Metric>> rows() const;
  struct Unread {
    std::string report;
    std::string why;
    std::vector<std::uint32_t> targets;
  };
  [[nodiscard]] std::vector<Unread> unread() const;
  [[nodiscard]] std::vector<std::uint32_t> without_telemetry() const;
  [[nodiscard]] std::uint64_t without_value() const;
  // Why there is nothing to show, where metrics were asked for; empty if there is something.
  [[nodiscard]] std::string why_nothing() const;
  [[nodiscard]] std::uint64_t stale() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // model, pattern of the part, name
  const Inventory& inventory_;
  const std::string only_;
  const bool keep_rows_;
  mutable std::mutex mutex_;
  std::map<Key, std::vector<Sample>> samples_;
  std::map<std::uint32_t, std::vector<Metric>> rows_;
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> unread_;
  std::vector<std::uint32_t> without_;
  std::uint64_t read_ = 0;  // values, chosen or not
  std::uint64_t without_value_ = 0;
  std::uint64_t stale_ = 0;
  bool was_answered_ = false;  // by a device with telemetry
};

[[nodiscard]] Document metrics_document(const Inventory& inventory, const MetricFleet& fleet,
                                        const std::vector<Unreached>& unreached);
// One row per value, for programs.
[[nodiscard]] Document metric_rows(const Inventory& inventory, const MetricFleet& fleet,
                                   const std::vector<Unreached>& unreached);

}  // namespace weft::oob
