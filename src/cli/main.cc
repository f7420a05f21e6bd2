#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file_descriptor.h"
#include "cli/framework/run.h"
#include "cli/framework/terminal.h"
#include "cli/operate/server_client.h"
#include "world/local/helper_process.h"

namespace {

bool output_has_ended = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the process's output

// EPIPE (the reader closed the pipe) is not an error; everything else is.
weft::Status write_out(std::string_view text) {
  const int problem = weft::write_all(STDOUT_FILENO, text).error;
  output_has_ended = problem == EPIPE;
  if (problem == 0 || problem == EPIPE) return {};
  return weft::Error{weft::ErrorCode::unavailable, "cannot write: " + std::generic_category().message(problem),
                     "standard output"};
}

// If a standard stream is closed at start, the first file opened would get its descriptor and be overwritten. /dev/null
// opened in the opposite mode reserves the descriptor and still fails on use.
void fill_closed_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat info {};
    if (::fstat(descriptor, &info) == 0 || errno != EBADF) continue;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): open() has no other form
    if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) std::_Exit(EXIT_FAILURE);
  }
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  return value == nullptr ? std::string() : std::string(value);
}

bool input_has_ended = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the process's input

// Unbuffered, so that nothing after the line is taken.
std::string read_line() {
  constexpr std::size_t kMaxLine = 65'536;
  std::string line;
  char c = 0;
  while (line.size() < kMaxLine) {
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    input_has_ended = input_has_ended || count <= 0;
    if (count <= 0 || c == '\n') break;
    line += c;
  }
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (::gmtime_r(&now, &parts) == nullptr) return {};
  char text[16];
  return std::strftime(text, sizeof(text), "%Y-%m-%d", &parts) == 0 ? std::string() : std::string(text);
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  if (argc > 1 && weft::cli::kHelperCommand == argv[1]) return weft::world::run_helper({argv + 2, argv + argc});
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) return EXIT_FAILURE;  // write() then returns EPIPE
  weft::cli::Io io;
  io.write_out = write_out;
  io.write_err = [](std::string_view text) { (void)weft::write_all(STDERR_FILENO, text); };
  io.environment = environment;
  io.today = today;
  io.read_line = read_line;
  io.input_ended = [] { return input_has_ended; };
  io.output_ended = [] { return output_has_ended; };
  io.in_is_terminal = ::isatty(STDIN_FILENO) == 1;
  io.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  io.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  weft::cli::attach_terminal(io);
  try {
    return static_cast<int>(weft::cli::run_weft({argv + 1, argv + argc}, io));
  } catch (const std::bad_alloc&) {
    io.write_err("weft: out of memory\n");
  } catch (const std::exception& problem) {
    io.write_err(std::string("weft: internal error: ") + problem.what() + "\n");
  }
  return static_cast<int>(weft::cli::Exit::unavailable);
}
