// Lines, words and options of the plain-text files that hosts are configured with, each with its place. Knows shells
// just enough to take simple commands apart; it runs and expands nothing.
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
  SourceLocation place;  // of its first character that is not blank
};

// Lines that hold something. `comment` starts a remark where it stands first in a line ('\0': nowhere).
[[nodiscard]] std::vector<Line> lines_of(const Sources& sources, FileId file, char comment);
// Every line as it stands, joined ones too.
[[nodiscard]] std::vector<Line> lines_of(std::string_view text, FileId file);

// Without one pair of surrounding quotes.
[[nodiscard]] std::string unquoted(std::string_view text);

// The simple commands of a shell line, as words without quotes; "> file" gives the word ">" and the file. A remark is
// left out, and so are words that only start a compound (do, then, sudo, {).
using Command = std::vector<std::string>;
[[nodiscard]] std::vector<Command> commands_of(std::string_view line);
// Words of a line that no shell reads: quotes and remarks count, &, |, ; and > are letters.
[[nodiscard]] Command quoted_words_of(std::string_view line);

// The value of an option in either form: "--trust=dscp", "--trust dscp", "-i ens1". Null when it is not there.
[[nodiscard]] const std::string* option(const Command& command, std::string_view name, std::string& storage);

// NAME=VALUE with a name that a shell accepts; an empty first part when it is none.
[[nodiscard]] std::pair<std::string_view, std::string_view> assignment(std::string_view text);

}  // namespace weft::config::host_text
