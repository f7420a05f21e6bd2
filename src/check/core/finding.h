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
  // Another place that has a part in it: the line that decides, the far end, a hop of a path.
  struct Related {
    SourceLocation place;  // may be unknown: then only `text` is shown
    std::string text;
  };
  const Rule* rule = nullptr;
  Severity severity = Severity::warning;
  std::string message;   // one line, lower case start, no full stop
  std::string subject;   // device, host range, pool, fabric or volume it is about: what `suppress` matches
  SourceLocation place;  // the line to change; unknown when no file sets it
  std::uint16_t length = 1;
  std::string fix;  // overrides the rule's
  std::vector<Related> related;
};

// Stable over line moves: made of the rule, the subject and the message. 16 hex digits.
[[nodiscard]] std::string fingerprint(const Finding& finding);

}  // namespace weft::check
