#include "serve/oob/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

constexpr int kPollMs = 20;
constexpr std::int64_t kDrainMs = 1'000;  // for output that a killed process left in the pipe

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct ReadPipe {
  FileDescriptor read;
  FileDescriptor write;

  [[nodiscard]] bool open() {
    std::array<int, 2> ends{-1, -1};
    const bool opened = ::pipe2(ends.data(), O_CLOEXEC) == 0;
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
    return opened && ::fcntl(read.get(), F_SETFL, O_NONBLOCK) == 0;  // NOLINT(cppcoreguidelines-pro-type-vararg)
  }
};

// Attributes and file actions of posix_spawn().
class SpawnPlan {
 public:
  SpawnPlan(const ReadPipe& out, const ReadPipe& err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, err.write.get(), STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int signal : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&usual, signal);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  [[nodiscard]] int spawn(pid_t& pid, const std::vector<std::string>& words,
                          const std::vector<std::string>& variables) const {
    return posix_spawn(&pid, words.front().c_str(), &actions_, &attributes_, pointers_to(words).data(),
                       pointers_to(variables).data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

class ChildProcess {
 public:
  explicit ChildProcess(const ChildRequest& request) : request_(request) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  Status start() {
    if (request_.words.empty() || !request_.words.front().starts_with('/'))
      return Error{ErrorCode::invalid_input, "the program is not an absolute path", {}};
    if (!out_.open() || !err_.open()) return failure("cannot create a pipe", errno);
    std::vector<std::string> variables;
    variables.reserve(request_.environment.size());
    for (const auto& [name, value] : request_.environment) variables.push_back(fmt::format("{}={}", name, value));
    const int problem = SpawnPlan(out_, err_).spawn(pid_, request_.words, variables);
    if (problem != 0) {
      pid_ = -1;
      return failure("cannot be run", problem);
    }
    out_.write.close();
    err_.write.close();
    deadline_ = now_ms() + request_.deadline.count() / 1'000'000;
    return {};
  }

  ChildOutcome attend() {
    while (pid_ >= 0) {
      wait_for_data(kPollMs);
      reap();
      if (pid_ >= 0) enforce();
    }
    // What it wrote before it exited. The group is dead; a process that left the group may still hold the pipe.
    const std::int64_t end = now_ms() + kDrainMs;
    while ((out_.read.ok() || err_.read.ok()) && now_ms() < end) wait_for_data(kPollMs);
    if (!line_.empty()) tell_line();
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] Error failure(std::string_view what, int number) const {
    const ErrorCode code = number == ENOENT || number == EACCES ? ErrorCode::not_found : ErrorCode::unavailable;
    return {code, fmt::format("{}: {}", what, std::generic_category().message(number)), request_.words[0]};
  }

  void wait_for_data(int wait_ms) {
    // poll() skips negative descriptors.
    std::array<pollfd, 2> watched{{{out_.read.get(), POLLIN, 0}, {err_.read.get(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), wait_ms) <= 0) return;
    if (watched[0].revents != 0) read_from(out_, [this](std::string_view bytes) { add_output(bytes); });
    if (watched[1].revents != 0) read_from(err_, [this](std::string_view bytes) { add_errors(bytes); });
  }

  template <class Add>
  static void read_from(ReadPipe& pipe, const Add& add) {
    std::array<char, 65536> piece{};
    const ssize_t got = ::read(pipe.read.get(), piece.data(), piece.size());
    if (got > 0) add(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) pipe.read.close();
  }

  void add_output(std::string_view bytes) {
    const std::size_t space = request_.max_output - outcome_.out.size();
    if (bytes.size() > space) outcome_.too_long = true;
    outcome_.out.append(bytes.substr(0, space));
  }

  void add_errors(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n' || c == '\r') {
        if (!line_.empty()) tell_line();
      } else if (line_.size() < kMaxChildLine) {
        line_ += c;
      }
    }
  }
  void tell_line() {
    if (request_.line) request_.line(printable(line_));
    line_.clear();
  }

  void reap() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
    outcome_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFSIGNALED(status) && outcome_.end == ChildEnd::exited) outcome_.end = ChildEnd::killed;
    ::kill(-pid_, SIGKILL);
    pid_ = -1;
  }

  void enforce() {
    const std::int64_t now = now_ms();
    if (outcome_.end == ChildEnd::exited) {
      if (request_.stopped && request_.stopped()) {
        outcome_.end = ChildEnd::stopped;
      } else if (now >= deadline_) {
        outcome_.end = ChildEnd::deadline;
      } else {
        return;
      }
      ::kill(pid_, SIGTERM);  // its own children finish what they do: an orderly stop
      kill_at_ = now + request_.grace.count() / 1'000'000;
    } else if (now >= kill_at_) {
      ::kill(-pid_, SIGKILL);
    }
  }

  const ChildRequest& request_;
  ReadPipe out_;
  ReadPipe err_;
  pid_t pid_ = -1;
  std::int64_t deadline_ = 0;
  std::int64_t kill_at_ = 0;
  std::string line_;
  ChildOutcome outcome_;
};

}  // namespace

Result<ChildOutcome> run_child(const ChildRequest& request) {
  ChildProcess child(request);
  if (const Status started = child.start(); !started.ok()) return started.error();
  return child.attend();
}

}  // namespace weft::serve
