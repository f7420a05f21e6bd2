// weft node reserve, unreserve, reservations: maintenance that the scheduler plans around.
#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "cli/operate/server_client.h"

namespace weft::cli {
namespace {

Exit run_reservations(Context& context) { return ServerClient(context).show(target_of("/reservations")); }

Exit run_reserve(Context& context) {
  const Arguments& arguments = context.arguments();
  if (!arguments.has("for")) return context.usage_error("say how long: --for TIME");
  Value body = Value::map();
  const std::vector<std::string> nodes(arguments.words().begin() + 1, arguments.words().end());
  body.set("name", arguments.word(0)).set("nodes", join(nodes, ",")).set("for", arguments.value("for"));
  for (const char* name : {"in", "reason"}) {
    if (arguments.has(name)) body.set(name, arguments.value(name));
  }
  return ServerClient(context).change("/reservations", "maintenance " + arguments.word(0), body);
}

Exit run_unreserve(Context& context) {
  const std::string name = context.arguments().word(0);
  return ServerClient(context).change("/reservations/" + name + "/remove", "maintenance " + name, Value::map());
}

Command reserve_command() {
  Command command;
  command.name = "node reserve";
  command.summary = "Reserve nodes for maintenance";
  command.usage = "NAME NODE... --for TIME [--in TIME] [OPTIONS]";
  command.description = {
      "No job starts on the nodes that could still run when the maintenance begins. Jobs that run then are preempted, "
      "with a checkpoint first; services are not, and keep their node. Afterwards the nodes return by themselves."};
  command.examples = {
      {"weft node reserve fw 'gpu-[001-004]' --in 2h --for 1h --reason 'new firmware'", "In two hours"}};
  command.arguments = {{.name = "NAME", .help = "name of the reservation"},
                       {.name = "NODE", .help = "names, or ranges of names", .hint = Hint::server, .repeatable = true}};
  command.options =
      with_server_options({{.name = "in", .value = "TIME", .help = "begins after this time", .fallback = "0s"},
                           {.name = "for", .value = "TIME", .help = "duration"},
                           reason_option("why, for the journal"),
                           output_option()});
  command.run = run_reserve;
  return command;
}

Command unreserve_command() {
  Command command;
  command.name = "node unreserve";
  command.summary = "End or withdraw a reservation for maintenance";
  command.usage = "NAME [OPTIONS]";
  command.examples = {{"weft node unreserve fw", "The nodes return to service"}};
  command.arguments = {{.name = "NAME", .help = "name of the reservation"}};
  command.options = with_server_options({output_option()});
  command.run = run_unreserve;
  return command;
}

Command reservations_command() {
  Command command;
  command.name = "node reservations";
  command.summary = "List reservations for maintenance";
  command.usage = "[OPTIONS]";
  command.examples = {{"weft node reservations", "What is planned"}};
  command.options = with_server_options({watch_option(), output_option(), file_option()});
  command.run = run_reservations;
  return command;
}

}  // namespace

std::vector<Command> reservation_commands() {
  std::vector<Command> commands;
  commands.push_back(reserve_command());
  commands.push_back(unreserve_command());
  commands.push_back(reservations_command());
  return commands;
}

}  // namespace weft::cli
