#include "cli/framework/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "cli/framework/context.h"
#include "cli/framework/default_cluster.h"
#include "cli/framework/help.h"
#include "cli/framework/parser.h"
#include "cli/framework/terminal.h"
#include "cli/framework/user_config.h"

namespace weft::cli {
namespace {

Exit print(Io& io, const std::string& text, const std::string& pager) {
  const Status written = write_paged(io, text, pager);
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

// A broken configuration file must not keep anyone from working: commands that need its contexts report it.
UserDefaults read_defaults(Io& io) {
  const Result<UserConfig> config = load_user_config(user_config_path(io));
  if (config.ok()) return config->defaults.value;
  io.write_err("weft: warning: the defaults of the configuration file are not used\n" + config.error().text() + "\n");
  return {};
}

}  // namespace

Exit run_weft(const std::vector<std::string>& words, Io& io) {
  const UserDefaults defaults = read_defaults(io);
  DefaultCluster cluster;
  const ParsedLine line = parse_line(words, [&] {
    cluster = find_default_cluster(io, defaults);
    return cluster.path;
  });
  const std::size_t width = help_width(io);
  const bool paged = std::find(words.begin(), words.end(), "--no-pager") == words.end();
  const std::string pager = paged ? pager_of(io, defaults.pager.value) : std::string();
  const bool understood = line.problem.empty() || line.command != nullptr;
  if (line.wants_help && understood) {
    if (line.command != nullptr) return print(io, command_help(*line.command, width), pager);
    return print(io, line.group.empty() ? main_help(width) : group_help(line.group, width), pager);
  }
  if (line.wants_version && understood) return print(io, version_text(), {});
  if (!line.problem.empty()) return complain(io, line);
  if (line.command == nullptr)
    return print(io, line.group.empty() ? main_help(width) : group_help(line.group, width), pager);
  Context context(io, *line.command, line.arguments, defaults);
  if (line.default_cluster) context.use_default_cluster(std::move(cluster));
  const bool on_server = !line.arguments.server_option().empty();
  return on_server ? line.command->run_on_server(context) : line.command->run(context);
}

}  // namespace weft::cli
