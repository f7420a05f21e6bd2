#include "cli/framework/stop_signals.h"

#include <csignal>

namespace weft::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
oob::SystemClock* stopped_by_signal = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void stop_clock(int signal) {
  if (stopped_by_signal != nullptr) stopped_by_signal->stop();
  (void)std::signal(signal, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals(oob::SystemClock& clock) {
  stopped_by_signal = &clock;
  for (const int signal : kSignals) (void)std::signal(signal, stop_clock);
}

StopSignals::~StopSignals() {
  for (const int signal : kSignals) (void)std::signal(signal, SIG_DFL);
  stopped_by_signal = nullptr;
}

}  // namespace weft::cli
