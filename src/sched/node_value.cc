#include "sched/node_value.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "base/check.h"

namespace weft::sched {
namespace {

Milli piece_of(const Request& request) { return request.gpu_total() / request.gpus; }

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

NodeValue::NodeValue(std::span<const TaskType> types, Milli step)
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
  CHECK(items_.size() < 30'000, "more kinds of task than a table can name");
  // One group more than the models that are named: servers of any other model.
  models_ = static_cast<std::int32_t>(std::bit_width(models)) + 1;
  pools_ = static_cast<std::int32_t>(std::bit_width(pools)) + 1;
  groups_.resize(static_cast<std::size_t>(models_) * static_cast<std::size_t>(pools_));
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
      fill_tables(groups_[static_cast<std::size_t>(pool * models_ + model)], bit(model, models_), bit(pool, pools_));
    }
  }
}

void NodeValue::fill_tables(Group& group, std::uint64_t model, std::uint64_t pool) const {
  group.hole.resize(steps_ + 1);
  group.hole_item.resize(steps_ + 1);
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Request& request = items_[i].request;
    if ((request.models == 0 || (request.models & model) != 0) && (request.pools == 0 || (request.pools & pool) != 0))
      usable.push_back(i);
  }
  for (std::size_t at = 0; at < kPrices; ++at) fill_price(group, usable, at);
}

// One price of a core: the best task of every size, then the knapsack of one GPU over sizes, then tasks of several
// GPUs.
void NodeValue::fill_price(Group& group, const std::vector<std::size_t>& usable, std::size_t at) const {
  struct Best {
    double gain = 0;
    std::int16_t item = -1;
    void offer(double other, std::size_t index) {
      if (other > gain) *this = {other, static_cast<std::int16_t>(index)};
    }
  };
  std::vector<Best> best(steps_ + 1);
  std::array<Best, kMaxGpus + 1> several{};
  for (const std::size_t i : usable) {
    const Request& request = items_[i].request;
    const double gain = items_[i].worth - price(at) * request.cpu / 1000.0;
    if (request.gpus == 1) {
      best[static_cast<std::size_t>((piece_of(request) + step_ - 1) / step_)].offer(gain, i);
    } else {
      several[static_cast<std::size_t>(request.gpus)].offer(gain / request.gpus, i);
    }
  }
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size <= steps_; ++size) {
    if (best[size].item >= 0) sizes.push_back(size);
  }
  group.hole[0][at] = 0;
  group.hole_item[0][at] = -1;
  for (std::size_t free = 1; free <= steps_; ++free) {
    Best most{group.hole[free - 1][at], -1};
    for (const std::size_t size : sizes) {
      if (size > free) break;
      most.offer(best[size].gain + group.hole[free - size][at], static_cast<std::size_t>(best[size].item));
    }
    group.hole[free][at] = most.gain;
    group.hole_item[free][at] = most.item;
  }
  Best most{group.hole[steps_][at], -1};
  for (std::size_t whole = 0; whole <= kMaxGpus; ++whole) {
    if (several[whole].item >= 0 && several[whole].gain > most.gain) most = several[whole];
    group.whole[whole][at] = most.gain;
    group.whole_item[whole][at] = most.item;
  }
}

std::size_t NodeValue::least(const Group& group, const NodeFree& free, int whole, Row& sums) const {
  const double cores = free.cpu / 1000.0;
  const Row& each = group.whole[static_cast<std::size_t>(whole)];
  for (std::size_t at = 0; at < kPrices; ++at) sums[at] = price(at) * cores + whole * each[at];
  for (std::size_t g = 0; g < free.gpus; ++g) {
    if (free.gpu[g] == kWholeGpu || free.gpu[g] < step_) continue;
    const Row& hole = group.hole[static_cast<std::size_t>(free.gpu[g] / step_)];
    for (std::size_t at = 0; at < kPrices; ++at) sums[at] += hole[at];
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
  const std::int16_t several = group.whole_item[static_cast<std::size_t>(whole)][at];
  double left = free.cpu / 1000.0;
  const auto take_item = [&](std::int16_t item, double part) {
    used[static_cast<std::size_t>(item)] += weight * part;
    left -= items_[static_cast<std::size_t>(item)].request.cpu / 1000.0 * part;
  };
  for (std::size_t g = 0; g < free.gpus; ++g) {
    if (free.gpu[g] == kWholeGpu && several >= 0) {
      take_item(several, 1.0 / items_[static_cast<std::size_t>(several)].request.gpus);
      continue;
    }
    for (auto room = static_cast<std::size_t>(free.gpu[g] / step_); room > 0;) {
      const std::int16_t item = group.hole_item[room][at];
      if (item < 0) {
        --room;
        continue;
      }
      take_item(item, 1);
      const Milli piece = piece_of(items_[static_cast<std::size_t>(item)].request);
      room -= static_cast<std::size_t>((piece + step_ - 1) / step_);
    }
  }
  cores += weight * std::max(left, 0.0);
  return sums[at];
}

}  // namespace weft::sched
