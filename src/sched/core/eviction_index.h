// Upper bound of what preemption can free: how many tasks of a request would fit on each node if every job that it may
// evict were gone. Jobs for which preemption cannot free enough are found here, without a search for victims. Updated
// from the State's change log, like FitIndex: the cost is proportional to the number of changes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sched/core/tenants.h"
#include "sched/placement/state.h"

namespace weft::sched {

class EvictionIndex {
 public:
  // What decides which jobs may be evicted: the waiting job's rank and tenant.
  struct Key {
    Request task;
    Charge charge = Charge::guaranteed;
    std::int32_t priority = 0;
    TenantId tenant = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // Returns to `free` what a task holds, if the task may be evicted. Whether it may must not change from no to yes
  // while it runs.
  using Evict = std::function<void(const Tenancy& task, NodeFree& free)>;

  EvictionIndex() = default;
  EvictionIndex(const EvictionIndex&) {}  // a copy starts empty
  EvictionIndex& operator=(const EvictionIndex& other);
  EvictionIndex(EvictionIndex&&) = default;
  EvictionIndex& operator=(EvictionIndex&&) = default;
  ~EvictionIndex() = default;

  struct Room {
    std::vector<std::uint16_t> fit;  // tasks, by node
    std::int64_t sum = 0;
    std::uint64_t position = 0;  // in the State's log
  };
  // The reference is valid until the next call.
  [[nodiscard]] const Room& of(const Key& key, const State& state, const Evict& evict);
  void clear() { rooms_.clear(); }

 private:
  static constexpr std::size_t kMaxRooms = 512;
  static void look_at(Room& room, const Key& key, const State& state, NodeId node, const Evict& evict);

  std::map<Key, Room> rooms_;
};

}  // namespace weft::sched
