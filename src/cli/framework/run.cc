#include "cli/framework/run.h"

#include <fmt/format.h>

#include "cli/framework/context.h"
#include "cli/framework/help.h"
#include "cli/framework/parser.h"

namespace weft::cli {
namespace {

Exit print(Io& io, const std::string& text) {
  const Status written = io.write_out(text);
  if (written.ok()) return Exit::ok;
  io.write_err(fmt::format("weft: {}\n", written.error().text()));
  return exit_code_of(written.error().code);
}

Exit complain(Io& io, const ParsedLine& line) {
  std::string text = "weft";
  if (line.command != nullptr) text += " " + line.command->name;
  text += ": " + line.problem + "\n";
  for (const std::string& hint : line.hints) text += "  " + hint + "\n";
  if (line.command != nullptr) text += fmt::format("  `weft {} --help` for help\n", line.command->name);
  io.write_err(text);
  return Exit::usage;
}

}  // namespace

Exit run_weft(const std::vector<std::string>& words, Io& io) {
  const ParsedLine line = parse_line(words);
  const bool understood = line.problem.empty() || line.command != nullptr;
  if (line.wants_help && understood) {
    if (line.command != nullptr) return print(io, command_help(*line.command));
    return print(io, line.group.empty() ? main_help() : group_help(line.group));
  }
  if (line.wants_version && understood) return print(io, version_text());
  if (!line.problem.empty()) return complain(io, line);
  if (line.command == nullptr) return print(io, line.group.empty() ? main_help() : group_help(line.group));
  Context context(io, *line.command, line.arguments);
  const bool on_server = !line.arguments.server_option().empty();
  return on_server ? line.command->run_on_server(context) : line.command->run(context);
}

}  // namespace weft::cli
