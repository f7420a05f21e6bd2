#include "workload/training/pipeline_schedule.h"

#include <algorithm>

#include "base/check.h"

namespace weft::workload {
namespace {

// The k-th forward pass of a stage, counted over micro-batches and chunks: micro-batches are grouped by the number of
// stages, and a group passes all chunks before the next one begins.
Pass pass_of(const PipelineInput& input, std::int64_t k, bool backward) {
  const std::int64_t group = input.stages * input.chunks;
  std::int64_t chunk = k % group / input.stages;
  if (backward) chunk = input.chunks - 1 - chunk;
  Pass pass;
  pass.chunk = static_cast<std::uint32_t>(input.chunks == 1 ? 0 : chunk);
  pass.micro_batch = static_cast<std::uint32_t>(input.chunks == 1 ? k : k / group * input.stages + k % input.stages);
  pass.backward = backward;
  return pass;
}

// Forward passes until the pipeline is full, then one forward and one backward alternately, then the remaining backward
// ones.
std::vector<Pass> order_of(const PipelineInput& input, std::int64_t stage) {
  const std::int64_t total = input.micro_batches * input.chunks;
  std::int64_t warm_up = input.stages - stage - 1;
  if (input.chunks > 1) warm_up = warm_up * 2 + (input.chunks - 1) * input.stages;
  if (input.chunks > 1 && input.micro_batches == input.stages) warm_up = total;
  warm_up = std::min(warm_up, total);
  std::vector<Pass> order;
  order.reserve(static_cast<std::size_t>(2 * total));
  for (std::int64_t k = 0; k < warm_up; ++k) order.push_back(pass_of(input, k, false));
  for (std::int64_t k = warm_up; k < total; ++k) {
    order.push_back(pass_of(input, k, false));
    order.push_back(pass_of(input, k - warm_up, true));
  }
  for (std::int64_t k = total - warm_up; k < total; ++k) order.push_back(pass_of(input, k, true));
  return order;
}

class Player {
 public:
  explicit Player(const PipelineInput& input) : input_(input) {
    const auto cells = static_cast<std::size_t>(input.stages * input.chunks * input.micro_batches);
    forward_end_.assign(cells, netsim::kNever);
    backward_end_.assign(cells, netsim::kNever);
    times_.stages.resize(static_cast<std::size_t>(input.stages));
    for (std::int64_t s = 0; s < input.stages; ++s) times_.stages[static_cast<std::size_t>(s)] = order_of(input, s);
    next_.assign(static_cast<std::size_t>(input.stages), 0);
    free_.assign(static_cast<std::size_t>(input.stages), SimTime(0));
  }

  PipelineTimes play() {
    // Each stage advances until an input is missing; the order within a stage is fixed, so the result does not depend
    // on which stage is processed first.
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t s = 0; s < next_.size(); ++s) {
        while (next_[s] < times_.stages[s].size() && step(s)) moved = true;
      }
    }
    times_.gradients_done.assign(input_.forward.size(), SimTime(0));
    times_.first_use.assign(input_.forward.size(), netsim::kNever);
    for (std::size_t s = 0; s < next_.size(); ++s) {
      CHECK(next_[s] == times_.stages[s].size(), "a pipeline's order has no cycle");
      for (const Pass& pass : times_.stages[s]) note(s, pass);
    }
    return std::move(times_);
  }

 private:
  [[nodiscard]] std::size_t global_chunk(std::size_t stage, const Pass& pass) const {
    return pass.chunk * static_cast<std::size_t>(input_.stages) + stage;
  }
  SimTime& cell(std::vector<SimTime>& table, std::size_t chunk, const Pass& pass) const {
    return table[chunk * static_cast<std::size_t>(input_.micro_batches) + pass.micro_batch];
  }

  bool step(std::size_t stage) {
    Pass& pass = times_.stages[stage][next_[stage]];
    const std::size_t chunk = global_chunk(stage, pass);
    const std::size_t last = input_.forward.size() - 1;
    SimTime ready(0);
    if (!pass.backward && chunk > 0) {
      ready = cell(forward_end_, chunk - 1, pass);
    } else if (pass.backward) {
      ready = chunk == last ? cell(forward_end_, chunk, pass) : cell(backward_end_, chunk + 1, pass);
    }
    if (ready == netsim::kNever) return false;
    const bool from_other = input_.stages > 1 && (pass.backward ? chunk < last : chunk > 0);
    if (from_other) ready += input_.message;
    pass.start = std::max(free_[stage], ready);
    pass.end = pass.start + (pass.backward ? input_.backward[chunk] : input_.forward[chunk]);
    cell(pass.backward ? backward_end_ : forward_end_, chunk, pass) = pass.end;
    free_[stage] = pass.end;
    const bool sends = input_.stages > 1 && (pass.backward ? chunk > 0 : chunk < last);
    if (sends && !input_.overlapped) free_[stage] += input_.message;
    ++next_[stage];
    return true;
  }

  void note(std::size_t stage, const Pass& pass) {
    const std::size_t chunk = global_chunk(stage, pass);
    times_.end = std::max(times_.end, pass.end);
    if (pass.backward) {
      times_.gradients_done[chunk] = std::max(times_.gradients_done[chunk], pass.end);
    } else {
      times_.first_use[chunk] = std::min(times_.first_use[chunk], pass.start);
    }
  }

  const PipelineInput& input_;
  PipelineTimes times_;
  std::vector<SimTime> forward_end_;  // by global chunk and micro-batch
  std::vector<SimTime> backward_end_;
  std::vector<std::size_t> next_;
  std::vector<SimTime> free_;
};

}  // namespace

PipelineTimes play_pipeline(const PipelineInput& input) {
  CHECK(input.forward.size() == static_cast<std::size_t>(input.stages * input.chunks), "a time for every chunk");
  return Player(input).play();
}

}  // namespace weft::workload
