// The packet engine's queue of coming events. Nearly all of them lie a serialisation and a cable ahead, so they go into
// a wheel of short time slots that are sorted only when their turn comes; the few far ones (timers) wait in a heap.
// Order is by (time, key) alone and never by insertion, so that one thread and several see the same order. The width of
// a slot follows the density of events; it changes speed, never results.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

namespace weft::net {

struct Event {
  std::int64_t time = 0;  // picoseconds
  std::uint64_t key = 0;
};
constexpr bool operator<(const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.key < b.key; }

class EventWheel {
 public:
  EventWheel();

  void push(Event event) {
    const std::int64_t slot = event.time >> shift_;
    if (slot > current_slot_ && slot < current_slot_ + kSlots) {
      append(slots_[static_cast<std::size_t>(slot & (kSlots - 1))], event);
      mark(slot);
      return;
    }
    push_elsewhere(event, slot);
  }
  // The next event, or none at or after `limit`. Events at equal times come by key.
  bool pop_before(std::int64_t limit, Event& out) {
    if (cursor_ == current_.size && !advance()) return false;
    if (current_.events[cursor_].time >= limit) return false;
    out = current_.events[cursor_++];
    return true;
  }
  // The event `ahead` places behind the next one, where it is known already; for prefetching.
  [[nodiscard]] const Event* peek(std::uint32_t ahead) const {
    return cursor_ + ahead < current_.size ? &current_.events[cursor_ + ahead] : nullptr;
  }
  // Time of the next event; INT64_MAX when there is none.
  std::int64_t next_time() {
    if (cursor_ == current_.size && !advance()) return INT64_MAX;
    return current_.events[cursor_].time;
  }

 private:
  static constexpr std::int64_t kSlots = 512;
  struct Slot {
    std::unique_ptr<Event[]> events;
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
  };

  static void append(Slot& slot, Event event) {
    if (slot.size == slot.capacity) grow(slot);
    slot.events[slot.size++] = event;
  }
  static void grow(Slot& slot);
  void mark(std::int64_t slot) {
    const auto bit = static_cast<std::uint64_t>(slot & (kSlots - 1));
    occupied_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  void push_elsewhere(Event event, std::int64_t slot);
  void push_current(Event event);
  // Makes the next slot that holds something the current one, sorted; false when there is nothing left.
  bool advance();
  [[nodiscard]] std::int64_t next_occupied() const;
  void take(std::int64_t slot);
  void pull_far();
  void count_slot();
  void retune();
  void rebuild(int shift);

  int shift_ = 13;  // a slot is 2^shift_ ps
  std::int64_t current_slot_ = -1;
  Slot current_;  // sorted from cursor_ on
  std::uint32_t cursor_ = 0;
  std::vector<Slot> slots_;
  std::uint64_t occupied_[kSlots / 64] = {};
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return b < a; }
  };
  std::priority_queue<Event, std::vector<Event>, Later> far_;
  // Since the last look at the width of slots.
  std::uint32_t slots_taken_ = 0;
  std::uint32_t events_taken_ = 0;
  std::uint32_t times_taken_ = 0;  // distinct ones
  std::uint32_t far_pushed_ = 0;
  int narrowest_ = 6;
};

}  // namespace weft::net
