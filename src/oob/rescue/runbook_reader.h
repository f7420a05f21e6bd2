// Parses the parts of a runbook from a YAML tree and reports problems with their location. Private to read_runbook().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "oob/rescue/runbook_file.h"

namespace weft::oob {

class RunbookReader {
 public:
  explicit RunbookReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void read(const YamlNode& root, Runbook& book);

 private:
  // Small readers: each reports an invalid value and returns a harmless default.
  void error(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1);
  [[nodiscard]] bool mapping(const YamlNode& node, std::string_view what, const std::vector<std::string_view>& allowed);
  [[nodiscard]] std::string text(const YamlNode& node, std::string_view what);
  [[nodiscard]] std::string required_text(const YamlNode& map, std::string_view key, std::string_view what);
  [[nodiscard]] std::string optional_text(const YamlNode& map, std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(const YamlNode& node, std::string_view what);
  [[nodiscard]] std::vector<std::string> words(const YamlNode& node);
  [[nodiscard]] bool truth(const YamlNode& node, std::string_view what);
  [[nodiscard]] int integer(const YamlNode& node, std::string_view what, int low, int high);
  [[nodiscard]] std::string duration(const YamlNode& node);
  [[nodiscard]] std::string pattern(const YamlNode& node);
  [[nodiscard]] std::string name(const YamlNode& node, std::string_view what);
  // Index of the word in `choices`, 0 after an error.
  [[nodiscard]] std::size_t choice(const YamlNode& node, std::string_view what,
                                   const std::vector<std::string_view>& choices);
  void placeholders(const YamlNode& node, const std::string& text);

  void read_parameters(const YamlNode& node, Runbook& book);
  void read_parameter(const YamlNode& node, Runbook& book);
  void read_steps(const YamlNode& node, Runbook& book);
  void read_step(const YamlNode& node, Runbook& book);
  void read_needs(const YamlNode& node, RunbookStep& step);
  void read_back(const YamlNode& node, RunbookStep& step);
  void judge_danger(const YamlNode& node, RunbookStep& step);
  void judge_limits(const YamlNode& node, const RunbookStep& step);
  void judge_references(const RunbookStep& step);
  [[nodiscard]] RunbookAction read_action(const YamlNode& node);
  void read_power(const YamlNode& value, RunbookAction& action);
  void read_console(const YamlNode& value, RunbookAction& action);
  void read_run(const YamlNode& value, RunbookAction& action);
  void read_restore(const YamlNode& value, RunbookAction& action);
  [[nodiscard]] std::string backup_named(const YamlNode& map, std::string_view what);
  [[nodiscard]] std::string hosts_of(const YamlNode& value, std::string_view what);
  [[nodiscard]] std::vector<RunbookCheck> read_checks(const YamlNode& node, std::string_view what);
  [[nodiscard]] RunbookCheck read_check(const YamlNode& node);
  void read_hosts_check(const YamlNode& value, RunbookCheck& check);
  void read_command(const YamlNode& value, RunbookCheck& check);
  void read_console_check(const YamlNode& value, RunbookCheck& check);
  void read_port(const YamlNode& value, RunbookCheck& check);
  void read_step_check(const YamlNode& value, RunbookCheck& check);
  // A step may refer only to earlier steps.
  [[nodiscard]] std::string earlier_step(const YamlNode& node, std::string_view what);

  Diagnostics& diagnostics_;
  std::map<std::string, RunbookKind, std::less<>> parameters_;
  std::map<std::string, RunbookDo, std::less<>> steps_;  // parsed so far
  std::string current_;                                  // the step that is being parsed
};

}  // namespace weft::oob
