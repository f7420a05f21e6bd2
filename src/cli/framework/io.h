// The environment of a command besides its arguments: three streams, environment variables, and whether output goes to
// a terminal. main.cc fills it with the process's own; tests with strings.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::cli {

// stdout carries the result, stderr all other messages.
struct Io {
  std::function<Status(std::string_view)> write_out;
  std::function<void(std::string_view)> write_err;
  std::function<std::string(const char*)> environment;  // "" when unset
  std::function<std::string()> today;                   // YYYY-MM-DD, UTC
  std::function<std::string()> read_line;  // of standard input, without its end; "" at the end; may be unset
  // Shows the text in the pager, a shell command; an error if it could not be started. May be unset.
  std::function<Status(const std::string& pager, std::string_view text)> page;
  std::size_t columns = 0;  // of the terminal at standard output; 0 if it is none
  std::size_t rows = 0;
  std::function<bool()> input_ended;  // whether read_line() has reached the end; may be unset
  // Whether what was written last had no reader any more (`| head`), which is no error; may be unset.
  std::function<bool()> output_ended;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

// `weft help exit-codes` explains each.
enum class Exit { ok = 0, findings = 1, usage = 2, partial = 3, refused = 4, unavailable = 5 };

}  // namespace weft::cli
