#include "sched/pack_bound.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "sched/node_value.h"

namespace weft::sched {
namespace {

constexpr int kFirstRounds = 400;
constexpr int kLaterRounds = 100;
constexpr int kSplits = 24;  // of the time at which the pivot stops to fit
constexpr std::size_t kPivots = 2;

// How many tasks of a type may have been placed.
struct Range {
  double low = 0;
  double high = 0;
};

class BoundSearch {
 public:
  BoundSearch(const Machine& machine, std::span<const TaskType> types);

  // The least bound found from these worths on, which are left at the best seen.
  double search(std::span<const Range> ranges, std::vector<double>& worths, int rounds);
  [[nodiscard]] std::vector<double> first_worths() const { return gpu_; }
  // Ranges of types put together to the items of the node value.
  [[nodiscard]] std::vector<Range> ranges_of(std::span<const Range> by_type) const;

 private:
  [[nodiscard]] double bound(std::span<const Range> ranges, std::span<const double> worths);

  struct Kind {
    const NodeShape* shape = nullptr;
    NodeFree free{};
    double count = 0;
  };
  NodeValue values_;
  std::vector<Kind> kinds_;  // servers that are equal but for their names
  std::vector<double> gpu_;  // what each item asks for, thousandths
  std::vector<double> used_;
  std::vector<std::ptrdiff_t> item_of_;  // by type; -1 without a GPU
};

BoundSearch::BoundSearch(const Machine& machine, std::span<const TaskType> types)
    : values_(types, NodeValue::common_step(types)) {
  std::map<std::tuple<Milli, std::int32_t, std::int32_t, std::int32_t>, Kind> kinds;
  for (const NodeShape& shape : machine.nodes()) {
    Kind& kind = kinds[{shape.cpu, shape.gpus, shape.model, shape.pool}];
    kind.shape = &shape;
    kind.free = empty_node(shape);
    kind.count += 1;
  }
  for (const auto& [key, kind] : kinds) kinds_.push_back(kind);
  for (const NodeValue::Item& item : values_.items()) gpu_.push_back(item.request.gpu_total());
  used_.resize(gpu_.size());
  for (const TaskType& type : types) {
    Request request = type.request;
    request.memory_mib = request.scratch_gib = request.functions = 0;
    const auto& items = values_.items();
    const auto found =
        std::find_if(items.begin(), items.end(), [&](const NodeValue::Item& item) { return item.request == request; });
    item_of_.push_back(found == items.end() ? -1 : found - items.begin());
  }
}

std::vector<Range> BoundSearch::ranges_of(std::span<const Range> by_type) const {
  std::vector<Range> ranges(gpu_.size());
  for (std::size_t t = 0; t < by_type.size(); ++t) {
    if (item_of_[t] < 0) continue;
    ranges[static_cast<std::size_t>(item_of_[t])].low += by_type[t].low;
    ranges[static_cast<std::size_t>(item_of_[t])].high += by_type[t].high;
  }
  return ranges;
}

double BoundSearch::bound(std::span<const Range> ranges, std::span<const double> worths) {
  values_.set_worths(worths, 0);
  std::fill(used_.begin(), used_.end(), 0.0);
  double cores = 0;
  double sum = 0;
  for (const Kind& kind : kinds_) sum += kind.count * values_.fill(*kind.shape, kind.free, kind.count, used_, cores);
  for (std::size_t i = 0; i < worths.size(); ++i) {
    const double rest = gpu_[i] - worths[i];
    sum += rest * (rest > 0 ? ranges[i].high : ranges[i].low);
  }
  return sum;
}

// Subgradient steps: a type that the best fill takes more often than it can have come is worth less, and so on.
double BoundSearch::search(std::span<const Range> ranges, std::vector<double>& worths, int rounds) {
  std::vector<double> now = worths;
  std::vector<double> mean(now.size(), 0.0);
  double least = bound(ranges, now);
  const auto keep = [&](double found, const std::vector<double>& at) {
    if (found >= least) return;
    least = found;
    worths = at;
  };
  for (int round = 0; round < rounds; ++round) {
    const double step = 0.3 / (1 + 0.05 * round);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double count = now[i] < gpu_[i] ? ranges[i].high : ranges[i].low;
      now[i] = std::max(0.0, now[i] - step * gpu_[i] * (used_[i] - count) / (used_[i] + count + 1));
    }
    keep(bound(ranges, now), now);
    if (2 * round < rounds) continue;
    for (std::size_t i = 0; i < now.size(); ++i) mean[i] += now[i] / (rounds - (rounds + 1) / 2);
  }
  if (rounds > 1) keep(bound(ranges, mean), mean);
  return least;
}

// Bounds for one type taken as the pivot: whatever the moment at which it stops to fit, one part of the arrivals holds
// that moment; the part with the highest bound is split until the bound no longer pays.
class PivotSearch {
 public:
  PivotSearch(BoundSearch& search, std::span<const TaskType> types, std::span<const std::uint32_t> arrivals,
              std::size_t pivot)
      : search_(search), types_(types), arrivals_(arrivals), pivot_(pivot) {}

  double run(const std::vector<double>& worths) {
    std::vector<Part> parts = {{0, arrivals_.size(), 0, worths}};
    evaluate(parts.front(), kLaterRounds);
    for (int split = 0; split < kSplits; ++split) {
      const auto worst =
          std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bound < b.bound; });
      if (worst->end - worst->begin < 2) break;
      Part right = *worst;
      right.begin = worst->end = worst->begin + (worst->end - worst->begin) / 2;
      evaluate(*worst, kLaterRounds);
      evaluate(right, kLaterRounds);
      parts.push_back(std::move(right));
    }
    double most = 0;
    for (const Part& part : parts) most = std::max(most, part.bound);
    return most;
  }

 private:
  struct Part {  // the pivot stops to fit after `begin` and not after `end` arrivals
    std::size_t begin = 0;
    std::size_t end = 0;
    double bound = 0;
    std::vector<double> worths;
  };

  void evaluate(Part& part, int rounds) {
    std::vector<double> before(types_.size(), 0.0);
    std::vector<double> until(types_.size(), 0.0);
    std::vector<double> all(types_.size(), 0.0);
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      if (i < part.begin) before[arrivals_[i]] += 1;
      if (i < part.end) until[arrivals_[i]] += 1;
      all[arrivals_[i]] += 1;
    }
    std::vector<Range> ranges(types_.size());
    for (std::size_t t = 0; t < types_.size(); ++t) {
      const bool more = needs_no_less(types_[t].request, types_[pivot_].request);
      const bool less = needs_no_less(types_[pivot_].request, types_[t].request);
      ranges[t] = {less ? before[t] : 0.0, more ? until[t] : all[t]};
    }
    part.bound = search_.search(search_.ranges_of(ranges), part.worths, rounds);
  }

  BoundSearch& search_;
  std::span<const TaskType> types_;
  std::span<const std::uint32_t> arrivals_;
  std::size_t pivot_;
};

// The types that waste most of a GPU nobody else of their size can share.
std::vector<std::size_t> pivots_of(std::span<const TaskType> types) {
  std::vector<std::size_t> pivots;
  for (std::size_t t = 0; t < types.size(); ++t) {
    const Request& request = types[t].request;
    if (request.gpus == 1 && request.gpu_milli < kWholeGpu && 2 * request.gpu_milli > kWholeGpu) pivots.push_back(t);
  }
  const auto waste = [&](std::size_t t) { return types[t].count * (kWholeGpu - types[t].request.gpu_milli); };
  std::stable_sort(pivots.begin(), pivots.end(), [&](std::size_t a, std::size_t b) { return waste(a) > waste(b); });
  if (pivots.size() > kPivots) pivots.resize(kPivots);
  return pivots;
}

bool subset(std::uint64_t of_a, std::uint64_t of_b) { return of_b == 0 || (of_a != 0 && (of_a & ~of_b) == 0); }

}  // namespace

bool needs_no_less(const Request& a, const Request& b) {
  if (a.mig.slices > 0 || b.mig.slices > 0) return a == b;
  const bool gpus = b.gpus == 0 || (a.gpus >= b.gpus && a.gpu_milli >= b.gpu_milli && subset(a.models, b.models));
  return gpus && a.cpu >= b.cpu && a.memory_mib >= b.memory_mib && a.functions >= b.functions &&
         a.scratch_gib >= b.scratch_gib && subset(a.pools, b.pools);
}

PackBound bound_allocation(const Machine& machine, std::span<const TaskType> types,
                           std::span<const std::uint32_t> arrivals) {
  BoundSearch search(machine, types);
  std::vector<Range> ranges(types.size());
  for (const std::uint32_t type : arrivals) ranges[type].high += 1;
  std::vector<double> worths = search.first_worths();
  PackBound bound;
  bound.any = search.search(search.ranges_of(ranges), worths, kFirstRounds);
  bound.conserving = bound.any;
  for (const std::size_t pivot : pivots_of(types)) {
    bound.conserving = std::min(bound.conserving, PivotSearch(search, types, arrivals, pivot).run(worths));
  }
  return bound;
}

}  // namespace weft::sched
