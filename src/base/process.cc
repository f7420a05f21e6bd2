#include "base/process.h"

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
#include <cstring>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/text.h"

extern char** environ;

namespace weft {
namespace {

constexpr std::size_t kKeptErrors = 4096;  // bytes
constexpr int kPollMs = 50;                // longest delay until a stop request is noticed

class Pipe {
 public:
  [[nodiscard]] bool open() {
    std::array<int, 2> ends{-1, -1};
    const bool opened = ::pipe2(ends.data(), O_CLOEXEC) == 0;
    read_ = FileDescriptor(ends[0]);
    write_ = FileDescriptor(ends[1]);
    return opened;
  }
  [[nodiscard]] int read_end() const { return read_.get(); }
  [[nodiscard]] int write_end() const { return write_.get(); }
  void close_read() { read_.close(); }
  void close_write() { write_.close(); }

 private:
  FileDescriptor read_;
  FileDescriptor write_;
};

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void set_nonblocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

// The inherited environment, if it is wanted, preceded by the request's: getenv() returns the first match.
std::vector<std::string> environment_of(const ProcessRequest& request) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : request.environment) variables.push_back(fmt::format("{}={}", name, value));
  if (request.clean_environment) return variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable(*at);
    const std::string_view name = variable.substr(0, variable.find('='));
    const bool replaced = std::any_of(request.environment.begin(), request.environment.end(),
                                      [&](const auto& added) { return added.first == name; });
    if (!replaced) variables.emplace_back(variable);
  }
  return variables;
}

// Path of the program in a clean environment, "" if it is not in its PATH: posix_spawnp() looks in that of this
// process.
std::string find_program(const ProcessRequest& request) {
  const std::string& name = request.words.front();
  if (!request.clean_environment || name.find('/') != std::string::npos) return name;
  for (const auto& [variable, value] : request.environment) {
    if (variable != "PATH") continue;
    for (const std::string_view folder : split(value, ':')) {
      std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
      if (::access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return {};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

class Child {
 public:
  explicit Child(const ProcessRequest& request) : request_(request), to_write_(request.input) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  Status start() {
    if (request_.words.empty()) return Error{ErrorCode::invalid_input, "no program to run", {}};
    const std::string program = find_program(request_);
    if (program.empty()) return failure("cannot be run", ENOENT);
    if (!in_.open() || !out_.open() || !err_.open()) return failure("cannot create a pipe", errno);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in_.read_end(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out_.write_end(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_.write_end(), STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const std::vector<std::string> variables = environment_of(request_);
    const int problem = posix_spawnp(&pid_, program.c_str(), &actions, &attributes, pointers_to(request_.words).data(),
                                     pointers_to(variables).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (problem != 0) {
      pid_ = -1;
      return failure("cannot be run", problem);
    }
    in_.close_read();
    out_.close_write();
    err_.close_write();
    for (const int descriptor : {in_.write_end(), out_.read_end(), err_.read_end()}) set_nonblocking(descriptor);
    if (to_write_.empty()) in_.close_write();
    return {};
  }

  // Runs until the program has closed its outputs and exited, or must be killed.
  Result<ProcessOutcome> attend() {
    const std::int64_t deadline = now_ms() + request_.limit.count() / 1'000'000;
    while (out_.read_end() >= 0 || err_.read_end() >= 0 || !reaped()) {
      if (request_.stopped && request_.stopped()) return Error{ErrorCode::unavailable, "stopped", request_.words[0]};
      const std::int64_t left = deadline - now_ms();
      if (left <= 0)
        return Error{ErrorCode::timeout, fmt::format("took longer than {}", to_text(request_.limit)),
                     request_.words[0]};
      wait_for_data(static_cast<int>(std::min<std::int64_t>(left, kPollMs)));
      if (outcome_.out.size() > request_.most_output)
        return Error{ErrorCode::invalid_input, fmt::format("printed more than {} bytes", request_.most_output),
                     request_.words[0]};
    }
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] Error failure(std::string_view what, int number) const {
    const ErrorCode code = number == ENOENT || number == EACCES ? ErrorCode::not_found : ErrorCode::unavailable;
    return {code, fmt::format("{}: {}", what, std::generic_category().message(number)), request_.words[0]};
  }

  void wait_for_data(int wait_ms) {
    std::array<pollfd, 3> watched{
        {{in_.write_end(), POLLOUT, 0}, {out_.read_end(), POLLIN, 0}, {err_.read_end(), POLLIN, 0}}};
    // The outputs may be closed before the program exits.
    const bool quiet = out_.read_end() < 0 && err_.read_end() < 0;
    if (::poll(watched.data(), watched.size(), quiet ? std::min(wait_ms, 5) : wait_ms) <= 0) return;
    if (watched[0].revents != 0) write_input();
    if (watched[1].revents != 0) read_from(out_, outcome_.out);
    if (watched[2].revents != 0) {
      read_from(err_, outcome_.err);
      if (outcome_.err.size() > kKeptErrors) outcome_.err.erase(0, outcome_.err.size() - kKeptErrors);
    }
  }
  void write_input() {
    const ssize_t sent = ::write(in_.write_end(), to_write_.data(), to_write_.size());
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent > 0) to_write_.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 || to_write_.empty()) in_.close_write();  // a program that does not read its input is not an error
  }
  static void read_from(Pipe& pipe, std::string& to) {
    std::array<char, 16384> piece{};
    const ssize_t got = ::read(pipe.read_end(), piece.data(), piece.size());
    if (got > 0) to.append(piece.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) pipe.close_read();
  }
  bool reaped() {
    if (pid_ < 0) return true;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    outcome_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ::kill(-pid_, SIGKILL);  // remaining processes of its group
    pid_ = -1;
    return true;
  }
  void end() {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  const ProcessRequest& request_;
  std::string_view to_write_;
  Pipe in_;
  Pipe out_;
  Pipe err_;
  pid_t pid_ = -1;
  ProcessOutcome outcome_;
};

// Ignores SIGPIPE: otherwise a program that closes its input early would terminate weft.
class PipeSignalIgnored {
 public:
  PipeSignalIgnored() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  PipeSignalIgnored(const PipeSignalIgnored&) = delete;
  PipeSignalIgnored& operator=(const PipeSignalIgnored&) = delete;
  ~PipeSignalIgnored() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const timespec at_once{};
    while (sigtimedwait(&pipe, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

}  // namespace

Result<ProcessOutcome> run_process(const ProcessRequest& request) {
  const PipeSignalIgnored guard;
  Child child(request);
  if (const Status started = child.start(); !started.ok()) return started.error();
  return child.attend();
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return Error{ErrorCode::invalid_input, fmt::format("unterminated {}", quote), {}};
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace weft
