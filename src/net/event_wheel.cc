#include "net/event_wheel.h"

#include <algorithm>

namespace weft::net {

namespace {

// Slots hold a handful: insertion sort beats std::sort there, and one pass finds the common case of sorted input.
void sort_events(Event* events, std::uint32_t count) {
  if (count > 32) {
    std::sort(events, events + count);
    return;
  }
  for (std::uint32_t i = 1; i < count; ++i) {
    const Event moving = events[i];
    std::uint32_t j = i;
    for (; j > 0 && moving < events[j - 1]; --j) events[j] = events[j - 1];
    events[j] = moving;
  }
}

}  // namespace

EventWheel::EventWheel() : slots_(kSlots) {}

void EventWheel::grow(Slot& slot) {
  const std::uint32_t capacity = std::max<std::uint32_t>(8, slot.capacity * 2);
  auto larger = std::make_unique<Event[]>(capacity);
  std::copy_n(slot.events.get(), slot.size, larger.get());
  slot.events = std::move(larger);
  slot.capacity = capacity;
}

void EventWheel::push_elsewhere(Event event, std::int64_t slot) {
  if (slot <= current_slot_) {
    push_current(event);
  } else {
    ++far_pushed_;
    far_.push(event);
  }
}

void EventWheel::push_current(Event event) {
  append(current_, event);
  std::uint32_t place = current_.size - 1;
  for (; place > cursor_ && event < current_.events[place - 1]; --place) {
    current_.events[place] = current_.events[place - 1];
  }
  current_.events[place] = event;
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
}

void EventWheel::pull_far() {
  while (!far_.empty() && (far_.top().time >> shift_) < current_slot_ + kSlots) {
    const Event event = far_.top();
    far_.pop();
    const std::int64_t slot = event.time >> shift_;
    if (slot <= current_slot_) {
      push_current(event);
    } else {
      append(slots_[static_cast<std::size_t>(slot & (kSlots - 1))], event);
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
  sort_events(current_.events.get(), current_.size);
  if (!far_.empty()) pull_far();
  count_slot();
  return true;
}

void EventWheel::count_slot() {
  constexpr std::uint32_t kSample = 2048;
  ++slots_taken_;
  events_taken_ += current_.size;
  for (std::uint32_t i = 0; i < current_.size; ++i) {
    times_taken_ += i == 0 || current_.events[i].time != current_.events[i - 1].time ? 1U : 0U;
  }
  if (slots_taken_ >= kSample) retune();
}

// Slots are to hold a few different times each; events of one time cannot be parted. When many events fall behind the
// end of the wheel, slots are too narrow whatever they hold.
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
  if (shift != shift_) rebuild(shift);
}

void EventWheel::rebuild(int shift) {
  std::vector<Event> all(current_.events.get(), current_.events.get() + current_.size);
  for (Slot& from : slots_) {
    all.insert(all.end(), from.events.get(), from.events.get() + from.size);
    from.size = 0;
  }
  std::fill(std::begin(occupied_), std::end(occupied_), 0);
  shift_ = shift;
  current_slot_ = all.front().time >> shift_;
  current_.size = 0;
  for (const Event& event : all) push(event);
  pull_far();
  far_pushed_ = 0;
}

}  // namespace weft::net
