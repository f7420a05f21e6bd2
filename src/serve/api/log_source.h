// Where the output of tasks comes from if the engine does not write it to files of weft: asked by the API, answered
// later, from the thread of the API. An answer may never come (the server ends); it must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "control/ids.h"
#include "serve/api/task_log.h"

namespace weft::serve {

struct LogRequest {
  control::AttemptName name;
  std::uint64_t task = 0;
  std::optional<LogPosition> after;  // nullopt: the end of the log
  std::size_t limit = 0;             // bytes
};

class LogSource {
 public:
  LogSource() = default;
  LogSource(const LogSource&) = delete;
  LogSource& operator=(const LogSource&) = delete;
  virtual ~LogSource() = default;

  // Errors: not_found (there is no output, and why), unavailable (too many requests, or the engine is not reached).
  virtual void read_log(const LogRequest& request, std::function<void(Result<LogPiece>)> answer) = 0;
};

}  // namespace weft::serve
