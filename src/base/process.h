// Runs a program with its arguments (never a shell), a time limit and a bound on what it may print. For the tools that
// weft leans on: credential helpers, ssh to a switch, commands of a runbook.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace weft {

struct ProcessRequest {
  std::vector<std::string> words{};  // the program (looked up in PATH) and its arguments
  std::string input{};               // given on its standard input, then the end of it
  Duration limit = milliseconds(30'000);
  std::size_t most_output = 16U << 20U;  // bytes of standard output kept; more ends the program
  std::vector<std::pair<std::string, std::string>> environment{};  // added to ours
  std::function<bool()> stopped{};                                 // asked now and then; true ends the program
};

struct ProcessOutcome {
  int code = 0;     // exit status; 128 + signal when one ended it
  std::string out;  // standard output
  std::string err;  // the last 4 KiB of standard error
};

// An error when it could not be started (not_found), ran too long (timeout), printed too much, or was stopped. The
// program runs in a process group of its own, and all of that group is gone when this returns.
[[nodiscard]] Result<ProcessOutcome> run_process(const ProcessRequest& request);

// Splits "ssh -p 2200 'a b'" into words as a shell would, without any expansion.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view text);

}  // namespace weft
