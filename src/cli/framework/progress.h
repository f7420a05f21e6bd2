// Progress of a simulation, on one line of a terminal's standard error, and its interruption: the first Ctrl-C stops
// the run and prints the results so far; the second ends the process as usual.
#pragma once

#include <functional>
#include <string>

#include "cli/framework/io.h"
#include "netsim/sim/simulate.h"

namespace weft::cli {

// While one exists, the first SIGINT sets a flag instead of ending the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] static bool interrupted();
};

class SimProgressLine final : public netsim::SimMonitor {
 public:
  using Clock = std::function<double()>;  // seconds since any epoch

  // `label` is the start of the line ("packet", "8MB"). Writes nothing unless `show`.
  SimProgressLine(Io& io, bool show, std::string label, Clock clock = {});
  ~SimProgressLine() override;

  bool on_progress(const netsim::SimProgress& progress) override;
  // Clears the line.
  void finish();
  // Since construction.
  [[nodiscard]] double seconds() const { return clock_() - began_; }

 private:
  Io& io_;
  bool show_;
  std::string label_;
  Clock clock_;
  double began_ = 0;
  double last_ = 0;
  bool drawn_ = false;
};

// "packet [######..............]  31 %  1.234 ms simulated, 15.2 M events/s, 4 s left"
[[nodiscard]] std::string progress_text(const std::string& label, const netsim::SimProgress& progress, double seconds);

}  // namespace weft::cli
