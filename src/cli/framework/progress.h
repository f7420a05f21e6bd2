// How far a simulation is, on one line of a terminal's standard error, and the way a user stops it: the first Ctrl-C
// ends the run where it is, so that what is known so far is printed; the second ends the process as usual.
#pragma once

#include <functional>
#include <string>

#include "cli/framework/io.h"
#include "netsim/sim/simulate.h"

namespace weft::cli {

// While one exists, SIGINT sets a flag instead of ending the process, once.
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
  using Clock = std::function<double()>;  // seconds since any moment

  // `label` stands at the start ("packet", "8MB"). Writes nothing unless `show`.
  SimProgressLine(Io& io, bool show, std::string label, Clock clock = {});
  ~SimProgressLine() override;

  bool on_progress(const netsim::SimProgress& progress) override;
  // Takes the line away.
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
