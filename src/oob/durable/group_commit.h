// Group commit: threads with something to write wait while one of them writes for all waiting threads. A sync costs the
// same for one entry and for hundreds, so N entries take as long as N / threads syncs.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::oob {

template <class Item>
class GroupCommit {
 public:
  // `work` is called by one thread at a time with items in order of submission; it stores the result in each item.
  explicit GroupCommit(std::function<void(const std::vector<Item*>&)> work) : work_(std::move(work)) {}
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Returns once the item has been processed, by this thread or another.
  void submit(Item& item) {
    Slot slot{&item, false};
    std::unique_lock guard(mutex_);
    waiting_.push_back(&slot);
    while (!slot.done) {
      if (busy_) {
        changed_.wait(guard);
      } else {
        lead(guard);
      }
    }
  }

 private:
  struct Slot {
    Item* item = nullptr;
    bool done = false;
  };

  void lead(std::unique_lock<std::mutex>& guard) {
    busy_ = true;
    const std::vector<Slot*> slots = std::exchange(waiting_, {});
    guard.unlock();
    std::vector<Item*> items;
    items.reserve(slots.size());
    for (Slot* slot : slots) items.push_back(slot->item);
    work_(items);
    guard.lock();
    for (Slot* slot : slots) slot->done = true;
    busy_ = false;
    changed_.notify_all();
  }

  std::function<void(const std::vector<Item*>&)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot*> waiting_;
  bool busy_ = false;
};

}  // namespace weft::oob
