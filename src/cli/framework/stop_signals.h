// While it exists, the first SIGINT, SIGTERM or SIGHUP stops a clock, so that a command which works by that clock ends
// in an orderly way; the second one terminates the process. One at a time.
#pragma once

#include "oob/durable/clock.h"

namespace weft::cli {

class StopSignals {
 public:
  explicit StopSignals(oob::SystemClock& clock);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  StopSignals(StopSignals&&) = delete;
  StopSignals& operator=(StopSignals&&) = delete;
  ~StopSignals();
};

}  // namespace weft::cli
