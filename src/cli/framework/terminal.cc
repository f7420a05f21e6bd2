#include "cli/framework/terminal.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "cli/framework/help.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration): only some headers declare it

namespace weft::cli {
namespace {

constexpr std::size_t kMinWidth = 40;  // narrower tables are not legible
constexpr std::size_t kMaxWidth = 10'000;

std::size_t columns_of_environment(const Io& io) {
  const std::string text = io.environment("COLUMNS");
  std::size_t columns = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, columns);
  return problem == std::errc() && stop == end ? columns : 0;
}

// The inherited environment; less gets the options that git gives it unless the user has others: exit if everything
// fits on the screen, show colors, keep the screen at the end.
std::vector<std::string> pager_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) variables.emplace_back(*each);
  if (std::getenv("LESS") == nullptr) variables.emplace_back("LESS=FRX");  // NOLINT(concurrency-mt-unsafe)
  return variables;
}

// Ctrl-C is for the pager, which shares the terminal, until it has ended.
class IgnoredInterrupt {
 public:
  IgnoredInterrupt() : before_(std::signal(SIGINT, SIG_IGN)) {}
  IgnoredInterrupt(const IgnoredInterrupt&) = delete;
  IgnoredInterrupt& operator=(const IgnoredInterrupt&) = delete;
  IgnoredInterrupt(IgnoredInterrupt&&) = delete;
  IgnoredInterrupt& operator=(IgnoredInterrupt&&) = delete;
  ~IgnoredInterrupt() { (void)std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
};

// The process of `sh -c pager` with `input` as its standard input and the default signals, or an errno.
Result<pid_t> start_pager(std::string pager, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  (void)::posix_spawn_file_actions_init(&actions);
  (void)::posix_spawnattr_init(&attributes);
  (void)::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  sigset_t usual;
  (void)::sigemptyset(&usual);
  (void)::sigaddset(&usual, SIGPIPE);
  (void)::sigaddset(&usual, SIGINT);
  (void)::posix_spawnattr_setsigdefault(&attributes, &usual);
  (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  const std::array<char*, 4> arguments = {shell.data(), option.data(), pager.data(), nullptr};
  std::vector<std::string> variables = pager_environment();
  std::vector<char*> pointers;
  pointers.reserve(variables.size() + 1);
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  pid_t child = -1;
  const int problem = ::posix_spawn(&child, shell.c_str(), &actions, &attributes, arguments.data(), pointers.data());
  (void)::posix_spawn_file_actions_destroy(&actions);
  (void)::posix_spawnattr_destroy(&attributes);
  if (problem != 0) return file_error(problem, "cannot start the pager", pager);
  return child;
}

Status run_pager(const std::string& pager, std::string_view text) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "cannot start the pager", pager);
  FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  const IgnoredInterrupt ignored;
  const Result<pid_t> child = start_pager(pager, reader.get());
  if (!child.ok()) return child.error();
  (void)reader.close();
  (void)write_all(writer.get(), text);  // a pager that is left early closes the pipe, which is no error
  (void)writer.close();
  int outcome = 0;
  while (::waitpid(*child, &outcome, 0) < 0 && errno == EINTR) continue;
  constexpr int kNotFound = 127;
  if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == kNotFound)
    return Error{ErrorCode::not_found, "no such pager", pager};
  return {};
}

}  // namespace

std::size_t output_width(const Io& io) {
  std::size_t columns = columns_of_environment(io);
  if (columns == 0 && io.out_is_terminal) columns = io.columns;
  return columns == 0 ? 0 : std::clamp(columns, kMinWidth, kMaxWidth);
}

std::size_t help_width(const Io& io) {
  const std::size_t width = output_width(io);
  return width == 0 ? kMaxHelpWidth : std::min(width, kMaxHelpWidth);
}

void attach_terminal(Io& io) {
  winsize size{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): ioctl() has no other form
  if (io.out_is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    io.columns = size.ws_col;
    io.rows = size.ws_row;
  }
  io.page = run_pager;
}

std::string pager_of(const Io& io, const std::string& configured) {
  std::string pager = io.environment("WEFT_PAGER");
  if (pager.empty()) pager = configured;
  if (pager.empty()) pager = io.environment("PAGER");
  if (pager.empty()) pager = "less";
  return trim(pager) == "cat" ? std::string() : pager;
}

Status write_paged(const Io& io, std::string_view text, const std::string& pager) {
  const bool usable =
      io.out_is_terminal && io.rows > 0 && io.page && !pager.empty() && io.environment("TERM") != "dumb";
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (usable && lines >= io.rows && io.page(pager, text).ok()) return {};
  return io.write_out(text);
}

}  // namespace weft::cli
