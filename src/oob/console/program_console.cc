#include "oob/console/program_console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace weft::oob {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kGrace = 1000;  // milliseconds that a program has to exit by itself once its terminal is closed

class ProgramStream final : public ConsoleStream {
 public:
  ProgramStream(int terminal, pid_t child, std::string program, std::string device)
      : terminal_(terminal), child_(child), program_(std::move(program)), device_(std::move(device)) {}
  // Closing the terminal sends SIGHUP to the program; if it survives that and SIGTERM, its group is killed.
  ~ProgramStream() override {
    ::close(terminal_);
    if (!ended_) ::kill(-child_, SIGTERM);
    const auto end = Steady::now() + std::chrono::milliseconds(kGrace);
    while (!collect() && Steady::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(-child_, SIGKILL);  // also child processes that the program left in its group
    while (!collect()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  Result<std::string> read(Duration wait) override {
    pollfd ready{terminal_, POLLIN, 0};
    const auto limit = std::clamp<std::int64_t>(wait.count() / 1'000'000, 0, 3'600'000);
    if (::poll(&ready, 1, static_cast<int>(limit)) <= 0) return std::string();
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(terminal_, bytes.data(), bytes.size());
    if (got > 0) return std::string(bytes.data(), static_cast<std::size_t>(got));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::string();
    return gone();  // EIO: no process has the other side open
  }

  Status write(std::string_view text) override {
    const auto end = Steady::now() + std::chrono::seconds(10);
    while (!text.empty()) {
      const ssize_t put = ::write(terminal_, text.data(), text.size());
      if (put > 0) {
        text.remove_prefix(static_cast<std::size_t>(put));
        continue;
      }
      if (put < 0 && errno != EAGAIN && errno != EINTR) return gone();
      if (collect()) return gone();
      if (Steady::now() > end) return Error{ErrorCode::timeout, "the console accepts no more input", device_};
      pollfd ready{terminal_, POLLOUT, 0};
      (void)::poll(&ready, 1, 100);
    }
    return {};
  }

 private:
  bool collect() {
    if (!ended_ && ::waitpid(child_, &status_, WNOHANG) != 0) ended_ = true;
    return ended_;
  }
  Error gone() {
    const auto end = Steady::now() + std::chrono::milliseconds(200);  // it closes its terminal just before it exits
    while (!collect() && Steady::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::string how = "closed its terminal";
    if (ended_ && WIFEXITED(status_)) how = fmt::format("ended with status {}", WEXITSTATUS(status_));
    if (ended_ && WIFSIGNALED(status_)) how = fmt::format("was terminated by signal {}", WTERMSIG(status_));
    return {ErrorCode::unavailable, fmt::format("the console program '{}' {}", program_, how), device_};
  }

  int terminal_;
  pid_t child_;
  std::string program_;
  std::string device_;
  int status_ = 0;
  bool ended_ = false;
};

// In the child: only async-signal-safe calls, since the parent has threads.
[[noreturn]] void become(const char* terminal, char* const* words, int report) {
  ::setsid();
  const int side = ::open(terminal, O_RDWR);  // NOLINT(cppcoreguidelines-pro-type-vararg): without a terminal before,
                                              // it becomes the session's
  if (side >= 0) {
    ::ioctl(side, TIOCSCTTY, 0);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    ::dup2(side, STDIN_FILENO);
    ::dup2(side, STDOUT_FILENO);
    ::dup2(side, STDERR_FILENO);
    if (side > STDERR_FILENO) ::close(side);
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::execvp(words[0], words);
  }
  const int number = errno;
  (void)!::write(report, &number, sizeof number);
  ::_exit(127);
}

struct Terminal {
  int descriptor = -1;
  std::array<char, 128> other{};
};

Result<Terminal> open_terminal(const std::string& device) {
  Terminal terminal;
  terminal.descriptor = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal.descriptor < 0 || ::grantpt(terminal.descriptor) != 0 || ::unlockpt(terminal.descriptor) != 0 ||
      ::ptsname_r(terminal.descriptor, terminal.other.data(), terminal.other.size()) != 0) {
    const int number = errno;
    if (terminal.descriptor >= 0) ::close(terminal.descriptor);
    return Error{ErrorCode::unavailable,
                 fmt::format("no terminal for the console: {}", std::generic_category().message(number)), device};
  }
  // Raw mode: input is for the far end, and must be neither echoed nor turned into signals here.
  termios mode{};
  if (::tcgetattr(terminal.descriptor, &mode) == 0) {
    ::cfmakeraw(&mode);
    ::tcsetattr(terminal.descriptor, TCSANOW, &mode);
  }
  const winsize size{24, 80, 0, 0};
  ::ioctl(terminal.descriptor, TIOCSWINSZ, &size);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  return terminal;
}

}  // namespace

Result<std::unique_ptr<ConsoleStream>> open_program_console(const std::vector<std::string>& words,
                                                            const std::string& device) {
  if (words.empty() || words.front().empty()) {
    return Error{ErrorCode::invalid_input, "no console program is configured", device};
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): execvp
  }
  arguments.push_back(nullptr);
  const Result<Terminal> terminal = open_terminal(device);
  if (!terminal) return terminal.error();
  std::array<int, 2> report{-1, -1};
  pid_t child = -1;
  if (::pipe2(report.data(), O_CLOEXEC) == 0) child = ::fork();
  if (child == 0) become(terminal->other.data(), arguments.data(), report[1]);
  const int number = errno;
  if (report[1] >= 0) ::close(report[1]);
  if (child < 0) {
    if (report[0] >= 0) ::close(report[0]);
    ::close(terminal->descriptor);
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot start '{}': {}", words.front(), std::generic_category().message(number)), device};
  }
  int failed = 0;
  ssize_t told = 0;
  do {
    told = ::read(report[0], &failed, sizeof failed);  // returns when the program runs or failed to start
  } while (told < 0 && errno == EINTR);
  ::close(report[0]);
  if (told == static_cast<ssize_t>(sizeof failed)) {
    ::waitpid(child, nullptr, 0);
    ::close(terminal->descriptor);
    return Error{ErrorCode::not_found,
                 fmt::format("cannot start '{}': {}", words.front(), std::generic_category().message(failed)), device};
  }
  return std::unique_ptr<ConsoleStream>(
      std::make_unique<ProgramStream>(terminal->descriptor, child, words.front(), device));
}

}  // namespace weft::oob
