// The packet engine's event queue. Nearly all events are one serialization time and one cable delay ahead, so they go
// into a wheel of short time slots that are sorted only when due; the few far ones (timers) wait in a heap. The order
// is by (time, key) alone and never by insertion, so it does not depend on the number of threads. The slot width
// follows the density of events; it changes speed, never results.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

namespace weft::netsim {

struct Event {
  std::int64_t time = 0;  // picoseconds, not negative
  std::uint64_t key = 0;  // its upper half is unique among events of the same time
};
constexpr bool operator<(const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.key < b.key; }

class EventWheel {
 public:
  EventWheel();

  void push(Event event) {
    const std::int64_t slot = event.time >> shift_;
    if (slot > current_slot_ && slot < current_slot_ + kSlots) {
      append(slots_[static_cast<std::size_t>(slot & (kSlots - 1))], entry_of(event));
      mark(slot);
      return;
    }
    push_elsewhere(event, slot);
  }
  // The next event before `limit`; false if there is none. Events at equal times are ordered by key.
  bool pop_before(std::int64_t limit, Event& out) {
    if (cursor_ == current_.size && !advance()) return false;
    const Entry& entry = current_.entries[cursor_];
    const std::int64_t time = time_of(entry);
    if (time >= limit) return false;
    out = {time, key_of(entry)};
    ++cursor_;
    return true;
  }
  // The key of the event `ahead` places after the next one, if already known; for prefetching.
  [[nodiscard]] bool peek(std::uint32_t ahead, std::uint64_t& key) const {
    if (cursor_ + ahead >= current_.size) return false;
    key = key_of(current_.entries[cursor_ + ahead]);
    return true;
  }
  // Time of the next event; INT64_MAX if there is none.
  std::int64_t next_time() {
    if (cursor_ == current_.size && !advance()) return INT64_MAX;
    return time_of(current_.entries[cursor_]);
  }

 private:
  static constexpr std::int64_t kSlots = 512;
  // Within a slot the low half of the time is unambiguous, so time and the upper half of the key compare as one word.
  // The lower half of the key never decides: no two events have the same time and upper half.
  struct Entry {
    std::uint64_t order;
    std::uint32_t low_key;
  };
  struct Slot {
    std::unique_ptr<Entry[]> entries;
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
  };

  static Entry entry_of(Event event) {
    return {(static_cast<std::uint64_t>(event.time) << 32U) | (event.key >> 32U),
            static_cast<std::uint32_t>(event.key)};
  }
  static std::uint64_t key_of(const Entry& entry) { return (entry.order << 32U) | entry.low_key; }
  // Time of an entry of the current slot, whose low half does not wrap.
  [[nodiscard]] std::int64_t time_of(const Entry& entry) const {
    return (current_slot_ << shift_ & ~std::int64_t{0xFFFFFFFF}) | static_cast<std::int64_t>(entry.order >> 32U);
  }
  static void append(Slot& slot, Entry entry) {
    if (slot.size == slot.capacity) grow(slot);
    slot.entries[slot.size++] = entry;
  }
  static void grow(Slot& slot);
  void mark(std::int64_t slot) {
    const auto bit = static_cast<std::uint64_t>(slot & (kSlots - 1));
    occupied_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  void push_elsewhere(Event event, std::int64_t slot);
  void push_current(Entry entry);
  // Makes the next non-empty slot the current one, sorted; false if nothing is left.
  bool advance();
  [[nodiscard]] std::int64_t next_occupied() const;
  void take(std::int64_t slot);
  void pull_far();
  void count_slot();
  void retune();
  // Redistributes all events over slots of this width, with the slot of `first_time` as the current one.
  void rebuild(int shift, std::int64_t first_time);
  void gather(std::vector<Event>& all);

  int shift_ = 13;  // a slot is 2^shift_ ps; at most 32
  std::int64_t current_slot_ = -1;
  Slot current_;  // sorted from cursor_ on
  std::uint32_t cursor_ = 0;
  std::vector<Slot> slots_;
  std::uint64_t occupied_[kSlots / 64] = {};
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return b < a; }
  };
  std::priority_queue<Event, std::vector<Event>, Later> far_;
  // Since the slot width was last adjusted.
  std::uint32_t slots_taken_ = 0;
  std::uint32_t events_taken_ = 0;
  std::uint32_t times_taken_ = 0;  // distinct ones
  std::uint32_t far_pushed_ = 0;
  int narrowest_ = 6;
};

}  // namespace weft::netsim
