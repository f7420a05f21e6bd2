#include "sched/placement/state.h"

#include <algorithm>

#include "base/check.h"

namespace weft::sched {

State::State(std::shared_ptr<const Machine> machine) : machine_(std::move(machine)) {
  const std::size_t nodes = machine_->nodes().size();
  free_.reserve(nodes);
  for (const NodeShape& shape : machine_->nodes()) free_.push_back(empty_node(shape));
  tasks_.resize(nodes);
  total_gpu_milli_ = free_gpu_milli_ = machine_->gpus() * kWholeGpu;
}

void State::note(NodeId node) {
  // Drops half of the log at once when it is full: for a reader that far behind, a rescan is cheaper.
  const std::size_t most = std::max<std::size_t>(4096, 4 * free_.size());
  if (log_.size() >= most) {
    const std::size_t drop = most / 2;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(drop));
    log_start_ += drop;
  }
  log_.push_back(node);
}

void State::place(JobId job, const Request& request, std::span<const Slot> slots, std::uint32_t first_task) {
  NodeId last{};
  bool any = false;
  for (std::uint32_t task = 0; task < slots.size(); ++task) {
    const Slot& slot = slots[task];
    NodeFree& free = free_[index_of(slot.node)];
    const Milli before = free.gpu_total();
    take(free, request, slot);
    if (free.up) free_gpu_milli_ -= before - free.gpu_total();
    tasks_[index_of(slot.node)].push_back({job, first_task + task});
    if (any && slot.node != last) note(last);
    last = slot.node;
    any = true;
  }
  if (any) note(last);
}

void State::forget_task(NodeId node, JobId job, std::uint32_t count) {
  std::vector<Tenancy>& tasks = tasks_[index_of(node)];
  for (std::size_t i = tasks.size(); i-- > 0 && count > 0;) {
    if (tasks[i].job != job) continue;
    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(i));
    --count;
  }
  CHECK(count == 0, "a task is removed that is not there");
}

void State::remove(JobId job, const Request& request, std::span<const Slot> slots) {
  NodeId last{};
  bool any = false;
  for (const Slot& slot : slots) {
    NodeFree& free = free_[index_of(slot.node)];
    const Milli before = free.gpu_total();
    give_back(free, request, slot);
    if (free.up) free_gpu_milli_ += free.gpu_total() - before;
    forget_task(slot.node, job, 1);
    if (any && slot.node != last) note(last);
    last = slot.node;
    any = true;
  }
  if (any) note(last);
  ++releases_;
}

void State::set_up(NodeId node, bool up) {
  NodeFree& free = free_[index_of(node)];
  if (free.up == up) return;
  const std::int64_t gpus = std::int64_t{free.gpus} * kWholeGpu;
  free.up = up;
  free_gpu_milli_ += up ? free.gpu_total() : -free.gpu_total();
  total_gpu_milli_ += up ? gpus : -gpus;
  if (up) {
    --nodes_down_;
    ++releases_;
  } else {
    ++nodes_down_;
  }
  note(node);
}

}  // namespace weft::sched
