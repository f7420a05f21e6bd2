// The two event queues of the flow engine: one for fixed events, one for completion times that move with every change
// of rate. Equal times are ordered by kind and number, so a run does not depend on insertion order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "netsim/network/sim_time.h"

namespace weft::netsim {

enum class FlowEventKind : std::uint8_t { sent, arrived, ring_end, link, start };

struct FlowEvent {
  SimTime at;
  FlowEventKind kind;
  std::uint32_t id;
  friend auto operator<=>(const FlowEvent&, const FlowEvent&) = default;
};

class FlowEventQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] SimTime next() const { return heap_.empty() ? kNever : heap_.front().at; }
  [[nodiscard]] const std::vector<FlowEvent>& events() const { return heap_; }
  void push(const FlowEvent& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  FlowEvent pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const FlowEvent event = heap_.back();
    heap_.pop_back();
    return event;
  }
  // Delays all events by the same time: their order stays.
  void shift(SimTime by) {
    for (FlowEvent& event : heap_) event.at += by;
  }

 private:
  std::vector<FlowEvent> heap_;
};

// Numbers 0, 1, 2.. each with at most one time, which can change.
class MovingTimes {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] SimTime next() const { return heap_.empty() ? kNever : heap_.front().at; }
  [[nodiscard]] std::uint32_t front() const { return heap_.front().id; }

  // kNever removes it.
  void set(std::uint32_t id, SimTime at) {
    if (id >= places_.size()) places_.resize(id + 1, kNowhere);
    std::size_t place = places_[id];
    if (at == kNever) {
      if (place != kNowhere) erase(place);
      return;
    }
    if (place == kNowhere) {
      place = heap_.size();
      heap_.push_back({at, id});
      places_[id] = static_cast<std::uint32_t>(place);
    } else {
      heap_[place].at = at;
    }
    sink(rise(place));
  }
  void shift(SimTime by) {
    for (Item& item : heap_) item.at += by;
  }

 private:
  struct Item {
    SimTime at;
    std::uint32_t id;
    friend auto operator<=>(const Item&, const Item&) = default;
  };
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;
  static constexpr std::size_t kWidth = 4;

  void put(std::size_t place, const Item& item) {
    heap_[place] = item;
    places_[item.id] = static_cast<std::uint32_t>(place);
  }
  std::size_t rise(std::size_t place) {
    const Item item = heap_[place];
    while (place > 0 && item < heap_[(place - 1) / kWidth]) {
      put(place, heap_[(place - 1) / kWidth]);
      place = (place - 1) / kWidth;
    }
    put(place, item);
    return place;
  }
  void sink(std::size_t place) {
    const Item item = heap_[place];
    for (;;) {
      const std::size_t first = place * kWidth + 1;
      if (first >= heap_.size()) break;
      const std::size_t last = std::min(first + kWidth, heap_.size());
      std::size_t least = first;
      for (std::size_t i = first + 1; i < last; ++i) {
        if (heap_[i] < heap_[least]) least = i;
      }
      if (!(heap_[least] < item)) break;
      put(place, heap_[least]);
      place = least;
    }
    put(place, item);
  }
  void erase(std::size_t place) {
    places_[heap_[place].id] = kNowhere;
    const Item last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    put(place, last);
    sink(rise(place));
  }

  std::vector<Item> heap_;
  std::vector<std::uint32_t> places_;  // by number
};

}  // namespace weft::netsim
