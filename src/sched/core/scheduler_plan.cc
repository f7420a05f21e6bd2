// Reservations: the earliest moment at which a blocked job can start if every running job uses its whole limit, and
// what that leaves for the jobs behind it. Nodes can be shared: a reservation holds specific GPUs, not whole nodes.
#include <algorithm>

#include "base/check.h"
#include "sched/core/scheduler_walk.h"

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

void Scheduler::Scratch::begin(std::size_t nodes) {
  if (marks_.size() != nodes || mark_ == UINT32_MAX) {
    free_.assign(nodes, {});
    marks_.assign(nodes, 0);
    mark_ = 0;
  }
  ++mark_;
}

NodeFree& Scheduler::Scratch::at(NodeId node, const NodeFree& at_first) {
  if (!has(node)) {
    marks_[index_of(node)] = mark_;
    free_[index_of(node)] = at_first;
  }
  return free_[index_of(node)];
}

NodeFree Scheduler::free_from(NodeId node, Moment from, Moment until, Moment now, std::optional<JobId> but) const {
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
      if (!promise.active || promise.begins() > when || kept.end <= when || but == id) continue;
      for (const Slot& slot : kept.placement.slots) {
        if (slot.node == node) subtract(free, jobs_[index_of(id)].job.task, slot);
      }
    }
    return free;
  };
  NodeFree least = state_at(from);
  for (const JobId id : promised_on_[index_of(node)]) {
    const Promise& promise = promises_.at(id);
    if (!promise.active || promise.begins() <= from || promise.reservation.start >= until || but == id) continue;
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
  // Victims past their deadline still stop.
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
    // A reservation whose nodes did not change stays valid, unless jobs ahead of it got reservations meanwhile.
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

// Free resources over time: running jobs end at their limits, reserved ones start and end. Nodes with reservations
// count with what remains of them from that moment on, so the result never conflicts with a job ahead.
class Scheduler::Future {
 public:
  Future(Scheduler& scheduler, const Job& job, Moment now)
      : scheduler_(scheduler),
        job_(job),
        now_(now),
        fits_(scheduler.index_.of(job.task, scheduler.state_)),
        view_(scheduler.machine(), fits_),
        barred_(scheduler.unplannable_nodes(job)),
        ends_(scheduler.ends_.begin()) {
    for (const NodeId node : barred_) view_.set(node, 0);
    gang_ = gang_of(job);
    gang_.tasks = job.fewest();
    scheduler_.scratch_.begin(scheduler_.machine().nodes().size());
    for (const auto& [id, promise] : scheduler_.promises_) {
      if (!promise.active) continue;
      changes_.emplace_back(promise.reservation.end, &promise);
      touch(promise);
    }
    std::sort(changes_.begin(), changes_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    look_at_touched(now);
    room_ = most_tasks(view_, gang_);
  }

  // Advances to the next moment at which something is freed. False if there is none.
  bool advance() {
    Moment when = kNever;
    if (ends_ != scheduler_.ends_.end()) when = ends_->first;
    if (next_change_ < changes_.size()) when = std::min(when, changes_[next_change_].first);
    if (when == kNever) return false;
    at_ = std::max(when, now_ + Duration(1));  // an overdue job can end at any moment, but has not ended yet
    for (; ends_ != scheduler_.ends_.end() && ends_->first <= at_; ++ends_) free_job(ends_->second);
    for (; next_change_ < changes_.size() && changes_[next_change_].first <= at_; ++next_change_) {
      touch(*changes_[next_change_].second);
    }
    before_ = std::max(before_, room_);
    look_at_touched(at_);
    return true;
  }

  [[nodiscard]] std::optional<Promise> here(JobId id) const {
    if (room_ < gang_.tasks) return std::nullopt;
    const std::optional<Found> found = find_nodes(view_, gang_, scheduler_.policy_.placement);
    if (!found) return std::nullopt;
    std::vector<NodeLimit> limits;
    for (const NodeCount& count : found->nodes) {
      const auto node = static_cast<NodeId>(count.node);
      if (scheduler_.scratch_.has(node)) limits.push_back({node, scheduler_.scratch_.at(node)});
    }
    Promise promise;
    promise.reservation = {id, at_, at_ + job_.limit, choose_slots(scheduler_.state_, job_.task, *found, limits)};
    promise.shortfall = gang_.segment > 0 ? 1 : std::max<std::int64_t>(1, gang_.tasks - before_);
    promise.checked = true;
    return promise;
  }

 private:
  void free_job(JobId id) {
    const JobRecord& record = scheduler_.jobs_[index_of(id)];
    for (const Slot& slot : record.placement.slots) {
      touched_.push_back(slot.node);
      if (!scheduler_.promised_on_[index_of(slot.node)].empty()) continue;  // recomputed
      NodeFree& free = scheduler_.scratch_.at(slot.node, scheduler_.state_.free(slot.node));
      give_back(free, record.job.task, slot);
    }
  }

  void touch(const Promise& promise) {
    for (const Slot& slot : promise.reservation.placement.slots) touched_.push_back(slot.node);
  }

  void look_at_touched(Moment from) {
    for (const NodeId node : touched_) {
      NodeFree& free = scheduler_.scratch_.at(node, scheduler_.state_.free(node));
      if (!scheduler_.promised_on_[index_of(node)].empty()) free = scheduler_.free_from(node, from, kNever, now_);
      const bool fitting = accepts(job_.task, scheduler_.machine().node(node)) &&
                           !std::binary_search(barred_.begin(), barred_.end(), node);
      const int count = fitting ? count_fits(job_.task, free, fits_.most) : 0;
      if (count != view_.fit(index_of(node))) view_.set(node, static_cast<std::uint16_t>(count));
      room_ = std::max(room_, room_around(node));
    }
    touched_.clear();
  }

  // Tasks that fit in the node's domain of the required level: capacity only grows, so the maximum is near the change.
  [[nodiscard]] std::int64_t room_around(NodeId node) const {
    if (gang_.required == Level::node) return view_.fit(index_of(node));
    return view_.sum(gang_.required, scheduler_.machine().domain_of(gang_.required, node));
  }

  Scheduler& scheduler_;
  const Job& job_;
  Moment now_;
  Moment at_{};
  Gang gang_;
  const FitClass& fits_;
  FitView view_;
  std::vector<NodeId> barred_;
  std::set<std::pair<Moment, JobId>>::const_iterator ends_;
  std::vector<std::pair<Moment, const Promise*>> changes_;
  std::size_t next_change_ = 0;
  std::vector<NodeId> touched_;
  std::int64_t room_ = 0;
  std::int64_t before_ = 0;
};

std::optional<Scheduler::Promise> Scheduler::earliest(JobId id, Moment now) {
  Future future(*this, jobs_[index_of(id)].job, now);
  while (future.advance()) {
    if (std::optional<Promise> promise = future.here(id)) return promise;
  }
  return std::nullopt;
}

}  // namespace weft::sched
