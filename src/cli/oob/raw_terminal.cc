#include "cli/oob/raw_terminal.h"

#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "base/check.h"

namespace weft::cli {
namespace {

constexpr std::array<int, 9> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// State for the signal handler; set before the handlers are installed.
struct Saved {
  int descriptor = -1;
  termios mode{};
  std::array<struct sigaction, kSignals.size()> before{};
};
Saved saved;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void bring_back() {
  if (saved.descriptor >= 0) (void)::tcsetattr(saved.descriptor, TCSANOW, &saved.mode);
}

// Restores the terminal, then runs the previous action of the signal.
extern "C" void restore_and_pass_on(int signal, siginfo_t* info, void* context) {
  const int number = errno;
  bring_back();
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != signal) continue;
    const struct sigaction& former = saved.before[i];
    if ((former.sa_flags & SA_SIGINFO) != 0) {  // such as a sanitizer's, which uses both arguments
      former.sa_sigaction(signal, info, context);
    } else if (former.sa_handler == SIG_IGN) {
      break;
    } else if (former.sa_handler == SIG_DFL) {
      (void)::sigaction(signal, &former, nullptr);
      (void)::raise(signal);
    } else {
      former.sa_handler(signal);
    }
  }
  errno = number;
}

}  // namespace

RawTerminal::RawTerminal(int descriptor) {
  CHECK(saved.descriptor < 0, "two raw terminals");
  if (::tcgetattr(descriptor, &saved.mode) != 0) return;
  termios raw = saved.mode;
  ::cfmakeraw(&raw);
  saved.descriptor = descriptor;
  struct sigaction action {};
  action.sa_sigaction = restore_and_pass_on;
  action.sa_flags = SA_SIGINFO;
  (void)::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)::sigaction(kSignals[i], &action, &saved.before[i]);
  ok_ = ::tcsetattr(descriptor, TCSADRAIN, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (saved.descriptor < 0) return;
  bring_back();
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)::sigaction(kSignals[i], &saved.before[i], nullptr);
  saved.descriptor = -1;
}

}  // namespace weft::cli
