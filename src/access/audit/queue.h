// Group commit for an event loop: entries of the audit log are written by threads, so that the loop does not wait for
// the disk and entries of requests that arrive together share a sync (4 ms for one on a cloud disk, for up to `threads`
// entries here). Bounded: a full queue refuses, and the caller answers 503.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "access/audit/log.h"

namespace weft::access {

class AuditQueue {
 public:
  explicit AuditQueue(AuditLog& log, std::size_t threads = 4, std::size_t capacity = 1024);
  AuditQueue(const AuditQueue&) = delete;
  AuditQueue& operator=(const AuditQueue&) = delete;
  ~AuditQueue();  // writes what is queued

  // `done` is called from a thread of the queue: it hands the result to the loop. False: the queue is full, `done` is
  // not called, and the request must be refused.
  [[nodiscard]] bool begin(AuditIntent intent, std::function<void(Result<AuditTicket>)> done);
  // An outcome is never dropped: there are at most as many as requests that begin() admitted.
  void finish(AuditTicket ticket, AuditOutcome outcome, std::function<void(Status)> done = nullptr);
  // False: the queue is full.
  [[nodiscard]] bool note(AuditNote note, std::function<void(Status)> done = nullptr);

 private:
  void work();
  [[nodiscard]] bool push(std::function<void()> job, bool must);

  AuditLog& log_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::access
