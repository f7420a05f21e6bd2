// Accounts of GPU time: what each GPU did in every moment, and because of which cause. The entries add up to the GPUs
// of the cluster times the time. Only counts; who did what is decided by the simulated cluster.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace weft::twin {

// What the time of a GPU was.
enum class Use : std::uint8_t {
  productive,  // training that was kept
  slow,        // additional time of it because something was slow
  checkpoint,  // waits while a checkpoint is written
  lost,        // computed since the last checkpoint before an interruption
  undetected,  // the job stands still, and neither it nor telemetry says so
  stopping,    // until every part of the attempt is known to have ended
  starting,    // start of the processes, communicators, loading of the checkpoint
  idle,        // in service without a job
  broken,      // of a broken node without a job, before it is taken out of service
  repair,      // out of service: automatic repair
  person       // out of service: waits for people or is repaired by them
};
inline constexpr std::size_t kUses = 11;
[[nodiscard]] std::string_view to_text(Use use);  // "waits for a failure to be noticed"
[[nodiscard]] std::string_view key_of(Use use);   // "undetected"

// Millionths of a GPU-second: thousandths of a GPU times milliseconds. A year of 100,000 GPUs is 3e18.
using GpuTime = std::int64_t;
[[nodiscard]] constexpr GpuTime gpu_time(std::int64_t milli_gpus, Duration time) {
  return milli_gpus * (time.count() / 1'000'000);
}
[[nodiscard]] constexpr double gpu_hours(GpuTime time) { return static_cast<double>(time) / 3.6e9; }

class Ledger {
 public:
  // `causes` of the fault model; cause 0 is "none", cause i + 1 the i-th.
  explicit Ledger(std::size_t causes) : entries_(causes + 1) {}

  void add(Use use, std::uint32_t cause, GpuTime time) { entries_[cause][static_cast<std::size_t>(use)] += time; }
  [[nodiscard]] GpuTime at(Use use, std::uint32_t cause) const {
    return entries_[cause][static_cast<std::size_t>(use)];
  }
  [[nodiscard]] GpuTime sum(Use use) const;
  [[nodiscard]] GpuTime total() const;
  [[nodiscard]] std::size_t causes() const { return entries_.size(); }

 private:
  std::vector<std::array<GpuTime, kUses>> entries_;
};

}  // namespace weft::twin
