// weft node list, show, drain, resume, confirm-off; weft queue.
#include <fmt/format.h>

#include "base/host_range.h"
#include "cli/operate/server_client.h"

namespace weft::cli {
namespace {

Exit run_list(Context& context) { return ServerClient(context).show(target_of("/nodes")); }

Exit run_show(Context& context) {
  return ServerClient(context).show(target_of("/nodes/" + context.arguments().word(0)));
}

Exit run_queue(Context& context) {
  serve::Target target = target_of("/queue");
  if (context.arguments().has("limit")) target.query.emplace_back("limit", context.arguments().value("limit"));
  return ServerClient(context).show(target);
}

Exit run_status(Context& context) { return ServerClient(context).show(target_of("/server")); }

Exit run_change(Context& context, std::string_view verb) {
  std::vector<std::string> nodes;
  for (const std::string& word : context.arguments().words()) {
    Result<std::vector<std::string>> names = expand_hosts(word);
    if (!names.ok()) return context.usage_error(names.error().text());
    nodes.insert(nodes.end(), names->begin(), names->end());
  }
  return ServerClient(context).change_each("nodes", "node", nodes, verb);
}

Exit run_drain(Context& context) { return run_change(context, "drain"); }
Exit run_resume(Context& context) { return run_change(context, "resume"); }
Exit run_confirm_off(Context& context) { return run_change(context, "confirm-off"); }

Command node_change(std::string_view verb, std::string summary, std::string description, Exit (*run)(Context&)) {
  return change_command(
      {.group = "node",
       .verb = verb,
       .summary = std::move(summary),
       .description = {std::move(description), "Only operators may do it: root, and the user that runs `weft serve`."},
       .example = {fmt::format("weft node {} 'gpu-[001-004]' --reason 'new firmware'", verb), "Four nodes"},
       .objects = {.name = "NODE", .help = "names, or ranges of names", .hint = Hint::server, .repeatable = true},
       .reason_help = "why, for the journal and for `weft node show`",
       .run = run});
}

}  // namespace

std::vector<Command> node_commands() {
  std::vector<Command> commands;
  Command list;
  list.name = "node list";
  list.summary = "List nodes: state, health, jobs";
  list.usage = "[OPTIONS]";
  list.examples = {{"weft node list -o json", "For scripts"}};
  list.options = with_server_options({watch_option(), output_option(), file_option()});
  list.run = run_list;
  list.group_default = true;
  commands.push_back(std::move(list));
  Command show;
  show.name = "node show";
  show.summary = "Show a node: health, jobs, drain, repair session";
  show.usage = "NODE [OPTIONS]";
  show.examples = {{"weft node show gpu-003", "Why it is out of service"}};
  show.arguments = {{.name = "NODE", .help = "name of the node", .hint = Hint::server}};
  show.options = with_server_options({watch_option(), output_option(), file_option()});
  show.run = run_show;
  commands.push_back(std::move(show));
  commands.push_back(node_change("drain", "Take nodes out of service after their jobs",
                                 "Running jobs continue; none starts there.", run_drain));
  commands.push_back(node_change("resume", "Return drained or repaired nodes to service",
                                 "A node that waits for an operator in a repair session is validated first.",
                                 run_resume));
  commands.push_back(node_change("confirm-off", "State that nodes are verified to be powered off",
                                 "Releases the jobs of a node that does not answer. Verify it first, at the power "
                                 "feed or the machine: if the node runs, its job runs twice. --reason says how it "
                                 "was verified.",
                                 run_confirm_off));
  for (Command& command : reservation_commands()) commands.push_back(std::move(command));
  return commands;
}

Command queue_command() {
  Command command;
  command.name = "queue";
  command.summary = "Show waiting jobs in order, quotas and fragmentation";
  command.usage = "[OPTIONS]";
  command.description = {
      "Each waiting job with its reason and expected start; use and borrowing of the tenants; how "
      "much of the idle capacity is fragmented."};
  command.examples = {{"weft queue --limit 50", "The first 50 jobs"}};
  command.options =
      with_server_options({{.name = "limit", .value = "N", .help = "maximum number of waiting jobs", .fallback = "20"},
                           watch_option(),
                           output_option(),
                           file_option()});
  command.run = run_queue;
  return command;
}

Command status_command() {
  Command command;
  command.name = "status";
  command.summary = "Show the control plane: journal, nodes, jobs, repair";
  command.usage = "[OPTIONS]";
  command.examples = {{"weft status", "Is it running, and is its journal durable"}};
  command.options = with_server_options({watch_option(), output_option(), file_option()});
  command.run = run_status;
  return command;
}

}  // namespace weft::cli
