// Runs a program with its arguments (never through a shell), with a timeout and a limit on its output. For the external
// tools that weft needs: credential helpers, ssh to a switch, commands of a runbook.
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
  std::string input{};               // written to its standard input, which is then closed
  Duration limit = milliseconds(30'000);
  std::size_t most_output = 16U << 20U;  // limit on standard output in bytes; the program is killed beyond it
  std::vector<std::pair<std::string, std::string>> environment{};  // added to the inherited environment
  bool clean_environment = false;   // nothing is inherited; the program is looked up in PATH of `environment`
  std::function<bool()> stopped{};  // polled regularly; the program is killed once it returns true
};

struct ProcessOutcome {
  int code = 0;     // exit status; 128 + signal if killed by one
  std::string out;  // standard output
  std::string err;  // the last 4 KiB of standard error
};

// Returns an error if the program could not be started (not_found), timed out (timeout), exceeded the output limit or
// was stopped. It runs in its own process group; no process of that group is left when this returns.
[[nodiscard]] Result<ProcessOutcome> run_process(const ProcessRequest& request);

// Splits "ssh -p 2200 'a b'" into words as a shell would, without any expansion.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view text);

}  // namespace weft
