// weft lease list, show, move: which engine owns which node.
#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "cli/operate/server_client.h"

namespace weft::cli {
namespace {

Exit run_list(Context& context) { return ServerClient(context).show(target_of("/leases")); }

Exit run_show(Context& context) {
  return ServerClient(context).show(target_of("/leases/" + context.arguments().word(0)));
}

Exit run_move(Context& context) {
  const Arguments& arguments = context.arguments();
  if (!arguments.has("to")) return context.usage_error("say to which engine: --to ENGINE");
  Value body = Value::map();
  body.set("nodes", join(arguments.words(), ",")).set("to", arguments.value("to"));
  if (arguments.has("preempt")) body.set("preempt", true);
  if (arguments.has("reason")) body.set("reason", arguments.value("reason"));
  return ServerClient(context).change("/leases/move", join(arguments.words(), ","), body);
}

Command list_leases_command() {
  Command command;
  command.name = "lease list";
  command.summary = "Show which engine owns which node";
  command.usage = "[OPTIONS]";
  command.description = {
      "For a server with two engines. A move that waits shows what it waits for, and after ten "
      "minutes what an operator can do. Nothing expires: a node changes its owner only when nothing "
      "runs there."};
  command.examples = {{"weft lease list", "Owners and moves under way"}, {"weft lease list --watch", "Follow a move"}};
  command.options = with_server_options({watch_option(), output_option(), file_option()});
  command.run = run_list;
  command.group_default = true;
  return command;
}

Command show_lease_command() {
  Command command;
  command.name = "lease show";
  command.summary = "Show the lease of a node";
  command.usage = "NODE [OPTIONS]";
  command.examples = {{"weft lease show train001", "Its owner, its epoch and the move under way"}};
  command.arguments = {{.name = "NODE", .help = "name of the node", .hint = Hint::server}};
  command.options = with_server_options({watch_option(), output_option(), file_option()});
  command.run = run_show;
  return command;
}

Command move_command() {
  Command command;
  command.name = "lease move";
  command.summary = "Move nodes to another engine";
  command.usage = "NODE... --to ENGINE [OPTIONS]";
  command.description = {
      "The old engine places nothing new there; its jobs run to their end, or with --preempt those of weft are stopped "
      "with a checkpoint. Then its gate closes, and when its scheduler lists no job, the node has no step or pod and "
      "no "
      "process holds a GPU, the gate of the new engine opens. Jobs of others are never stopped.",
      "Returns when the move has begun. A move back cancels it."};
  command.examples = {{"weft lease move 'train[001-004]' --to kubernetes", "When their jobs have ended"},
                      {"weft lease move train001 --to slurm --preempt --reason 'deadline'", "Stop the jobs of weft"}};
  command.arguments = {{.name = "NODE", .help = "names, or ranges of names", .hint = Hint::server, .repeatable = true}};
  command.options =
      with_server_options({{.name = "to", .value = "ENGINE", .help = "engine that gets the nodes: slurm or kubernetes"},
                           {.name = "preempt", .help = "stop the jobs of weft there, with a checkpoint where possible"},
                           reason_option("why, for the journal"),
                           output_option()});
  command.run = run_move;
  return command;
}

}  // namespace

std::vector<Command> lease_commands() {
  std::vector<Command> commands;
  commands.push_back(list_leases_command());
  commands.push_back(show_lease_command());
  commands.push_back(move_command());
  return commands;
}

}  // namespace weft::cli
