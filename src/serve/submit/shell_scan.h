// Simple commands of a shell script, with locations: also those in subshells, $(...) and after && or |. Expands
// nothing. Bodies of here-documents and arithmetic are skipped. Internal to serve/submit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace weft::serve {

struct ShellWord {
  std::string text;  // without quotes; expansions as written, $(...) as "$()"
  SourceLocation place;
  bool expands = false;  // its value is known only when it runs
};

struct ShellCommand {
  std::vector<ShellWord> words;  // without redirections, and without words such as `then` that only start a command
};

struct ShellScan {
  std::vector<ShellCommand> commands;
  std::vector<SourceLocation> unterminated;  // quotes without an end
};

// `text` is a whole file.
[[nodiscard]] ShellScan scan_shell(std::string_view text, FileId file);

// The index of the first word that is not NAME=value; words.size() if all are.
[[nodiscard]] std::size_t skip_assignments(const ShellCommand& command);

}  // namespace weft::serve
