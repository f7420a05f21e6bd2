// weft serve: runs the control plane of a cluster.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "base/human_format.h"
#include "cli/framework/option_reader.h"
#include "cli/operate/server_client.h"
#include "serve/daemon/daemon.h"

namespace weft::cli {
namespace {

Status make_directories(const std::string& path) {
  if (path.empty()) return {};
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (!problem) return {};
  return Error{ErrorCode::unavailable, "cannot be created: " + problem.message(), path};
}

// Paths are used by supervisors that outlive this process and its working directory.
std::string absolute(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path full = std::filesystem::absolute(path, problem);
  return problem ? path : full.lexically_normal().string();
}

std::string clock_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_utc_seconds(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

Exit run_serve(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  if (!context.report(*loaded)) return Exit::usage;
  OptionReader reader(context.arguments());
  const std::optional<Duration> start_timeout = reader.time("start-timeout");
  if (reader.ok() && start_timeout && start_timeout->count() <= 0) reader.bad("start-timeout", "must be above zero");
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  serve::ServeOptions options;
  if (start_timeout) options.start_timeout = *start_timeout;
  options.cluster = loaded->cluster;
  options.version = WEFT_VERSION;
  const std::string state = context.arguments().value("state");
  options.state_directory =
      absolute(state.empty() ? fmt::format("{}/{}", default_state_root(context.io()), loaded->cluster->name()) : state);
  std::string socket = context.arguments().value("socket");
  if (socket.empty()) socket = context.io().environment("WEFT_SOCKET");
  if (socket.empty()) socket = default_socket(context.io());
  options.socket_path = absolute(socket);
  options.cgroups = !context.arguments().has("no-cgroups");
  options.helper = {"/proc/self/exe", std::string(kHelperCommand)};
  options.log = [&](std::string_view text) { context.note(text); };
  if (context.verbose()) {
    options.events = [&](std::string_view text) { context.io().write_err(fmt::format("{} {}\n", clock_text(), text)); };
  }
  for (const std::string& path : {options.state_directory, options.socket_path}) {
    const Status made = make_directories(std::filesystem::path(path).parent_path().string());
    if (!made.ok()) return context.failed(made.error());
  }
  const Status ended = serve::run_server(options);
  if (!ended.ok()) {
    Exit code = context.failed(ended.error());
    return code == Exit::usage ? Exit::unavailable : code;
  }
  context.note("stopped; jobs continue to run, and the next `weft serve` finds them");
  return Exit::ok;
}

}  // namespace

Command serve_command() {
  Command command;
  command.name = "serve";
  command.summary = "Run the control plane of a cluster";
  command.usage = "CLUSTER [--state DIR] [OPTIONS]";
  command.description = {
      "Accepts jobs, places them on the nodes of the cluster file, starts them, restarts them from their last intact "
      "checkpoint when a node or a process fails, and repairs nodes within limits. It runs in the foreground until "
      "SIGTERM or SIGINT.",
      "Everything it decides is written to a journal before it acts. Killed at any moment, it continues from there: "
      "jobs run on without it, none is lost and none is started twice. If the journal is damaged it does not start.",
      "The engine `local` runs jobs as processes on this machine, one slot per node of the cluster file.",
      "Other commands reach it through a Unix socket. The kernel tells it who connects: root and its own user are "
      "operators; other users may submit jobs and change their own. To run jobs of other users it must run as root."};
  command.examples = {{"weft serve cluster.yaml", "Serve until Ctrl-C"},
                      {"weft serve cluster.yaml --state /srv/weft -v", "State elsewhere; print every event"}};
  command.arguments = {cluster_argument()};
  command.options = {{.name = "state",
                      .value = "DIR",
                      .help = "directory of the journal, the logs and the running jobs",
                      .fallback = "/var/lib/weft/NAME for root, else ~/.local/state/weft/NAME",
                      .hint = Hint::file},
                     {.name = "socket",
                      .value = "PATH",
                      .help = "socket to listen on",
                      .fallback = "$WEFT_SOCKET, /run/weft/weft.sock for root, else $XDG_RUNTIME_DIR/weft.sock",
                      .hint = Hint::file},
                     {.name = "start-timeout",
                      .value = "TIME",
                      .help = "an attempt that does not run on all its nodes by then is stopped and tried again",
                      .fallback = "2m"},
                     {.name = "no-cgroups", .help = "use process groups even where cgroups can be created"},
                     catalog_option()};
  command.run = run_serve;
  return command;
}

}  // namespace weft::cli
