#include "sched/packing/node_value.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "base/check.h"

namespace weft::sched {
namespace {

Milli piece_of(const Request& request) { return request.gpu_total() / request.gpus; }

template <class Row>
void add(const Row& a, const Row& b, Row& sum) {
  const double* const left = a.data();
  const double* const right = b.data();
  double* const to = sum.data();
  for (std::size_t at = 0; at < std::tuple_size_v<Row>; ++at) to[at] = left[at] + right[at];
}

Request for_value(Request request) {
  request.memory_mib = 0;
  request.scratch_gib = 0;
  request.functions = 0;
  return request;
}

}  // namespace

Milli NodeValue::common_step(std::span<const TaskType> types) {
  Milli step = kWholeGpu;
  for (const TaskType& type : types) {
    if (type.request.gpus > 0) step = std::gcd(step, piece_of(type.request));
  }
  return std::max(step, 1);
}

NodeValue::NodeValue(std::span<const TaskType> types, std::span<const NodeShape> nodes, Milli step)
    : step_(step), steps_(static_cast<std::size_t>(kWholeGpu / step)) {
  CHECK(step > 0 && kWholeGpu % step == 0, "a GPU is a whole number of steps");
  std::uint64_t models = 0;
  std::uint64_t pools = 0;
  for (const TaskType& type : merged(types, for_value)) {
    const Request& request = type.request;
    if (request.gpus == 0) {
      cores_ += static_cast<double>(type.count) * request.cpu / 1000.0;
      continue;
    }
    models |= request.models;
    pools |= request.pools;
    items_.push_back({request, static_cast<double>(type.count), static_cast<double>(request.gpu_total())});
  }
  // One more group than named models: servers of any other model.
  models_ = static_cast<std::int32_t>(std::bit_width(models)) + 1;
  pools_ = static_cast<std::int32_t>(std::bit_width(pools)) + 1;
  groups_.resize(static_cast<std::size_t>(models_) * static_cast<std::size_t>(pools_));
  for (const NodeShape& shape : nodes) groups_[group_of(shape)].present = true;
  std::vector<double> worths;
  for (const Item& item : items_) worths.push_back(item.worth);
  set_worths(worths, 0);
}

std::size_t NodeValue::group_of(const NodeShape& shape) const {
  const std::int32_t model = shape.model < 0 ? models_ - 1 : std::min(shape.model, models_ - 1);
  const std::int32_t pool = std::min(shape.pool, pools_ - 1);
  return static_cast<std::size_t>(pool) * static_cast<std::size_t>(models_) + static_cast<std::size_t>(model);
}

void NodeValue::set_worths(std::span<const double> worths, double core_worth) {
  for (std::size_t i = 0; i < items_.size(); ++i) items_[i].worth = worths[i];
  core_worth_ = core_worth;
  for (std::int32_t pool = 0; pool < pools_; ++pool) {
    for (std::int32_t model = 0; model < models_; ++model) {
      const auto bit = [](std::int32_t index, std::int32_t count) {
        return index + 1 == count ? std::uint64_t{0} : std::uint64_t{1} << static_cast<unsigned>(index);
      };
      Group& group =
          groups_[static_cast<std::size_t>(pool) * static_cast<std::size_t>(models_) + static_cast<std::size_t>(model)];
      if (group.present) fill_tables(group, bit(model, models_), bit(pool, pools_));
    }
  }
}

std::size_t NodeValue::steps_of(const Request& request) const {
  return static_cast<std::size_t>((piece_of(request) + step_ - 1) / step_);
}

void NodeValue::Best::offer(const Row& other_gain, const Row& other_item) {
  // Raw pointers: the checks of std::array would prevent vectorization.
  const double* const new_gain = other_gain.data();
  const double* const new_item = other_item.data();
  double* const old_gain = gain.data();
  double* const old_item = item.data();
  for (std::size_t at = 0; at < kPrices; ++at) {
    const bool better = new_gain[at] > old_gain[at];
    old_item[at] = better ? new_item[at] : old_item[at];
    old_gain[at] = better ? new_gain[at] : old_gain[at];
  }
}

// The best task per size, then the knapsack of one GPU over sizes, then multi-GPU tasks.
void NodeValue::fill_tables(Group& group, std::uint64_t model, std::uint64_t pool) const {
  Best none;
  none.item.fill(-1);
  std::vector<Best> single(steps_ + 1, none);
  std::array<Best, kMaxGpus + 1> several{};
  several.fill(none);
  std::vector<bool> present(steps_ + 1, false);
  Row gain;
  Row name;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Request& request = items_[i].request;
    if (request.models != 0 && (request.models & model) == 0) continue;
    if (request.pools != 0 && (request.pools & pool) == 0) continue;
    for (std::size_t at = 0; at < kPrices; ++at)
      gain[at] = (items_[i].worth - price(at) * request.cpu / 1000.0) / request.gpus;
    name.fill(static_cast<double>(i));
    if (request.gpus == 1) present[steps_of(request)] = true;
    (request.gpus == 1 ? single[steps_of(request)] : several[static_cast<std::size_t>(request.gpus)]).offer(gain, name);
  }
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size <= steps_; ++size) {
    if (present[size]) sizes.push_back(size);
  }
  group.hole.assign(steps_ + 1, none);
  for (std::size_t free = 1; free <= steps_; ++free) {
    Best& best = group.hole[free];
    best.gain = group.hole[free - 1].gain;
    for (const std::size_t size : sizes) {
      if (size > free) break;
      add(single[size].gain, group.hole[free - size].gain, gain);
      best.offer(gain, single[size].item);
    }
  }
  Best best = group.hole[steps_];
  best.item.fill(-1);
  for (std::size_t whole = 0; whole <= kMaxGpus; ++whole) {
    best.offer(several[whole].gain, several[whole].item);
    group.whole[whole] = best;
  }
}

std::size_t NodeValue::least(const Group& group, const NodeFree& free, int whole, Row& sums) const {
  const double cores = free.cpu / 1000.0;
  const Row& each = group.whole[static_cast<std::size_t>(whole)].gain;
  for (std::size_t at = 0; at < kPrices; ++at) sums[at] = price(at) * cores + whole * each[at];
  for (std::size_t g = 0; g < free.gpus; ++g) {
    if (free.gpu[g] == kWholeGpu || free.gpu[g] < step_) continue;
    add(sums, group.hole[static_cast<std::size_t>(free.gpu[g] / step_)].gain, sums);
  }
  return static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
}

double NodeValue::value(const NodeShape& shape, const NodeFree& free) const {
  Row sums;
  return sums[least(groups_[group_of(shape)], free, free.whole_gpus(), sums)];
}

double NodeValue::fill(const NodeShape& shape, const NodeFree& free, double weight, std::span<double> used,
                       double& cores) const {
  const Group& group = groups_[group_of(shape)];
  const int whole = free.whole_gpus();
  Row sums;
  const std::size_t at = least(group, free, whole, sums);
  const double several = group.whole[static_cast<std::size_t>(whole)].item[at];
  double left = free.cpu / 1000.0;
  const auto take_item = [&](double item, double part) {
    used[static_cast<std::size_t>(item)] += weight * part;
    left -= items_[static_cast<std::size_t>(item)].request.cpu / 1000.0 * part;
  };
  for (std::size_t g = 0; g < free.gpus; ++g) {
    if (free.gpu[g] == kWholeGpu && several >= 0) {
      take_item(several, 1.0 / items_[static_cast<std::size_t>(several)].request.gpus);
      continue;
    }
    for (auto room = static_cast<std::size_t>(free.gpu[g] / step_); room > 0;) {
      const double item = group.hole[room].item[at];
      if (item < 0) {
        --room;
        continue;
      }
      take_item(item, 1);
      room -= steps_of(items_[static_cast<std::size_t>(item)].request);
    }
  }
  cores += weight * std::max(left, 0.0);
  return sums[at];
}

}  // namespace weft::sched
