#include "netsim/packet/event_wheel.h"

#include <algorithm>

namespace weft::netsim {

EventWheel::EventWheel() : slots_(kSlots) {}

void EventWheel::grow(Slot& slot) {
  const std::uint32_t capacity = std::max<std::uint32_t>(8, slot.capacity * 2);
  auto larger = std::make_unique<Entry[]>(capacity);
  std::copy_n(slot.entries.get(), slot.size, larger.get());
  slot.entries = std::move(larger);
  slot.capacity = capacity;
}

void EventWheel::push_elsewhere(Event event, std::int64_t slot) {
  if (slot == current_slot_) {
    push_current(entry_of(event));
  } else if (slot < current_slot_) {
    // Only if another shard sends an event to a shard whose wheel is already far ahead.
    rebuild(shift_, event.time);
    push_current(entry_of(event));
  } else {
    ++far_pushed_;
    far_.push(event);
  }
}

void EventWheel::push_current(Entry entry) {
  append(current_, entry);
  std::uint32_t place = current_.size - 1;
  for (; place > cursor_ && entry.order < current_.entries[place - 1].order; --place) {
    current_.entries[place] = current_.entries[place - 1];
  }
  current_.entries[place] = entry;
}

std::int64_t EventWheel::next_occupied() const {
  constexpr std::uint64_t kWords = kSlots / 64;
  const auto start = static_cast<std::uint64_t>((current_slot_ + 1) & (kSlots - 1));
  for (std::uint64_t step = 0; step <= kWords; ++step) {
    const std::uint64_t word = (start / 64 + step) % kWords;
    std::uint64_t bits = occupied_[word];
    if (step == 0) bits &= ~std::uint64_t{0} << (start % 64);
    if (step == kWords) bits &= ~(~std::uint64_t{0} << (start % 64));
    if (bits == 0) continue;
    const std::uint64_t found = word * 64 + static_cast<std::uint64_t>(__builtin_ctzll(bits));
    return current_slot_ + 1 + static_cast<std::int64_t>((found - start) & (kSlots - 1));
  }
  return INT64_MAX;
}

void EventWheel::take(std::int64_t slot) {
  const auto index = static_cast<std::size_t>(slot & (kSlots - 1));
  std::swap(current_, slots_[index]);
  occupied_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  Entry* const entries = current_.entries.get();
  const std::uint32_t count = current_.size;
  if (count > 24) {
    std::sort(entries, entries + count, [](const Entry& a, const Entry& b) { return a.order < b.order; });
    return;
  }
  for (std::uint32_t i = 1; i < count; ++i) {
    const Entry moving = entries[i];
    std::uint32_t j = i;
    for (; j > 0 && moving.order < entries[j - 1].order; --j) entries[j] = entries[j - 1];
    entries[j] = moving;
  }
}

void EventWheel::pull_far() {
  while (!far_.empty() && (far_.top().time >> shift_) < current_slot_ + kSlots) {
    const Event event = far_.top();
    far_.pop();
    const std::int64_t slot = event.time >> shift_;
    if (slot == current_slot_) {
      push_current(entry_of(event));
    } else {
      append(slots_[static_cast<std::size_t>(slot & (kSlots - 1))], entry_of(event));
      mark(slot);
    }
  }
}

bool EventWheel::advance() {
  current_.size = 0;
  cursor_ = 0;
  std::int64_t slot = next_occupied();
  const std::int64_t far_slot = far_.empty() ? INT64_MAX : far_.top().time >> shift_;
  if (slot == INT64_MAX && far_slot == INT64_MAX) return false;
  slot = std::min(slot, far_slot);
  current_slot_ = slot;
  take(slot);
  if (!far_.empty()) pull_far();
  count_slot();
  return true;
}

void EventWheel::count_slot() {
  constexpr std::uint32_t kSample = 2048;
  ++slots_taken_;
  events_taken_ += current_.size;
  std::uint64_t last = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < current_.size; ++i) {
    const std::uint64_t time = current_.entries[i].order >> 32U;
    times_taken_ += time != last ? 1U : 0U;
    last = time;
  }
  if (slots_taken_ >= kSample) retune();
}

// Slots should hold a few different times each; events of one time cannot be split. If many events fall beyond the end
// of the wheel, slots are too narrow regardless of what they hold.
void EventWheel::retune() {
  constexpr int kWidest = 32;
  int shift = shift_;
  if (far_pushed_ > events_taken_ / 8) {
    narrowest_ = std::min(shift_ + 1, kWidest);
    shift = narrowest_;
  } else if (times_taken_ > 4 * slots_taken_ && shift_ > narrowest_) {
    shift = shift_ - 1;
  } else if (2 * times_taken_ < 3 * slots_taken_ && shift_ < kWidest) {
    shift = shift_ + 1;
  }
  slots_taken_ = 0;
  events_taken_ = 0;
  times_taken_ = 0;
  far_pushed_ = 0;
  if (shift != shift_) rebuild(shift, time_of(current_.entries[0]));
}

void EventWheel::gather(std::vector<Event>& all) {
  for (std::uint32_t i = cursor_; i < current_.size; ++i) {
    all.push_back({time_of(current_.entries[i]), key_of(current_.entries[i])});
  }
  for (std::int64_t ahead = 1; ahead < kSlots; ++ahead) {
    const std::int64_t slot = current_slot_ + ahead;
    Slot& from = slots_[static_cast<std::size_t>(slot & (kSlots - 1))];
    const std::int64_t upper = slot << shift_ & ~std::int64_t{0xFFFFFFFF};
    for (std::uint32_t i = 0; i < from.size; ++i) {
      all.push_back({upper | static_cast<std::int64_t>(from.entries[i].order >> 32U), key_of(from.entries[i])});
    }
    from.size = 0;
  }
}

void EventWheel::rebuild(int shift, std::int64_t first_time) {
  std::vector<Event> all;
  gather(all);
  std::fill(std::begin(occupied_), std::end(occupied_), 0);
  shift_ = shift;
  current_slot_ = first_time >> shift_;
  current_.size = 0;
  cursor_ = 0;
  for (const Event& event : all) push(event);
  pull_far();
  far_pushed_ = 0;
}

}  // namespace weft::netsim
