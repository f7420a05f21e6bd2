// Node failures: the affected jobs get replacement nodes for their lost tasks, shrink, or are requeued.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "sched/core/scheduler_walk.h"
#include "sched/placement/near_nodes.h"

namespace weft::sched {

void Scheduler::keep_spares() {
  spare_.assign(machine().nodes().size(), 0);
  if (machine().spares().empty()) return;
  auto without = std::make_shared<State>(state_.shared_machine());
  for (const NodeId node : machine().spares()) {
    spare_[index_of(node)] = 1;
    state_.set_up(node, false);
    without->set_up(node, false);
  }
  empty_state_ = std::move(without);
}

// A recovered node replaces a used spare of the same kind.
bool Scheduler::becomes_spare(NodeId node) {
  const NodeShape& shape = machine().node(node);
  for (auto used = used_spares_.begin(); used != used_spares_.end(); ++used) {
    const NodeShape& other = machine().node(*used);
    if (other.pool != shape.pool || other.model != shape.model || other.gpus != shape.gpus) continue;
    if (!state_.tasks_on(node).empty()) return false;
    used_spares_.erase(used);
    spare_[index_of(node)] = 1;
    return true;
  }
  return false;
}

namespace {

// The nodes inside which a group of tasks must stay.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

Range range_of(const Machine& machine, Level level, NodeId node) {
  if (level == Level::node) return {index_of(node), index_of(node) + 1};
  const Domain& domain = machine.domains(level)[machine.domain_of(level, node)];
  return {domain.first_node, domain.end_node};
}

// Moves the lost tasks of a job, group by group: the tasks of one lost node, or of one segment.
class Swap {
 public:
  Swap(const JobRecord& record, NearSearch& search, const std::vector<char>& is_lost)
      : record_(record), search_(search), slots_(record.placement.slots), lost_(slots_.size(), 0) {
    for (std::size_t task = 0; task < slots_.size(); ++task) {
      lost_[task] = is_lost[index_of(slots_[task].node)];
      if (lost_[task] == 0 && !kept_) kept_ = slots_[task].node;
    }
  }

  // Empty: not possible. Only for jobs with at least one remaining task.
  [[nodiscard]] std::vector<Slot> run() {
    if (!kept_) return {};
    const Machine& machine = search_.state->machine();
    const Range all = range_of(machine, record_.job.required, *kept_);
    const auto step = static_cast<std::size_t>(record_.job.segment);
    if (step == 0) {
      std::map<NodeId, std::vector<std::size_t>> groups;
      for (std::size_t task = 0; task < slots_.size(); ++task) {
        if (lost_[task] != 0) groups[slots_[task].node].push_back(task);
      }
      for (const auto& [node, tasks] : groups) {
        if (!put(tasks, all, node)) return {};
      }
      return slots_;
    }
    for (std::size_t first = 0; first < slots_.size(); first += step) {
      std::vector<std::size_t> tasks;
      std::optional<NodeId> stays;
      for (std::size_t task = first; task < first + step; ++task) {
        if (lost_[task] != 0) {
          tasks.push_back(task);
        } else {
          stays = slots_[task].node;
        }
      }
      if (!tasks.empty() && !put_segment(tasks, stays, all)) return {};
    }
    return slots_;
  }

 private:
  bool put(const std::vector<std::size_t>& tasks, Range range, NodeId reference) {
    const auto count = static_cast<std::int32_t>(tasks.size());
    const std::vector<Slot> found = search_.take_near(range.first, range.end, reference, count);
    if (found.size() < tasks.size()) return false;
    for (std::size_t i = 0; i < tasks.size(); ++i) slots_[tasks[i]] = found[i];
    return true;
  }

  bool put_segment(const std::vector<std::size_t>& tasks, std::optional<NodeId> stays, Range all) {
    const Machine& machine = search_.state->machine();
    const Level level = record_.job.segment_level;
    const NodeId reference = slots_[tasks[0]].node;
    if (stays) return put(tasks, range_of(machine, level, *stays), reference);
    for (std::uint32_t node = all.first; node < all.end;) {
      const Range piece = range_of(machine, level, static_cast<NodeId>(node));
      const std::map<NodeId, NodeFree> before = search_.changed;
      if (put(tasks, piece, reference)) return true;
      search_.changed = before;
      node = piece.end;
    }
    return false;
  }

  const JobRecord& record_;
  NearSearch& search_;
  std::vector<Slot> slots_;
  std::vector<char> lost_;
  std::optional<NodeId> kept_;
};

}  // namespace

// New placement for a job that lost all its tasks; may use spares.
std::vector<Slot> Scheduler::place_anew(const JobRecord& record) {
  const Job& job = record.job;
  const FitClass& fits = index_.of(job.task, state_);
  FitView view(machine(), fits);
  std::vector<NodeLimit> limits;
  for (std::uint32_t n = 0; n < spare_.size(); ++n) {
    const auto node = static_cast<NodeId>(n);
    if (spare_[n] == 0 || !accepts(job.task, machine().node(node))) continue;
    NodeFree free = state_.free(node);
    free.up = true;
    view.set(node, static_cast<std::uint16_t>(count_fits(job.task, free, fits.most)));
    limits.push_back({node, free});
  }
  for (const NodeId node : unplannable_nodes(job)) view.set(node, 0);
  Gang gang = gang_of(job);
  gang.tasks = record.running_tasks();
  const std::optional<Found> found = find_nodes(view, gang, policy_.placement);
  return found ? choose_slots(state_, job.task, *found, limits).slots : std::vector<Slot>();
}

void Scheduler::move_job(JobId id, std::vector<Slot> slots) {
  JobRecord& record = jobs_[index_of(id)];
  give_slots(id, record.placement.slots);
  for (const Slot& slot : slots) {
    const std::uint32_t n = index_of(slot.node);
    if (spare_[n] == 0) continue;
    spare_[n] = 0;
    used_spares_.push_back(slot.node);
    state_.set_up(slot.node, true);
  }
  record.placement.slots = std::move(slots);
  take_slots(id, record.placement.slots, 0);
  dirty_ = true;
}

bool Scheduler::swap_lost(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair) {
  const JobRecord& record = jobs_[index_of(id)];
  NearSearch search;
  search.state = &state_;
  search.fits = &index_.of(record.job.task, state_);
  search.spare = &spare_;
  search.barred = unplannable_nodes(record.job);
  std::vector<Slot> slots = Swap(record, search, is_lost).run();
  const bool all_lost = std::all_of(record.placement.slots.begin(), record.placement.slots.end(),
                                    [&](const Slot& slot) { return is_lost[index_of(slot.node)] != 0; });
  if (slots.empty() && all_lost) slots = place_anew(record);
  if (slots.empty()) return false;
  Move move;
  move.job = id;
  move.by = id;
  move.cost_gpu_seconds = lost_gpu_seconds(record, now, false);
  for (std::uint32_t task = 0; task < slots.size(); ++task) {
    if (slots[task] == record.placement.slots[task]) continue;
    move.tasks.push_back(task);
    move.to.push_back(slots[task]);
  }
  move_job(id, std::move(slots));
  repair.moves.push_back(std::move(move));
  return true;
}

bool Scheduler::shrink_lost(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair) {
  const JobRecord& record = jobs_[index_of(id)];
  const std::uint32_t step = static_cast<std::uint32_t>(std::max(1, record.job.segment));
  std::vector<std::uint32_t> tasks;
  for (std::uint32_t first = 0; first < record.placement.slots.size(); first += step) {
    bool hit = false;
    for (std::uint32_t task = first; task < first + step; ++task) {
      hit = hit || is_lost[index_of(record.placement.slots[task].node)] != 0;
    }
    for (std::uint32_t task = first; hit && task < first + step; ++task) tasks.push_back(task);
  }
  if (record.running_tasks() - static_cast<std::int32_t>(tasks.size()) < record.job.fewest()) return false;
  Resize resize{id, false, {}, id};
  for (const std::uint32_t task : tasks) resize.slots.push_back(record.placement.slots[task]);
  shrink_job(id, tasks, now);
  promote_borrowers(record.tenant);
  repair.resizes.push_back(std::move(resize));
  return true;
}

Scheduler::Repair Scheduler::repair(std::span<const NodeId> lost, Moment now) {
  ++events_;
  Repair repair;
  std::vector<char> is_lost(machine().nodes().size(), 0);
  std::vector<JobId> jobs;
  for (const NodeId node : lost) {
    is_lost[index_of(node)] = 1;
    use_lost_spare(node);
    node_down(node, now);
    for (const Tenancy& task : state_.tasks_on(node)) jobs.push_back(task.job);
  }
  // The highest rank chooses first.
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](JobId a, JobId b) { return jobs_[index_of(a)].rank() > jobs_[index_of(b)].rank(); });
  for (const JobId id : jobs) {
    if (jobs_[index_of(id)].phase == JobPhase::running) repair_one(id, is_lost, now, repair);  // else it is stopping
  }
  return repair;
}

// A node of the same kind becomes a spare when it recovers.
void Scheduler::use_lost_spare(NodeId node) {
  if (spare_[index_of(node)] == 0) return;
  spare_[index_of(node)] = 0;
  used_spares_.push_back(node);
}

bool Scheduler::repair_one(JobId id, const std::vector<char>& is_lost, Moment now, Repair& repair) {
  if (swap_lost(id, is_lost, now, repair) || shrink_lost(id, is_lost, now, repair)) return true;
  JobRecord& record = jobs_[index_of(id)];
  release_job(id, now);
  record.phase = JobPhase::waiting;
  record.queued = now;
  ++waiting_;
  enqueue(id);
  repair.requeued.push_back(id);
  return false;
}

bool Scheduler::repair_job(JobId id, Moment now) {
  ++events_;
  CHECK(now >= now_, "time never goes back");
  now_ = now;
  const JobRecord& record = jobs_[index_of(id)];
  CHECK(record.phase == JobPhase::running, "only a running job can be repaired");
  std::vector<char> is_lost(machine().nodes().size(), 0);
  // It starts again, with its whole limit: a node that it could use before may be too close to an outage by now.
  const std::vector<NodeId> barred = barred_nodes(record.job, now);
  bool any = false;
  for (const Slot& slot : record.placement.slots) {
    if (state_.free(slot.node).up && !std::binary_search(barred.begin(), barred.end(), slot.node)) continue;
    is_lost[index_of(slot.node)] = 1;
    any = true;
  }
  Repair ignored;
  return !any || repair_one(id, is_lost, now, ignored);
}

}  // namespace weft::sched
