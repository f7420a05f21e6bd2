// Lines, words and options of plain-text configuration files of hosts, each with its location. Parses just enough shell
// syntax to split simple commands; runs and expands nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source.h"

namespace weft::config::host_text {

struct Line {
  std::string text;      // a backslash at the end of a line joins the next one
  SourceLocation place;  // of its first non-space character
};

// Non-empty lines. A line that starts with `comment` is skipped ('\0': none is).
[[nodiscard]] std::vector<Line> lines_of(const Sources& sources, FileId file, char comment);
// Every line as written, with continuations joined.
[[nodiscard]] std::vector<Line> lines_of(std::string_view text, FileId file);

// Removes one pair of surrounding quotes.
[[nodiscard]] std::string unquoted(std::string_view text);

// The simple commands of a shell line, as words without quotes; "> file" becomes the words ">" and the file. Comments
// are left out, as are words that only start a compound command (do, then, sudo, {).
using Command = std::vector<std::string>;
[[nodiscard]] std::vector<Command> commands_of(std::string_view line);
// Words of a line that is not shell: quotes and comments are recognized; &, |, ; and > are ordinary characters.
[[nodiscard]] Command quoted_words_of(std::string_view line);

// The value of an option in either form: "--trust=dscp", "--trust dscp", "-i ens1". Null if absent.
[[nodiscard]] const std::string* option(const Command& command, std::string_view name, std::string& storage);

// NAME=VALUE with a valid shell variable name; the first part is empty if the text is not an assignment.
[[nodiscard]] std::pair<std::string_view, std::string_view> assignment(std::string_view text);

}  // namespace weft::config::host_text
