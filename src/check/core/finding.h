// A finding of `weft check`: rule, subject, source location, message and fix. Independent of the output format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft::check {

struct Rule;

struct Finding {
  // A related location: the line that causes the finding, the far end of a link, a hop of a path.
  struct Related {
    SourceLocation place;  // may be unknown: then only `text` is shown
    std::string text;
  };
  const Rule* rule = nullptr;
  Severity severity = Severity::warning;
  std::string message;   // one line, lower case start, no full stop
  std::string subject;   // device, host range, pool, fabric or volume concerned; `suppress` matches it
  SourceLocation place;  // the line to change; unknown if no file sets it
  std::uint16_t length = 1;
  std::string fix;  // overrides the rule's fix
  std::vector<Related> related;
};

// 16 hex digits from the rule, the subject and the message; does not change when lines move.
[[nodiscard]] std::string fingerprint(const Finding& finding);

}  // namespace weft::check
