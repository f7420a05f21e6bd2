#include "world/core/work_queue.h"

#include <pthread.h>

#include <csignal>

namespace weft::world {

WorkQueue::WorkQueue(std::size_t threads) {
  // Signals are the owner's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkQueue::push(Call call) {
  ++open_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(call));
  }
  changed_.notify_all();
}

void WorkQueue::run() {
  for (;;) {
    Call call;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    std::function<void()> then = call();
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.push_back(std::move(then));
  }
}

void WorkQueue::collect() {
  if (threads_.empty()) {
    std::deque<Call> calls;
    std::swap(calls, waiting_);
    for (Call& call : calls) ended_.push_back(call());
  }
  std::deque<std::function<void()>> ended;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::swap(ended, ended_);
  }
  for (std::function<void()>& then : ended) {
    --open_;
    then();
  }
}

}  // namespace weft::world
