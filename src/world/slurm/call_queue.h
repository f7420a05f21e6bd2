// Calls to Slurm that may block, on the threads of a work queue (core/work_queue.h).
#pragma once

#include <memory>
#include <utility>

#include "world/core/work_queue.h"
#include "world/slurm/slurm_client.h"

namespace weft::world {

class CallQueue {
 public:
  // With 0 threads, calls are executed by collect(): for tests.
  CallQueue(std::shared_ptr<SlurmClient> client, std::size_t threads)
      : client_(std::move(client)), threads_(threads), queue_(threads) {}
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  CallQueue(CallQueue&&) = delete;
  CallQueue& operator=(CallQueue&&) = delete;
  // Running calls are stopped; the others are dropped, and so is what would follow from them.
  ~CallQueue() {
    if (threads_ > 0) client_->stop();
  }

  // `call(client)` runs in a thread and must share nothing with the owner; `then(result)` in collect().
  template <class Call, class Then>
  void add(Call call, Then then) {
    queue_.add([client = client_, call = std::move(call)]() mutable { return call(*client); }, std::move(then));
  }

  void collect() { queue_.collect(); }
  [[nodiscard]] std::size_t open() const { return queue_.open(); }

 private:
  std::shared_ptr<SlurmClient> client_;
  std::size_t threads_;
  WorkQueue queue_;  // last: its threads end first
};

}  // namespace weft::world
