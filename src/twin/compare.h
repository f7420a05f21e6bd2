// Variants of a plan, each run over the same seeds: with one seed, all variants meet the same incidents, so that their
// differences are paired. Runs in parallel; the result does not depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "twin/statistics.h"
#include "twin/twin.h"

namespace weft::twin {

enum class Measure : std::uint8_t { ettr, goodput, availability, interruptions, lost_gpu_hours, later_waits };
inline constexpr std::size_t kMeasures = 6;
using Measures = std::array<double, kMeasures>;  // shares of 1, counts, hours

[[nodiscard]] std::string_view key_of(Measure measure);   // "lost_gpu_hours"
[[nodiscard]] std::string_view to_text(Measure measure);  // "Lost GPU-hours"
[[nodiscard]] bool is_better_high(Measure measure);
[[nodiscard]] Measures measures_of(const TwinResult& result);

struct Variant {
  std::string name;
  TwinPlan plan;                   // its seed is not used
  std::vector<std::string> point;  // of a sweep: the value of each axis
};

struct Comparison {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> points;  // of each variant, see Variant::point
  std::vector<std::uint64_t> seeds;
  std::vector<std::vector<Measures>> runs;  // [variant][seed]
  std::vector<std::string> notes;

  [[nodiscard]] std::vector<double> values_of(std::size_t variant, Measure measure) const;
  [[nodiscard]] Estimate mean(std::size_t variant, Measure measure) const;
  // Of variant `a` to variant `b`.
  [[nodiscard]] Estimate difference(std::size_t a, std::size_t b, Measure measure) const;
  // The variant with the best mean, if its difference to the second best one is distinguishable from 0.
  [[nodiscard]] std::optional<std::size_t> best(Measure measure) const;
};

struct CompareHooks {
  // Between pieces of a run, from any thread: false stops all runs; the result is then an error.
  std::function<bool()> go_on;
  // After each run, from one thread at a time.
  std::function<void(std::size_t done, std::size_t runs)> finished;
};

// Runs every variant with every seed.
[[nodiscard]] Result<Comparison> compare(const std::vector<Variant>& variants, std::vector<std::uint64_t> seeds,
                                         unsigned threads, const CompareHooks& hooks = {});

// Every measure of every variant with its difference to the first one. With `all` also the runs. Margins are half the
// width of an interval.
[[nodiscard]] Document compare_document(const Comparison& comparison, bool all);
// One row per variant, in the order given, with the values of the axes.
[[nodiscard]] Document sweep_document(const Comparison& comparison, const std::vector<std::string>& axes, bool all);

}  // namespace weft::twin
