// Parses a command line into a command and its arguments. Options may appear anywhere before "--"; the value of a long
// one is --name VALUE or --name=VALUE, that of a short one -n VALUE or -nVALUE, and switches may share a dash.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/command.h"

namespace weft::cli {

class Arguments {
 public:
  // Whether the option was given. Querying one that the command does not have is a bug.
  [[nodiscard]] bool has(std::string_view option) const { return !values(option).empty(); }
  // The last value given, or "".
  [[nodiscard]] std::string value(std::string_view option) const;
  // Every value given, in order; a switch counts as one empty value.
  [[nodiscard]] const std::vector<std::string>& values(std::string_view option) const;
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  // Which of --server, --context and --socket was given; "" if none, or if it is not about the API.
  [[nodiscard]] std::string_view server_option() const;
  // The n-th positional argument, or "".
  [[nodiscard]] std::string word(std::size_t n) const { return n < words_.size() ? words_[n] : std::string(); }

 private:
  friend class LineParser;
  const Command* command_ = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> words_;
};

struct ParsedLine {
  const Command* command = nullptr;  // null when no command was named
  std::string group;                 // the group that was named without a command and has no default
  Arguments arguments;
  bool default_cluster = false;  // the cluster file is the default one, inserted into the arguments
  bool wants_help = false;
  bool wants_version = false;
  std::string problem;             // what is wrong with the line; the rest is filled as far as it was parsed
  std::vector<std::string> hints;  // "did you mean ...?"
};

// The path of the default cluster file, or "": asked for only where a command needs one.
using FindCluster = std::function<std::string()>;

[[nodiscard]] ParsedLine parse_line(const std::vector<std::string>& words, const FindCluster& find_cluster = {});

}  // namespace weft::cli
