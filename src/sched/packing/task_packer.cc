#include "sched/packing/task_packer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/enum_names.h"
#include "sched/packing/fragmentation.h"

namespace weft::sched {
namespace {

constexpr double kNoFit = -std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, kPackPolicies> kNames = {"random",          "best-fit",      "fgd",
                                                                "fgd-random-ties", "frag-best-fit", "weft"};
// The largest server in the paper's cluster; its best fit normalizes by these.
constexpr double kPublishedCpu = 128'000;
constexpr double kPublishedGpu = 8'000;
// Value that weft gives up, in thousandths of a GPU, to leave a server full instead of empty. A tie-break between
// placements of nearly equal value. Final allocations change by 0.1 points between 3 and 60; from 40 on, empty servers
// last long enough for 8-GPU tasks even if these request half of the GPUs.
constexpr double kTightness = 40;
// In requested tasks. Worths change slowly: every 100 yields the same allocations for four times the work.
constexpr std::int64_t kLearnEvery = 400;
constexpr WorthOptions kFirstWorths = {.rounds = 160, .rate = 0.6};
constexpr WorthOptions kLaterWorths = {.rounds = 20, .rate = 0.3};
constexpr Milli kMinStep = 10;  // for GPU fractions; finer ones are rounded up

Milli step_for(std::span<const TaskType> mix) {
  const Milli step = NodeValue::common_step(mix);
  return step < kMinStep ? kMinStep : step;
}

double best_fit(const NodeFree& after, double cpu, double gpu) {
  return 1.0 - 0.5 * after.cpu / cpu - 0.5 * after.gpu_total() / gpu;
}

}  // namespace

std::string_view to_text(PackPolicy policy) { return kNames[static_cast<std::size_t>(policy)]; }

std::optional<PackPolicy> pack_policy_named(std::string_view name) { return find_enum<PackPolicy>(kNames, name); }

TaskPacker::TaskPacker(const Machine& machine, std::vector<TaskType> mix, PackPolicy policy, std::uint64_t seed)
    : machine_(machine),
      policy_(policy),
      typical_(typical_tasks(mix)),
      worth_(mix, machine.nodes(), step_for(mix)),
      random_(seed, "pack"),
      potential_(machine.nodes().size(), 0.0),
      version_(machine.nodes().size(), 1) {
  for (const NodeShape& shape : machine.nodes()) {
    free_.push_back(empty_node(shape));
    lot_.push_back(random_.next());
    most_cpu_ = std::max(most_cpu_, shape.cpu);
    most_gpu_ = std::max(most_gpu_, shape.gpus * kWholeGpu);
  }
  std::vector<std::uint32_t> order(free_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return machine.nodes()[a].name < machine.nodes()[b].name; });
  name_rank_.resize(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) name_rank_[order[i]] = i;
  for (std::size_t n = 0; n < free_.size(); ++n) potential_[n] = potential(machine.nodes()[n], free_[n]);
}

// What a policy minimizes on a server: fragments, or value lost.
double TaskPacker::potential(const NodeShape& shape, const NodeFree& free) const {
  switch (policy_) {
    case PackPolicy::random:
    case PackPolicy::best_fit:
      return 0;
    case PackPolicy::weft:
      return -worth_.values().value(shape, free);
    default:
      return fragment_of(typical_, shape, free);
  }
}

double TaskPacker::score(std::size_t node, const NodeFree& after) const {
  if (policy_ == PackPolicy::best_fit) return std::floor(100 * best_fit(after, kPublishedCpu, kPublishedGpu));
  const double gain = potential_[node] - potential(machine_.nodes()[node], after);
  switch (policy_) {
    case PackPolicy::frag_best_fit:
      return gain + 100 * best_fit(after, kPublishedCpu, kPublishedGpu);
    case PackPolicy::weft:
      return gain + kTightness * best_fit(after, most_cpu_, most_gpu_);
    default:
      return std::floor(100 / (1 + std::exp(-gain / kWholeGpu)));
  }
}

TaskPacker::Scores& TaskPacker::scores_of(const Request& request) {
  Scores& scores = scores_[request];
  if (scores.score.empty()) {
    scores.request = request;
    scores.score.assign(free_.size(), kNoFit);
    scores.version.assign(free_.size(), 0);
    scores.gpus.assign(free_.size(), 0);
  }
  return scores;
}

void TaskPacker::rescore(Scores& scores, std::size_t node) {
  const Request& request = scores.request;
  const NodeFree& before = free_[node];
  scores.version[node] = version_[node];
  scores.score[node] = kNoFit;
  std::optional<Slot> slot = choose_slot(request, machine_.nodes()[node], before);
  if (!slot) return;
  const auto consider = [&](const Slot& candidate) {
    NodeFree after = before;
    take(after, request, candidate);
    const double score = this->score(node, after);
    if (score <= scores.score[node]) return;
    scores.score[node] = score;
    scores.gpus[node] = candidate.gpus;
  };
  consider(*slot);
  // choose_slot picks the fullest GPU that fits, which is best fit by definition; the other policies try every state.
  if (policy_ == PackPolicy::best_fit || request.gpus != 1 || request.whole_gpus() || request.mig.slices > 0) return;
  for (std::size_t g = 0; g < before.gpus; ++g) {
    if (before.mig_used[g] != 0 || before.gpu[g] < request.gpu_milli) continue;
    const auto* const end = before.gpu.begin() + g;
    if (std::find(before.gpu.begin(), end, before.gpu[g]) != end) continue;  // a GPU in the same state was tried
    slot->gpus = static_cast<std::uint16_t>(1U << g);
    consider(*slot);
  }
}

bool TaskPacker::goes_first(std::size_t a, std::size_t b) {
  if (policy_ == PackPolicy::best_fit || policy_ == PackPolicy::fgd) return name_rank_[a] < name_rank_[b];
  const auto state = [&](std::size_t n) {
    const NodeFree& free = free_[n];
    return std::tuple(free.gpu_total(), free.cpu, free.memory_mib, lot_[n]);
  };
  return state(a) < state(b);
}

void TaskPacker::learn() {
  worth_.learn(kinds_of(machine_.nodes(), free_), asked_ == 0 ? kFirstWorths : kLaterWorths);
  for (std::size_t n = 0; n < free_.size(); ++n) changed(n);
}

void TaskPacker::changed(std::size_t node) {
  potential_[node] = potential(machine_.nodes()[node], free_[node]);
  ++version_[node];
}

std::optional<Slot> TaskPacker::place_anywhere(const Request& request) {
  std::optional<Slot> slot;
  std::uint64_t seen = 0;
  for (std::uint32_t n = 0; n < free_.size(); ++n) {
    if (!accepts(request, machine_.nodes()[n]) || !fits(request, free_[n])) continue;
    if (random_.below(++seen) == 0) slot = Slot{.node = NodeId{n}};
  }
  if (!slot) return std::nullopt;
  const std::size_t node = index_of(slot->node);
  Slot chosen = *choose_slot(request, machine_.nodes()[node], free_[node]);
  seen = 0;
  for (std::size_t g = 0; request.gpus == 1 && request.mig.slices == 0 && g < free_[node].gpus; ++g) {
    if (free_[node].mig_used[g] != 0 || free_[node].gpu[g] < request.gpu_milli) continue;
    if (random_.below(++seen) == 0) chosen.gpus = static_cast<std::uint16_t>(1U << g);
  }
  chosen.node = slot->node;
  return chosen;
}

std::optional<Slot> TaskPacker::place(const Request& request) {
  if (policy_ == PackPolicy::weft && asked_ % kLearnEvery == 0) learn();
  ++asked_;
  std::optional<Slot> slot;
  if (policy_ == PackPolicy::random) {
    slot = place_anywhere(request);
  } else {
    Scores& scores = scores_of(request);
    std::size_t best = free_.size();
    std::uint64_t equal = 0;
    for (std::size_t n = 0; n < free_.size(); ++n) {
      if (scores.version[n] != version_[n]) rescore(scores, n);
      if (scores.score[n] == kNoFit) continue;
      if (best == free_.size() || scores.score[n] > scores.score[best]) {
        best = n;
        equal = 1;
      } else if (scores.score[n] == scores.score[best]) {
        const bool first = policy_ == PackPolicy::fgd_random ? random_.below(++equal) == 0 : goes_first(n, best);
        if (first) best = n;
      }
    }
    if (best == free_.size()) return std::nullopt;
    slot = choose_slot(request, machine_.nodes()[best], free_[best]);
    slot->node = NodeId{static_cast<std::uint32_t>(best)};
    if (request.mig.slices == 0) slot->gpus = scores.gpus[best];
  }
  if (!slot) return std::nullopt;
  const std::size_t node = index_of(slot->node);
  take(free_[node], request, *slot);
  changed(node);
  return slot;
}

void TaskPacker::give_back(const Request& request, const Slot& slot) {
  const std::size_t node = index_of(slot.node);
  sched::give_back(free_[node], request, slot);
  changed(node);
}

}  // namespace weft::sched
