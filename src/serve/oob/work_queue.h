// Threads that carry out tasks which block, with a bounded queue. A task is called once: with true on a thread of the
// queue, or with false when the queue is stopped before its turn.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::serve {

class WorkQueue {
 public:
  using Task = std::function<void(bool run)>;

  WorkQueue(std::size_t threads, std::size_t max_waiting);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  WorkQueue(WorkQueue&&) = delete;
  WorkQueue& operator=(WorkQueue&&) = delete;
  ~WorkQueue();  // stops, and waits for the tasks that run

  // False: too many tasks are waiting, or it is stopped. The task is then not called.
  [[nodiscard]] bool submit(Task task);
  // Tasks that wait are called with false, on this thread.
  void stop();

 private:
  void work();

  std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  std::size_t idle_ = 0;
  const std::size_t max_waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace weft::serve
