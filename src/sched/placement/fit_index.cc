#include "sched/placement/fit_index.h"

#include <algorithm>

namespace weft::sched {
namespace {

constexpr int kMaxFits = 60'000;  // per node: limited by the type, reached by tasks that request nothing
constexpr Level kTree[] = {Level::nvlink, Level::rack, Level::leaf, Level::pod, Level::cluster};

std::size_t at(Level level) { return static_cast<std::size_t>(level); }

}  // namespace

std::uint32_t BestFitScorer::cost(const Request& request, const NodeShape& shape, const NodeFree& free) const {
  const auto gpu_left = static_cast<std::uint32_t>(std::max(0, free.gpu_total() - request.gpu_total()));
  const std::int64_t cpu_left = std::max<std::int64_t>(0, free.cpu - request.cpu);
  const auto cpu_share = static_cast<std::uint32_t>(shape.cpu > 0 ? cpu_left * 1023 / shape.cpu : 0);
  return (gpu_left << 10U) | std::min(cpu_share, 1023U);
}

FitIndex& FitIndex::operator=(const FitIndex& other) {
  if (this == &other) return *this;
  scorer_ = other.scorer_;
  classes_.clear();
  uses_.clear();
  return *this;
}

const FitClass& FitIndex::of(const Request& request, const State& state) {
  auto found = classes_.find(request);
  if (found == classes_.end()) {
    if (classes_.size() >= kMaxClasses) {
      classes_.erase(uses_.back());
      uses_.pop_back();
    }
    uses_.push_front(request);
    Entry entry;
    entry.fits = std::make_unique<FitClass>();
    entry.fits->request = request;
    entry.use = uses_.begin();
    fill(*entry.fits, state);
    found = classes_.emplace(request, std::move(entry)).first;
    return *found->second.fits;
  }
  uses_.splice(uses_.begin(), uses_, found->second.use);
  catch_up(*found->second.fits, state);
  return *found->second.fits;
}

void FitIndex::fill(FitClass& fits, const State& state) const {
  const Machine& machine = state.machine();
  const std::size_t nodes = machine.nodes().size();
  fits.fit.assign(nodes, 0);
  fits.cost.assign(nodes, 0);
  fits.most = 0;
  for (const Level level : kTree) fits.sums[at(level)].assign(machine.domains(level).size(), 0);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const auto node = static_cast<NodeId>(n);
    if (accepts(fits.request, machine.node(node))) {
      const int most = count_fits(fits.request, empty_node(machine.node(node)), kMaxFits);
      fits.most = std::max(fits.most, static_cast<std::uint16_t>(most));
    }
    look_at(fits, state, node);
  }
  fits.position = state.log_end();
}

void FitIndex::catch_up(FitClass& fits, const State& state) const {
  const std::uint64_t behind = state.log_end() - fits.position;
  if (behind == 0) return;
  if (fits.position < state.log_start() || behind > 2 * fits.fit.size()) {
    fill(fits, state);
    return;
  }
  for (std::uint64_t p = fits.position; p < state.log_end(); ++p) look_at(fits, state, state.changed(p));
  fits.position = state.log_end();
}

void FitIndex::look_at(FitClass& fits, const State& state, NodeId node) const {
  const Machine& machine = state.machine();
  const NodeShape& shape = machine.node(node);
  const std::size_t n = index_of(node);
  int fit = 0;
  if (accepts(fits.request, shape)) {
    fit = count_fits(fits.request, state.free(node), kMaxFits);
    if (fit > 0) fits.cost[n] = scorer_->cost(fits.request, shape, state.free(node));
  }
  const int change = fit - fits.fit[n];
  if (change == 0) return;
  fits.fit[n] = static_cast<std::uint16_t>(fit);
  for (const Level level : kTree) fits.sums[at(level)][machine.domain_of(level, node)] += change;
}

}  // namespace weft::sched
