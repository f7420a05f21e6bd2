// Request of the API for a command line of `weft oob` or `weft rescue`: the inverse of serve/oob/command_line.h, from
// the same table of verbs, so that a verb is described once. Values are not checked beyond their form: the server does
// that.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "cli/framework/context.h"
#include "serve/oob/command_line.h"
#include "serve/oob/verbs.h"

namespace weft::cli {

// What was given, without CLUSTER: the server has its own cluster file.
struct OobLine {
  std::vector<std::string> command;  // "oob", "power"
  std::vector<std::string> words;
  std::map<std::string, std::vector<std::string>, std::less<>> options;  // of a switch: one empty value
  std::string server_option;                                             // "server"; for messages
};
[[nodiscard]] OobLine read_oob_line(const Context& context);

// One verb, with the parameters given.
struct OobVerbCall {
  const serve::OobVerb* verb = nullptr;
  serve::OobValues values;

  // Below /api/v1, with the parameters in it.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool is_in_path(std::string_view parameter) const;
  // The members of the body.
  [[nodiscard]] Value body() const;
};
// Error: why no verb of the API does what the line says.
[[nodiscard]] Result<OobVerbCall> find_oob_verb_call(const OobLine& line);

}  // namespace weft::cli
