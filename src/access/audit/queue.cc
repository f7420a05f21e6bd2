#include "access/audit/queue.h"

#include <algorithm>
#include <utility>

namespace weft::access {

AuditQueue::AuditQueue(AuditLog& log, std::size_t threads, std::size_t capacity) : log_(log), capacity_(capacity) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

AuditQueue::~AuditQueue() {
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool AuditQueue::push(std::function<void()> job, bool must) {
  {
    const std::lock_guard guard(mutex_);
    if (!must && jobs_.size() >= capacity_) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

bool AuditQueue::begin(AuditIntent intent, std::function<void(Result<AuditTicket>)> done) {
  return push([this, intent = std::move(intent), done = std::move(done)] { done(log_.begin(intent)); }, false);
}

void AuditQueue::finish(AuditTicket ticket, AuditOutcome outcome, std::function<void(Status)> done) {
  (void)push(
      [this, ticket = std::move(ticket), outcome = std::move(outcome), done = std::move(done)] {
        Status status = log_.finish(ticket, outcome);
        if (done) done(std::move(status));
      },
      true);
}

bool AuditQueue::note(AuditNote note, std::function<void(Status)> done) {
  return push(
      [this, note = std::move(note), done = std::move(done)] {
        Status status = log_.note(note);
        if (done) done(std::move(status));
      },
      false);
}

void AuditQueue::work() {
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [&] { return !jobs_.empty() || ending_; });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    guard.unlock();
    job();
    guard.lock();
  }
}

}  // namespace weft::access
