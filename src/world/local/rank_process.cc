#include "world/local/rank_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "world/local/process_table.h"

extern char** environ;

namespace weft::world {
namespace {

enum class StartStep : int { user, directory, execute };

struct StartProblem {
  StartStep step = StartStep::execute;
  int error = 0;
};

// The reading end does not block.
bool open_pipe(FileDescriptor& read_end, FileDescriptor& write_end) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  read_end = FileDescriptor(ends[0]);
  write_end = FileDescriptor(ends[1]);
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): execvp
  pointers.push_back(nullptr);
  return pointers;
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) (void)::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void fail(int problems, StartStep step, int error) {
  const StartProblem problem{step, error};
  (void)!::write(problems, &problem, sizeof problem);
  ::_exit(127);
}

std::string describe_problem(const StartProblem& problem, const PartPlan& part) {
  const std::string reason = std::generic_category().message(problem.error);
  switch (problem.step) {
    case StartStep::user:
      return fmt::format("cannot become user {}:{}: {}", part.uid, part.gid, reason);
    case StartStep::directory:
      return fmt::format("cannot enter the directory {}: {}", part.directory, reason);
    case StartStep::execute:
      break;
  }
  return fmt::format("cannot execute {}: {}", part.command.front(), reason);
}

}  // namespace

void RankProcess::run(const PartPlan& part, const UserAccount& account, int cgroup, int output, int problems) const {
  ::setpgid(0, 0);
  if (cgroup >= 0) (void)!::write(cgroup, "0", 1);  // without the cgroup it is found by its session and environment
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  reset_signals();
  ::umask(022);
  std::vector<std::string> environment = plan_.environment;
  const auto has = [&](std::string_view name) {
    for (const std::string& variable : environment) {
      if (variable.starts_with(name)) return true;
    }
    return false;
  };
  if (!has("HOME=")) environment.push_back("HOME=" + account.home);
  if (!has("USER=") && !account.name.empty()) environment.push_back("USER=" + account.name);
  if (const int error = become_user(account.name, part.uid, part.gid); error != 0)
    fail(problems, StartStep::user, error);
  const std::string& directory = part.directory.empty() ? account.home : part.directory;
  if (::chdir(directory.c_str()) != 0) {
    // The user database may name a home that does not exist; a directory that the job asks for must.
    if (!part.directory.empty() || ::chdir("/") != 0) fail(problems, StartStep::directory, errno);
  }
  const std::vector<char*> arguments = pointers_to(part.command);
  std::vector<char*> variables = pointers_to(environment);
  environ = variables.data();  // execvp() then uses the PATH of the job
  ::execvp(arguments.front(), arguments.data());
  fail(problems, StartStep::execute, errno);
}

int RankProcess::start(const PartPlan& part, const UserAccount& account, int cgroup) {
  FileDescriptor output;
  FileDescriptor problems;
  if (!open_pipe(output_, output) || !open_pipe(problems_, problems)) return errno;
  const pid_t child = ::fork();
  if (child == 0) run(part, account, cgroup, output.get(), problems.get());
  if (child < 0) return errno;
  pid_ = child;
  ::setpgid(child, child);  // as the child does itself: whichever comes first
  return 0;
}

void RankProcess::signal_group(int signal) const {
  // The pid cannot be reused before it is reaped, and its group not before all its processes have ended.
  if (is_running()) ::kill(-pid_, signal);
}

void RankProcess::signal_process(int signal) const {
  if (is_running()) ::kill(pid_, signal);
}

bool RankProcess::read_output() {
  std::array<char, 65536> piece{};
  for (int rounds = 0; output_.ok() && rounds < 16; ++rounds) {  // then it is the turn of the other ranks
    const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      output_.close();
      return false;
    }
    log_.append(std::string_view(piece.data(), static_cast<std::size_t>(got)));
  }
  return output_.ok();
}

void RankProcess::note_end(int status, const PartPlan& part) {
  ended_ = true;
  StartProblem problem;
  const bool not_started = ::read(problems_.get(), &problem, sizeof problem) == ssize_t{sizeof problem};
  problems_.close();
  if (WIFSIGNALED(status)) {
    code_ = 128 + WTERMSIG(status);
    text_ = fmt::format("killed by signal {} ({})", WTERMSIG(status), signal_name(WTERMSIG(status)));
  } else {
    code_ = WEXITSTATUS(status);
    if (not_started) {
      text_ = describe_problem(problem, part);
    } else if (code_ != 0) {
      text_ = fmt::format("exit status {}", code_);
    }
  }
}

void RankProcess::finish_log() {
  while (read_output()) {
  }
  output_.close();
  log_.finish();
}

}  // namespace weft::world
