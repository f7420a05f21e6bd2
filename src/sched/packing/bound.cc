#include "sched/packing/bound.h"

#include <algorithm>
#include <map>
#include <vector>

#include "sched/packing/task_worth.h"

namespace weft::sched {
namespace {

// Search parameters: the first step as a share of the bound, growth and shrink factors of the steps, weight of a new
// fill in the mean.
constexpr double kFirstLength = 0.005;
constexpr double kLonger = 1.1;
constexpr double kShorter = 0.66;
constexpr int kPatience = 8;
constexpr double kNewPart = 0.1;
constexpr int kFirstRounds = 400;
constexpr int kLaterRounds = 100;
constexpr int kSplits = 16;  // of the time at which the pivot stops fitting
constexpr std::size_t kPivots = 1;

// How many tasks of a type may have been placed.
struct Range {
  double low = 0;
  double high = 0;
};

class BoundSearch {
 public:
  BoundSearch(const Machine& machine, std::span<const TaskType> types);

  // The lowest bound found when starting from these worths; sets them to the best found.
  double search(std::span<const Range> ranges, std::vector<double>& worths, int rounds);
  [[nodiscard]] std::vector<double> first_worths() const { return gpu_; }
  // Ranges of types, aggregated to the items of the node value.
  [[nodiscard]] std::vector<Range> ranges_of(std::span<const Range> by_type) const;

 private:
  double descend(std::span<const Range> ranges, std::span<const std::size_t> classes, std::vector<double>& worths,
                 int rounds);
  [[nodiscard]] double bound(std::span<const Range> ranges, std::span<const double> worths);

  NodeValue values_;
  std::vector<NodeKind> kinds_;
  std::vector<double> gpu_;  // request of each item, thousandths
  std::vector<double> used_;
  std::vector<std::size_t> by_size_;     // class of each item: its request per GPU
  std::vector<std::size_t> each_;        // a class of its own
  std::vector<std::ptrdiff_t> item_of_;  // by type; -1 without GPUs
};

BoundSearch::BoundSearch(const Machine& machine, std::span<const TaskType> types)
    : values_(types, machine.nodes(), NodeValue::common_step(types)), kinds_(empty_kinds(machine.nodes())) {
  for (const NodeValue::Item& item : values_.items()) gpu_.push_back(item.request.gpu_total());
  used_.resize(gpu_.size());
  std::map<Milli, std::size_t> sizes;
  for (const NodeValue::Item& item : values_.items()) {
    by_size_.push_back(sizes.try_emplace(item.request.gpu_total() / item.request.gpus, sizes.size()).first->second);
    each_.push_back(each_.size());
  }
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
  for (const NodeKind& kind : kinds_)
    sum += kind.count * values_.fill(*kind.shape, kind.free, kind.count, used_, cores);
  for (std::size_t i = 0; i < worths.size(); ++i) {
    const double rest = gpu_[i] - worths[i];
    sum += rest * (rest > 0 ? ranges[i].high : ranges[i].low);
  }
  return sum;
}

// The volume algorithm (Barahona and Anbil, Mathematical Programming 87, 2000): subgradient steps from the best worths
// so far along a running mean of the fills, which is close to a fractional packing; step lengths after Polyak. The
// worths of one class move together, in proportion to the types' requests.
double BoundSearch::descend(std::span<const Range> ranges, std::span<const std::size_t> classes,
                            std::vector<double>& worths, int rounds) {
  const std::size_t count = *std::max_element(classes.begin(), classes.end()) + 1;
  std::vector<double> mean(count, 0.0);
  std::vector<double> weight(count, 1.0);
  for (std::size_t i = 0; i < worths.size(); ++i) weight[classes[i]] += gpu_[i] * ranges[i].high;
  const auto add_excess = [&](const std::vector<double>& at, double part) {
    for (double& each : mean) each *= 1 - part;
    for (std::size_t i = 0; i < at.size(); ++i)
      mean[classes[i]] += part * gpu_[i] * (used_[i] - (at[i] < gpu_[i] ? ranges[i].high : ranges[i].low));
  };
  double least = bound(ranges, worths);
  add_excess(worths, 1.0);
  std::vector<double> now(worths.size());
  double length = kFirstLength;
  int since = 0;
  for (int round = 0; round < rounds; ++round) {
    double square = 0;
    for (std::size_t c = 0; c < count; ++c) square += mean[c] * mean[c] / weight[c];
    if (square <= 0) break;
    const double step = length * least / square;
    for (std::size_t i = 0; i < now.size(); ++i)
      now[i] = std::max(0.0, worths[i] - step * gpu_[i] * mean[classes[i]] / weight[classes[i]]);
    const double found = bound(ranges, now);
    add_excess(now, kNewPart);
    if (found < least) {
      least = found;
      worths = now;
      length *= kLonger;
      since = 0;
    } else if (++since % kPatience == 0) {
      length *= kShorter;
    }
  }
  return least;
}

double BoundSearch::search(std::span<const Range> ranges, std::vector<double>& worths, int rounds) {
  (void)descend(ranges, by_size_, worths, rounds);
  return descend(ranges, each_, worths, rounds);
}

// Bounds with one type as the pivot: the moment at which it stops fitting lies in one interval of the arrivals; the
// interval with the highest bound is split until the bound no longer improves.
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
  struct Part {  // the pivot stops fitting after `begin` and not after `end` arrivals
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

// The types that waste the most GPU capacity because no second task of their size fits on the GPU.
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
