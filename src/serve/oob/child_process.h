// A child process that is stopped gently: on a deadline or a request to stop it gets SIGTERM, after a grace period
// SIGKILL. Its output is read to the end even beyond the limit, so that a full pipe cannot stop it in the middle of a
// change. Inherits no file descriptor, so that it does not keep the server's sockets open. base/process.h kills at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace weft::serve {

struct ChildRequest {
  std::vector<std::string> words;                                // an absolute path, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // nothing else is inherited
  Duration deadline = milliseconds(120'000);
  Duration grace = milliseconds(5'000);        // between SIGTERM and SIGKILL
  std::size_t max_output = 16U << 20U;         // of standard output; more is discarded
  std::function<bool()> stopped;               // polled
  std::function<void(std::string_view)> line;  // a line of standard error: printable, at most kMaxChildLine bytes
};
inline constexpr std::size_t kMaxChildLine = 1000;

enum class ChildEnd : std::uint8_t {
  exited,
  killed,    // by a signal that is not ours
  deadline,  // by ours, or it exited after it
  stopped
};

struct ChildOutcome {
  ChildEnd end = ChildEnd::exited;
  int code = 0;  // exit status; 128 + signal if killed by one
  std::string out;
  bool too_long = false;  // of `out`, the rest was discarded
};

// Blocks until the child has exited. An error if it could not be started. No process of its group is left.
[[nodiscard]] Result<ChildOutcome> run_child(const ChildRequest& request);

}  // namespace weft::serve
