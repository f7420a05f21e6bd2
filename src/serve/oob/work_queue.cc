#include "serve/oob/work_queue.h"

#include <csignal>
#include <utility>

namespace weft::serve {

WorkQueue::WorkQueue(std::size_t threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  // Signals are for the thread of the event loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  threads_.reserve(threads);
  idle_ = threads;
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkQueue::~WorkQueue() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkQueue::submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= max_waiting_ + idle_) return false;
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void WorkQueue::stop() {
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (const Task& task : dropped) task(false);
}

void WorkQueue::work() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
      --idle_;
    }
    task(true);
    task = nullptr;
    const std::lock_guard lock(mutex_);
    ++idle_;
  }
}

}  // namespace weft::serve
