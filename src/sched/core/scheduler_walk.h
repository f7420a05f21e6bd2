// State of one pass over the queue: the reservations made so far. Internal to the scheduler.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sched/core/scheduler.h"

namespace weft::sched {

// Like take(), for hypothetical states: subtracts at most what is free.
void subtract(NodeFree& free, const Request& request, const Slot& slot);

struct Scheduler::Walk {
  std::vector<Promise*> active;  // in queue order
  bool blocked = false;          // a job ahead could not start
  std::int32_t promised = 0;
  std::int32_t tested = 0;  // attempts since the first blocked job

  // Limits of the nodes under reservation, for reservations that begin before `limits_end`; rebuilt when those change.
  std::vector<NodeLimit> limits;
  std::size_t limits_promises = SIZE_MAX;  // number of reservations covered
  bool limits_stale = true;

  // Gangs that found no nodes, with the time limit: with the same reservations or more, one that runs as long or longer
  // finds none either.
  struct Failure {
    Request task;
    std::int32_t tasks = 0;
    Level required = Level::cluster;
    std::int32_t segment = 0;
    Level segment_level = Level::nvlink;
    friend bool operator==(const Failure&, const Failure&) = default;
  };
  std::vector<std::pair<Failure, Duration>> failures;
  [[nodiscard]] bool has_failed(const Failure& failure, Duration limit) const {
    return std::any_of(failures.begin(), failures.end(),
                       [&](const auto& each) { return each.second <= limit && each.first == failure; });
  }

  std::vector<JobId> preempting;  // jobs with victims stopping for them, at the start of the walk
  // Quota that those with a reservation will use, and that all victims release; rebuilt when those change.
  std::vector<Tenants::GivenBack> owed;
  bool owed_stale = true;
  // What preemption could take: the lowest rank of a possible victim.
  struct Prey {
    std::optional<Rank> weakest;
    bool elastic = false;   // some job runs with more tasks than it needs
    bool stopping = false;  // some job is stopping
  };
  std::optional<Prey> prey;
  std::optional<bool> limited;  // some tenant has a quota
  // What eviction_suffices() found; dropped when a reservation changes.
  struct Room {
    EvictionIndex::Key key;
    std::vector<const Promise*> ahead;
    std::uint64_t position = 0;  // in the State's log
    std::int64_t sum = 0;
  };
  std::vector<Room> rooms;
  // Groups with a job that needs no victims: what stops already is enough, and so it is for the others of the group
  // that run no longer. Dropped when reservations change.
  struct Spared {
    std::uint32_t group = 0;
    Duration limit{};
    std::uint64_t position = 0;  // in the State's log
  };
  std::vector<Spared> spared;
  [[nodiscard]] bool needs_no_victims(const JobRecord& record, std::uint64_t position) const {
    return std::any_of(spared.begin(), spared.end(), [&](const Spared& each) {
      return each.group == record.group && record.job.limit <= each.limit && each.position == position;
    });
  }
  std::vector<JobId> borrowers;  // blocked jobs that could preempt on borrowed quota
  bool ended = false;            // every job has been considered

  void activate(Promise& promise) {
    promise.active = true;
    active.push_back(&promise);
    spared.clear();
    limits_stale = true;
    owed_stale = true;
  }
  void deactivate(Promise& promise) {
    promise.active = false;
    active.erase(std::remove(active.begin(), active.end(), &promise), active.end());
    failures.clear();
    spared.clear();
    limits_stale = true;
    owed_stale = true;
  }
};

}  // namespace weft::sched
