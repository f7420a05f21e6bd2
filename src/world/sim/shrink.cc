// Shrinking of a failing scenario: fewer choices, then smaller ones, as long as the same invariant fails.
#include <fmt/format.h>

#include <algorithm>

#include "world/sim/simulation.h"

namespace weft::world {
namespace {

using Recorded = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

std::size_t count_choices(const Recorded& recorded) {
  std::size_t count = 0;
  for (const auto& [name, values] : recorded) {
    count += static_cast<std::size_t>(
        std::count_if(values.begin(), values.end(), [](std::uint32_t value) { return value != 0; }));
  }
  return count;
}

// "7: job 3 ..." and "7: job 5 ..." are the same invariant.
std::string invariant_of(const std::string& violation) { return violation.substr(0, violation.find(' ')); }

class Shrinker {
 public:
  Shrinker(Recorded recorded, SimulationOptions options, std::string invariant, std::size_t max_runs)
      : recorded_(std::move(recorded)),
        options_(std::move(options)),
        invariant_(std::move(invariant)),
        max_runs_(max_runs) {}

  void run() {
    bool smaller = true;
    while (smaller && runs_ < max_runs_) {
      smaller = false;
      std::vector<std::string> streams;
      for (const auto& [name, values] : recorded_) streams.push_back(name);
      for (const std::string& stream : streams) smaller = shrink_stream(stream) || smaller;
    }
  }
  [[nodiscard]] const Recorded& recorded() const { return recorded_; }
  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  // Delta debugging (Zeller and Hildebrandt, 2002): chunks of half the stream, of a quarter, and so on become harmless.
  bool shrink_stream(const std::string& stream) {
    bool smaller = false;
    const std::size_t size = recorded_[stream].size();
    for (std::size_t chunk = size; chunk > 0 && runs_ < max_runs_; chunk /= 2) {
      for (std::size_t first = 0; first < size && runs_ < max_runs_; first += chunk) {
        Recorded candidate = recorded_;
        std::vector<std::uint32_t>& values = candidate[stream];
        const std::size_t end = std::min(size, first + chunk);
        const bool zero = std::all_of(values.begin() + static_cast<std::ptrdiff_t>(first),
                                      values.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](std::uint32_t value) { return value == 0; });
        if (zero) continue;
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(first),
                  values.begin() + static_cast<std::ptrdiff_t>(end), 0U);
        smaller = accept(std::move(candidate)) || smaller;
      }
    }
    return smaller;
  }

  bool accept(Recorded candidate) {
    ++runs_;
    const SimulationResult result = simulate(Choices(candidate), options_);
    if (result.violation.empty() || invariant_of(result.violation) != invariant_) return false;
    recorded_ = std::move(candidate);
    return true;
  }

  Recorded recorded_;
  SimulationOptions options_;
  std::string invariant_;
  std::size_t max_runs_;
  std::size_t runs_ = 0;
};

}  // namespace

ShrunkScenario shrink(const std::string& scenario, const SimulationOptions& options, std::size_t max_runs) {
  ShrunkScenario shrunk;
  Result<Choices> choices = Choices::parse(scenario);
  if (!choices.ok()) return shrunk;
  const SimulationResult first = simulate(*choices, options);
  if (first.violation.empty()) return shrunk;
  Shrinker shrinker(choices->given(), options, invariant_of(first.violation), max_runs);
  shrinker.run();
  Choices small(shrinker.recorded());
  const SimulationResult last = simulate(small, options);
  shrunk.scenario = last.scenario;
  shrunk.violation = last.violation;
  shrunk.runs = shrinker.runs();
  shrunk.choices_before = count_choices(choices->given());
  shrunk.choices_after = count_choices(shrinker.recorded());
  return shrunk;
}

}  // namespace weft::world
