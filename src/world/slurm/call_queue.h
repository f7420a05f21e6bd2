// Calls to Slurm that may block, begun in their order by one or more threads of their own. What follows from a result
// runs in the owner's thread, so that only one thread ever touches the engine's state.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "world/slurm/slurm_client.h"

namespace weft::world {

class CallQueue {
 public:
  // With 0 threads, calls are executed by collect(): for tests.
  CallQueue(std::shared_ptr<SlurmClient> client, std::size_t threads);
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  CallQueue(CallQueue&&) = delete;
  CallQueue& operator=(CallQueue&&) = delete;
  // Running calls are stopped; the others are dropped, and so is what would follow from them.
  ~CallQueue();

  // `call(client)` runs in the thread and must share nothing with the owner; `then(result)` in collect().
  template <class Call, class Then>
  void add(Call call, Then then) {
    push([call = std::move(call), then = std::move(then)](SlurmClient& client) mutable -> std::function<void()> {
      auto result = std::make_shared<decltype(call(client))>(call(client));
      return [result, then = std::move(then)]() mutable { then(std::move(*result)); };
    });
  }

  // Runs what follows from the calls that have ended.
  void collect();
  // Calls that have not been collected.
  [[nodiscard]] std::size_t open() const { return open_; }

 private:
  using Call = std::function<std::function<void()>(SlurmClient&)>;
  void push(Call call);
  void run();

  std::shared_ptr<SlurmClient> client_;
  std::size_t open_ = 0;  // of the owner
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> waiting_;
  std::deque<std::function<void()>> ended_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::world
