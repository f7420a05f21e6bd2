// Reservations: the earliest moment at which a blocked job can start if every running job uses its whole limit, and
// what that leaves for the jobs behind it. Nodes are shared in part: a promise holds certain GPUs, not whole nodes.
#include <algorithm>

#include "base/check.h"
#include "sched/scheduler_walk.h"

namespace weft::sched {

void subtract(NodeFree& free, const Request& request, const Slot& slot) {
  free.cpu = std::max(0, free.cpu - request.cpu);
  free.memory_mib = std::max(0, free.memory_mib - request.memory_mib);
  free.functions = std::max(0, free.functions - request.functions);
  free.scratch_gib = std::max(0, free.scratch_gib - request.scratch_gib);
  for (int g = 0; g < free.gpus; ++g) {
    if (((slot.gpus >> g) & 1U) == 0) continue;
    const auto gpu = static_cast<std::size_t>(g);
    if (request.mig.slices > 0) {
      free.mig_used[gpu] = static_cast<std::uint8_t>(free.mig_used[gpu] | slot.mig[gpu]);
      free.gpu[gpu] =
          static_cast<std::int16_t>(std::max(0, free.gpu[gpu] - request.mig.slices * kWholeGpu / kMigSlices));
    } else {
      free.gpu[gpu] = static_cast<std::int16_t>(std::max(0, free.gpu[gpu] - request.gpu_milli));
    }
  }
}

namespace {

bool holds(const NodeFree& free, const Request& request, const Slot& slot) {
  if (!free.up || free.cpu < request.cpu || free.memory_mib < request.memory_mib) return false;
  if (free.functions < request.functions || free.scratch_gib < request.scratch_gib) return false;
  for (int g = 0; g < free.gpus; ++g) {
    if (((slot.gpus >> g) & 1U) == 0) continue;
    const auto gpu = static_cast<std::size_t>(g);
    if (request.mig.slices > 0) {
      if ((free.mig_used[gpu] & slot.mig[gpu]) != 0) return false;
      if (free.mig_used[gpu] == 0 && free.gpu[gpu] != kWholeGpu) return false;
    } else if (free.gpu[gpu] < request.gpu_milli || free.mig_used[gpu] != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

NodeFree Scheduler::free_from(NodeId node, Moment from, Moment until, Moment now) const {
  const auto state_at = [&](Moment when) {
    NodeFree free = state_.free(node);
    if (when > now) {
      for (const Tenancy& task : state_.tasks_on(node)) {
        const JobRecord& record = jobs_[index_of(task.job)];
        const Moment end = record.phase == JobPhase::stopping ? record.stops_by : record.ends();
        if (end <= when) give_back(free, record.job.task, record.placement.slots[task.task]);
      }
    }
    for (const JobId id : promised_on_[index_of(node)]) {
      const Promise& promise = promises_.at(id);
      const Reservation& kept = promise.reservation;
      if (!promise.active || promise.begins() > when || kept.end <= when) continue;
      for (const Slot& slot : kept.placement.slots) {
        if (slot.node == node) subtract(free, jobs_[index_of(id)].job.task, slot);
      }
    }
    return free;
  };
  NodeFree least = state_at(from);
  for (const JobId id : promised_on_[index_of(node)]) {
    const Promise& promise = promises_.at(id);
    if (!promise.active || promise.begins() <= from || promise.reservation.start >= until) continue;
    least = least_of(least, state_at(promise.reservation.start));
  }
  return least;
}

std::span<const NodeLimit> Scheduler::limits_for(Moment now, Moment end, Walk& walk) const {
  std::size_t concerned = 0;
  for (const Promise* promise : walk.active) concerned += promise->begins() < end ? 1U : 0U;
  if (concerned == 0) return {};
  if (!walk.limits_stale && walk.limits_promises == concerned) return walk.limits;
  std::vector<NodeId> nodes;
  for (const Promise* promise : walk.active) {
    if (promise->begins() >= end) continue;
    for (const Slot& slot : promise->reservation.placement.slots) nodes.push_back(slot.node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  walk.limits.clear();
  for (const NodeId node : nodes) walk.limits.push_back({node, free_from(node, now, end, now)});
  walk.limits_promises = concerned;
  walk.limits_stale = false;
  return walk.limits;
}

bool Scheduler::still_holds(const Promise& promise, Moment now) const {
  const Reservation& kept = promise.reservation;
  if (kept.start < now && !promise.preempting) return false;
  // Victims that are late still go.
  const Moment from = promise.preempting ? std::max(kept.start, now + Duration(1)) : kept.start;
  const Moment until = promise.preempting ? kept.end : kNever;
  const Request& task = jobs_[index_of(kept.job)].job.task;
  const std::vector<Slot>& slots = kept.placement.slots;
  for (std::size_t first = 0; first < slots.size();) {
    NodeFree free = free_from(slots[first].node, from, until, now);
    std::size_t next = first;
    for (; next < slots.size() && slots[next].node == slots[first].node; ++next) {
      if (!holds(free, task, slots[next])) return false;
      subtract(free, task, slots[next]);
    }
    first = next;
  }
  return true;
}

void Scheduler::promise(JobId id, Moment now, Walk& walk) {
  const auto kept = promises_.find(id);
  if (kept != promises_.end() && kept->second.shortfall > 0) {
    // One whose nodes did not change holds as it did, unless jobs ahead of it got promises of their own meanwhile.
    if (kept->second.checked && walk.active.empty() && kept->second.reservation.start >= now) {
      walk.activate(kept->second);
      ++walk.promised;
      return;
    }
    if (still_holds(kept->second, now)) {
      kept->second.checked = true;
      walk.activate(kept->second);
      ++walk.promised;
      return;
    }
  }
  std::optional<Promise> found = earliest(id, now);
  if (!found) {
    drop_promise(id);
    return;
  }
  keep_promise(id, std::move(*found));
  walk.activate(promises_.at(id));
  ++walk.promised;
}

// Lets the running jobs end one after another, as their limits say, until the job fits. Nodes under promise count with
// what is left of them from that moment on, so that the answer never gets in the way of a job ahead.
std::optional<Scheduler::Promise> Scheduler::earliest(JobId id, Moment now) {
  const Job& job = jobs_[index_of(id)].job;
  Gang gang = gang_of(job);
  gang.tasks = job.fewest();
  const FitClass& fits = index_.of(job.task, state_);
  FitView view(machine(), fits);
  std::map<NodeId, NodeFree> future;
  const auto look_at = [&](NodeId node, const NodeFree& free) {
    const bool fitting = accepts(job.task, machine().node(node));
    view.set(node, static_cast<std::uint16_t>(fitting ? count_fits(job.task, free, fits.most) : 0));
  };
  std::set<Moment> moments;  // at which something other than the end of a job changes
  for (const auto& [other, promise] : promises_) {
    if (!promise.active) continue;
    moments.insert(promise.reservation.end);
    for (const Slot& slot : promise.reservation.placement.slots) {
      future[slot.node] = free_from(slot.node, now, kNever, now);
      look_at(slot.node, future[slot.node]);
    }
  }
  const auto best_domain = [&] { return most_tasks(view, gang); };
  std::int64_t before = best_domain();
  auto next_end = ends_.begin();
  auto next_moment = moments.begin();
  while (next_end != ends_.end() || next_moment != moments.end()) {
    Moment when = kNever;
    if (next_end != ends_.end()) when = next_end->first;
    if (next_moment != moments.end()) when = std::min(when, *next_moment);
    if (when == kNever) break;
    const Moment at = std::max(when, now + Duration(1));  // what is overdue ends at any moment, but not now
    std::vector<NodeId> touched;
    for (; next_end != ends_.end() && next_end->first <= at; ++next_end) {
      const JobRecord& record = jobs_[index_of(next_end->second)];
      for (const Slot& slot : record.placement.slots) {
        const auto [found, added] = future.try_emplace(slot.node, state_.free(slot.node));
        if (promised_on_[index_of(slot.node)].empty()) give_back(found->second, record.job.task, slot);
        touched.push_back(slot.node);
      }
    }
    for (; next_moment != moments.end() && *next_moment <= at; ++next_moment) {
      for (const auto& [other, promise] : promises_) {
        if (!promise.active || promise.reservation.end != *next_moment) continue;
        for (const Slot& slot : promise.reservation.placement.slots) touched.push_back(slot.node);
      }
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const NodeId node : touched) {
      NodeFree& free = future[node];
      if (!promised_on_[index_of(node)].empty()) free = free_from(node, at, kNever, now);
      look_at(node, free);
    }
    const std::int64_t room = best_domain();
    const std::optional<Found> found =
        room >= gang.tasks ? find_nodes(view, gang, policy_.placement) : std::optional<Found>();
    if (!found) {
      before = std::max(before, room);
      continue;
    }
    std::vector<NodeLimit> limits;
    for (const auto& [node, free] : future) limits.push_back({node, free});
    Promise promise;
    promise.reservation = {id, at, at + job.limit, choose_slots(state_, job.task, *found, limits)};
    promise.shortfall = gang.segment > 0 ? 1 : std::max<std::int64_t>(1, gang.tasks - before);
    promise.checked = true;
    return promise;
  }
  return std::nullopt;
}

}  // namespace weft::sched
