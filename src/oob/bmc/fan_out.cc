#include "oob/bmc/fan_out.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::oob {
namespace {

class FanOut {
 public:
  FanOut(std::uint32_t count, Clock& clock, const std::function<void(std::uint32_t)>& task,
         const std::function<void(std::uint32_t)>& progress)
      : count_(count), clock_(clock), task_(task), progress_(progress) {}

  void work() {
    for (;;) {
      if (clock_.stopped()) return;
      const std::uint32_t mine = next_.fetch_add(1);
      if (mine >= count_) return;
      task_(mine);
      const std::lock_guard lock(mutex_);
      ++finished_;
      if (progress_) progress_(finished_);
    }
  }
  [[nodiscard]] std::uint32_t finished() const { return finished_; }

 private:
  std::uint32_t count_;
  Clock& clock_;
  const std::function<void(std::uint32_t)>& task_;
  const std::function<void(std::uint32_t)>& progress_;
  std::atomic<std::uint32_t> next_{0};
  std::mutex mutex_;
  std::uint32_t finished_ = 0;
};

}  // namespace

FanOutResult fan_out(std::uint32_t count, int width, Clock& clock, const std::function<void(std::uint32_t)>& task,
                     const std::function<void(std::uint32_t)>& progress) {
  FanOut work(count, clock, task, progress);
  const std::uint32_t wanted = std::min(count, static_cast<std::uint32_t>(std::clamp(width, 1, kMaxFanOut)));
  std::vector<std::thread> threads;
  threads.reserve(wanted);
  try {
    for (std::uint32_t i = 1; i < wanted; ++i) threads.emplace_back([&work] { work.work(); });
  } catch (const std::system_error&) {
    // The system cannot create more threads: the existing ones do the work, more slowly.
  }
  work.work();
  for (std::thread& thread : threads) thread.join();
  return {work.finished(), static_cast<int>(threads.size()) + 1};
}

}  // namespace weft::oob
