#include "sched/core/eviction_index.h"

namespace weft::sched {
namespace {

constexpr int kMaxFits = 60'000;  // per node: limited by the type

}  // namespace

EvictionIndex& EvictionIndex::operator=(const EvictionIndex& other) {
  if (this != &other) rooms_.clear();
  return *this;
}

const EvictionIndex::Room& EvictionIndex::of(const Key& key, const State& state, const Evict& evict) {
  if (rooms_.size() >= kMaxRooms && !rooms_.contains(key)) rooms_.clear();
  Room& room = rooms_[key];
  const std::size_t nodes = state.machine().nodes().size();
  const bool rescan =
      room.fit.empty() || room.position < state.log_start() || state.log_end() - room.position > 2 * nodes;
  if (rescan) {
    room.fit.resize(nodes);
    for (std::uint32_t n = 0; n < nodes; ++n) look_at(room, key, state, static_cast<NodeId>(n), evict);
  } else {
    for (std::uint64_t p = room.position; p < state.log_end(); ++p) look_at(room, key, state, state.changed(p), evict);
  }
  room.position = state.log_end();
  return room;
}

void EvictionIndex::look_at(Room& room, const Key& key, const State& state, NodeId node, const Evict& evict) {
  int fit = 0;
  if (state.free(node).up && accepts(key.task, state.machine().node(node))) {
    NodeFree free = state.free(node);
    for (const Tenancy& task : state.tasks_on(node)) evict(task, free);
    fit = count_fits(key.task, free, kMaxFits);
  }
  std::uint16_t& known = room.fit[index_of(node)];
  room.sum += fit - known;
  known = static_cast<std::uint16_t>(fit);
}

}  // namespace weft::sched
