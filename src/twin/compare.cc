#include "twin/compare.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "twin/parallel.h"

namespace weft::twin {
namespace {

// Hands out the runs to threads. Each run has its own place in the result, so the order does not matter.
class Runner {
 public:
  Runner(const std::vector<Variant>& variants, const CompareHooks& hooks, Comparison& comparison)
      : variants_(variants), seeds_(comparison.seeds.size()), hooks_(hooks), comparison_(comparison), errors_(runs()) {}

  void run(unsigned threads) {
    parallel_for(runs(), threads, [this](std::size_t i) { work(i); });
  }
  // The error of the first run, in the order of variants and seeds, that has one.
  [[nodiscard]] std::optional<Error> problem() const {
    const auto found = std::find_if(errors_.begin(), errors_.end(), [](const auto& each) { return each.has_value(); });
    return found == errors_.end() ? std::nullopt : *found;
  }

 private:
  [[nodiscard]] std::size_t runs() const { return variants_.size() * seeds_; }

  void work(std::size_t i) {
    if (stopped_) return;
    const Variant& variant = variants_[i / seeds_];
    TwinPlan plan = variant.plan;
    plan.seed = comparison_.seeds[i % seeds_];
    TwinHooks hooks;
    hooks.progress = [&](Duration) { return !stopped_ && (!hooks_.go_on || hooks_.go_on()); };
    const Result<TwinResult> result = play(plan, hooks);
    if (!result.ok()) {
      stopped_ = true;
      Error error = result.error();
      if (error.code != ErrorCode::unavailable) error.message = "variant " + variant.name + ": " + error.message;
      errors_[i] = std::move(error);
      return;
    }
    comparison_.runs[i / seeds_][i % seeds_] = measures_of(*result);
    const std::lock_guard lock(mutex_);
    ++done_;
    if (hooks_.finished) hooks_.finished(done_, runs());
  }

  const std::vector<Variant>& variants_;
  std::size_t seeds_;
  const CompareHooks& hooks_;
  Comparison& comparison_;
  std::vector<std::optional<Error>> errors_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::size_t done_ = 0;
};

}  // namespace

std::string_view key_of(Measure measure) {
  static constexpr std::array<std::string_view, kMeasures> names = {"ettr",          "goodput",        "availability",
                                                                    "interruptions", "lost_gpu_hours", "later_waits_h"};
  return names[static_cast<std::size_t>(measure)];
}

std::string_view to_text(Measure measure) {
  static constexpr std::array<std::string_view, kMeasures> names = {
      "ETTR", "Goodput", "Availability", "Interruptions", "Lost GPU-hours", "Later waits (h)"};
  return names[static_cast<std::size_t>(measure)];
}

bool is_better_high(Measure measure) {
  return measure == Measure::ettr || measure == Measure::goodput || measure == Measure::availability;
}

Measures measures_of(const TwinResult& result) {
  return {result.ettr(),         result.goodput(),
          result.availability(), static_cast<double>(result.interruptions()),
          result.lost_hours(),   static_cast<double>(result.waits().count()) / 3.6e12};
}

std::vector<double> Comparison::values_of(std::size_t variant, Measure measure) const {
  std::vector<double> values;
  values.reserve(runs[variant].size());
  for (const Measures& run : runs[variant]) values.push_back(run[static_cast<std::size_t>(measure)]);
  return values;
}

Estimate Comparison::mean(std::size_t variant, Measure measure) const {
  return estimate_mean(values_of(variant, measure));
}

Estimate Comparison::difference(std::size_t a, std::size_t b, Measure measure) const {
  return estimate_difference(values_of(a, measure), values_of(b, measure));
}

std::optional<std::size_t> Comparison::best(Measure measure) const {
  if (runs.size() < 2) return std::nullopt;
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(runs.size());
  for (std::size_t v = 0; v < runs.size(); ++v) {
    order.emplace_back((is_better_high(measure) ? -1 : 1) * mean(v, measure).mean, v);
  }
  std::sort(order.begin(), order.end());
  if (!difference(order[0].second, order[1].second, measure).differs_from_zero()) return std::nullopt;
  return order[0].second;
}

Result<Comparison> compare(const std::vector<Variant>& variants, std::vector<std::uint64_t> seeds, unsigned threads,
                           const CompareHooks& hooks) {
  Comparison comparison;
  comparison.names.reserve(variants.size());
  comparison.points.reserve(variants.size());
  for (const Variant& variant : variants) {
    comparison.names.push_back(variant.name);
    comparison.points.push_back(variant.point);
  }
  comparison.runs.assign(variants.size(), std::vector<Measures>(seeds.size()));
  comparison.seeds = std::move(seeds);
  Runner runner(variants, hooks, comparison);
  runner.run(threads);
  if (const std::optional<Error> problem = runner.problem()) return *problem;
  return comparison;
}

}  // namespace weft::twin
