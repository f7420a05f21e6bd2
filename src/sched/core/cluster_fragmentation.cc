#include "sched/core/cluster_fragmentation.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::sched {
namespace {

constexpr int kMaxFits = 60'000;  // per node: limited by the type of Cell::fit

std::size_t at(Level level) { return static_cast<std::size_t>(level); }

// Whether a GPU has enough left for one GPU's part of a task.
bool gpu_serves(const Request& task, const NodeFree& free, std::size_t gpu) {
  if (task.mig.slices == 0) return free.mig_used[gpu] == 0 && free.gpu[gpu] >= task.gpu_milli;
  if (free.mig_used[gpu] == 0) return free.gpu[gpu] == kWholeGpu;
  const unsigned block = (1U << task.mig.slices) - 1U;
  for (int start = 0; start + task.mig.slices <= kMigSlices; ++start) {
    if (((task.mig.starts >> start) & 1U) != 0 && (free.mig_used[gpu] & (block << start)) == 0) return true;
  }
  return false;
}

// The tightest level, from preferred to required, at which the gang fits on the empty machine.
Level natural_level(const State& empty, const Request& task, std::int32_t tasks, Level preferred, Level required) {
  FitIndex index;
  const FitClass& fits = index.of(task, empty);
  if (tasks <= fits.most) return Level::node;
  for (std::size_t level = at(std::max(preferred, Level::nvlink)); level < at(required); ++level) {
    const std::vector<std::int64_t>& sums = fits.sums[level];
    if (std::any_of(sums.begin(), sums.end(), [&](std::int64_t sum) { return sum >= tasks; })) {
      return static_cast<Level>(level);
    }
  }
  return required;
}

}  // namespace

std::vector<DemandKind> natural_demand(const Machine& machine) {
  std::int32_t gpus = 0;
  for (const NodeShape& shape : machine.nodes()) gpus = std::max(gpus, shape.gpus);
  std::vector<DemandKind> kinds;
  const auto add = [&](std::int32_t each, std::int64_t tasks, Level level) {
    DemandKind kind;
    kind.task.gpus = each;
    kind.tasks = static_cast<std::int32_t>(tasks);
    kind.level = level;
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const DemandKind& other) {
      return other.task == kind.task && other.tasks == kind.tasks;
    });
    if (each > 0 && tasks > 0 && !known) kinds.push_back(kind);
  };
  add(1, 1, Level::node);
  add(gpus / 2, 1, Level::node);
  add(gpus, 1, Level::node);
  for (const Level level : {Level::nvlink, Level::leaf}) {
    std::int64_t nodes = 0;  // of the largest domain
    for (const Domain& domain : machine.domains(level)) {
      nodes = std::max<std::int64_t>(nodes, domain.end_node - domain.first_node);
    }
    if (machine.distinct(level)) add(gpus, nodes, level);
  }
  return kinds;
}

std::vector<DemandKind> demand_of(const Scheduler& scheduler, std::size_t most) {
  using Key = std::tuple<Request, std::int32_t, Level, Level>;
  std::map<Key, double> weights;
  for (std::uint32_t id = 0; id < scheduler.job_count(); ++id) {
    const JobRecord& record = scheduler.record(static_cast<JobId>(id));
    const Job& job = record.job;
    if (record.phase == JobPhase::done || job.task.gpus == 0) continue;
    weights[{job.task, job.tasks, job.preferred, job.required}] += static_cast<double>(job.gpu_milli());
  }
  std::vector<std::pair<Key, double>> heaviest(weights.begin(), weights.end());
  std::stable_sort(heaviest.begin(), heaviest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (heaviest.empty()) return natural_demand(scheduler.machine());
  if (heaviest.size() > most) heaviest.resize(most);
  const State empty(scheduler.state().shared_machine());
  std::vector<DemandKind> kinds;
  for (const auto& [key, weight] : heaviest) {
    const auto& [task, tasks, preferred, required] = key;
    kinds.push_back({task, tasks, natural_level(empty, task, tasks, preferred, required), weight});
  }
  return kinds;
}

ClusterFragmentation::ClusterFragmentation(std::vector<DemandKind> demand) : demand_(std::move(demand)) {
  double sum = 0;
  for (const DemandKind& kind : demand_) sum += kind.share;
  for (DemandKind& kind : demand_) kind.share = sum > 0 ? kind.share / sum : 1.0 / static_cast<double>(demand_.size());
  kinds_.resize(demand_.size());
}

void ClusterFragmentation::look_at(const State& state, NodeId node) {
  const Machine& machine = state.machine();
  const NodeFree& free = state.free(node);
  const NodeShape& shape = machine.node(node);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const DemandKind& demand = demand_[k];
    Cell now;
    if (free.up) {
      std::int32_t large = 0;
      for (std::size_t gpu = 0; gpu < free.gpus; ++gpu) {
        (gpu_serves(demand.task, free, gpu) ? large : now.small) += free.gpu[gpu];
      }
      if (large > 0 && accepts(demand.task, shape)) {
        now.fit = static_cast<std::uint16_t>(count_fits(demand.task, free, kMaxFits));
      }
      // All tasks of a gang that must share a server: it fits as a whole or not at all.
      const std::int32_t least = demand.level == Level::node ? demand.tasks : 1;
      (now.fit >= least ? now.usable : now.stuck) = large;
    }
    Kind& kind = kinds_[k];
    Cell& before = kind.cells[index_of(node)];
    kind.small += now.small - before.small;
    kind.stuck += now.stuck - before.stuck;
    if (demand.level > Level::node) {
      const std::uint32_t domain = machine.domain_of(demand.level, node);
      kind.tasks[domain] += now.fit - before.fit;
      kind.usable[domain] += now.usable - before.usable;
    }
    before = now;
  }
}

void ClusterFragmentation::start_over(const State& state) {
  const Machine& machine = state.machine();
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const Level level = demand_[k].level;
    const std::size_t domains = level > Level::node ? machine.domains(level).size() : 0;
    kinds_[k] = {};
    kinds_[k].cells.resize(machine.nodes().size());
    kinds_[k].tasks.assign(domains, 0);
    kinds_[k].usable.assign(domains, 0);
  }
  for (std::uint32_t n = 0; n < machine.nodes().size(); ++n) look_at(state, static_cast<NodeId>(n));
  filled_ = true;
}

FragmentationScore ClusterFragmentation::measure(const State& state) {
  const std::uint64_t behind = state.log_end() - position_;
  if (!filled_ || position_ < state.log_start() || behind > state.machine().nodes().size()) {
    start_over(state);
  } else {
    for (std::uint64_t p = position_; p < state.log_end(); ++p) look_at(state, state.changed(p));
  }
  position_ = state.log_end();
  FragmentationScore score;
  score.idle_gpu_milli = state.free_gpu_milli();
  score.kinds.assign(kinds_.size(), 0);
  if (score.idle_gpu_milli == 0) return score;
  const auto idle = static_cast<double>(score.idle_gpu_milli);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const Kind& kind = kinds_[k];
    std::int64_t apart = 0;  // in domains that fit only a part of the gang
    for (std::size_t domain = 0; domain < kind.tasks.size(); ++domain) {
      if (kind.tasks[domain] < demand_[k].tasks) apart += kind.usable[domain];
    }
    const double share = demand_[k].share / idle;
    score.gpu += share * static_cast<double>(kind.small);
    score.at[at(Level::node)] += share * static_cast<double>(kind.stuck);
    score.at[at(demand_[k].level)] += share * static_cast<double>(apart);
    score.kinds[k] = static_cast<double>(kind.small + kind.stuck + apart) / idle;
  }
  score.total = score.gpu;
  for (const double part : score.at) score.total += part;
  return score;
}

}  // namespace weft::sched
