// Calls that may block, begun in their order by one or more threads of their own. What follows from a result runs in
// the owner's thread, so that only one thread ever touches the owner's state.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::world {

class WorkQueue {
 public:
  // With 0 threads, calls are executed by collect(): for tests.
  explicit WorkQueue(std::size_t threads);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  WorkQueue(WorkQueue&&) = delete;
  WorkQueue& operator=(WorkQueue&&) = delete;
  // Waits for the calls that run; the owner makes them end soon. The others are dropped, and so is what would
  // follow from them.
  ~WorkQueue();

  // `call()` runs in a thread and must share nothing with the owner; `then(result)` in collect().
  template <class Call, class Then>
  void add(Call call, Then then) {
    push([call = std::move(call), then = std::move(then)]() mutable -> std::function<void()> {
      auto result = std::make_shared<decltype(call())>(call());
      return [result, then = std::move(then)]() mutable { then(std::move(*result)); };
    });
  }

  // Runs what follows from the calls that have ended.
  void collect();
  // Calls that have not been collected.
  [[nodiscard]] std::size_t open() const { return open_; }

 private:
  using Call = std::function<std::function<void()>()>;
  void push(Call call);
  void run();

  std::size_t open_ = 0;  // of the owner
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> waiting_;
  std::deque<std::function<void()>> ended_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::world
