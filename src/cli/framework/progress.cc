#include "cli/framework/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <utility>

#include "netsim/views/result_cells.h"

namespace weft::cli {
namespace {

constexpr double kInterval = 0.2;  // seconds between two updates
constexpr std::size_t kBar = 20;

// The only state that the signal handler may access.
volatile std::sig_atomic_t interrupt_seen = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
struct sigaction previous_action {};            // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void note_interrupt(int /*signal*/) { interrupt_seen = 1; }

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_seen = 0;
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second signal has the default action
  sigaction(SIGINT, &action, &previous_action);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &previous_action, nullptr); }

bool InterruptGuard::interrupted() { return interrupt_seen != 0; }

std::string progress_text(const std::string& label, const netsim::SimProgress& progress, double seconds) {
  const double part =
      progress.total == 0 ? 0 : std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.total));
  const auto filled = static_cast<std::size_t>(part * kBar);
  std::string text =
      fmt::format("{} [{}{}] {:3.0f} %  {} simulated", label, std::string(filled, '#'), std::string(kBar - filled, '.'),
                  std::floor(part * 100), format_fine_time(progress.now));
  if (seconds > 0) {
    const double rate = static_cast<double>(progress.events) / seconds;
    text +=
        rate >= 1e6 ? fmt::format(", {:.1f} M events/s", rate / 1e6) : fmt::format(", {:.0f} k events/s", rate / 1e3);
  }
  if (part > 0.01 && part < 1) {
    const double left = std::ceil(seconds * (1 - part) / part);
    text += left >= 100 ? fmt::format(", about {:.0f} min left", std::ceil(left / 60))
                        : fmt::format(", {:.0f} s left", left);
  }
  return text;
}

SimProgressLine::SimProgressLine(Io& io, bool show, std::string label, Clock clock)
    : io_(io), show_(show), label_(std::move(label)), clock_(clock ? std::move(clock) : Clock(steady_seconds)) {
  began_ = clock_();
  last_ = began_;
}

SimProgressLine::~SimProgressLine() { finish(); }

bool SimProgressLine::on_progress(const netsim::SimProgress& progress) {
  if (InterruptGuard::interrupted()) return false;
  if (!show_) return true;
  const double now = clock_();
  if (now - last_ < kInterval) return true;
  last_ = now;
  drawn_ = true;
  io_.write_err("\r\x1b[K" + progress_text(label_, progress, now - began_));
  return true;
}

void SimProgressLine::finish() {
  if (drawn_) io_.write_err("\r\x1b[K");
  drawn_ = false;
}

}  // namespace weft::cli
