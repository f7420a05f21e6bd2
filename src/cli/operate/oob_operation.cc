// weft oob operation: what the API's users do to devices out of band.
#include <string_view>

#include "base/utf8.h"
#include "cli/operate/oob_answer.h"
#include "cli/operate/oob_remote.h"
#include "oob/redfish/json.h"

namespace weft::cli {
namespace {

bool is_operation_id(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Exit run_operation(Context& context) {
  const std::string id = context.arguments().word(0);
  const bool lists = id.empty() || id == "list";
  if (!lists && !is_operation_id(id)) {
    return context.usage_error(in_backticks(id) + " is not the ID of an operation, which is 16 hexadecimal digits",
                               {"`weft oob operation` lists them"});
  }
  const ServerClient client(context);
  if (!lists) {
    // Following it waits for a server that restarts, but one that was never there is an error at once.
    if (const auto found = client.get(target_of("/oob/operations/" + id)); !found.ok())
      return context.failed(found.error());
    return follow_oob_operation(context, client, id);
  }
  const Result<serve::HttpResponse> response = client.get(target_of("/oob/operations"));
  if (!response.ok()) return context.failed(response.error());
  Result<Value> answer = oob::read_json_reply(response->body);
  if (!answer.ok()) return context.failed({ErrorCode::internal, answer.error().message, client.name()});
  answer->set("kind", "oob-operations");
  return deliver_json(context, *answer, Exit::ok);
}

}  // namespace

Command oob_operation_command() {
  Command command;
  command.name = "oob operation";
  command.summary = "List or follow out-of-band operations of a server";
  command.usage = "[ID] [OPTIONS]";
  command.description = {
      "Operations that a `weft serve --oob` began in the last day, the newest first. With ID, prints the progress of "
      "one "
      "until it has ended, then its result, and ends with its exit code."};
  command.examples = {{"weft oob operation --context prod", "What is being done, and by whom"},
                      {"weft oob operation 4f1c2a9d0b7e6835 --context prod", "Follow one until it has ended"}};
  command.arguments = {{.name = "ID", .help = "of the list", .required = false}};
  command.options = with_server_options({output_option(), file_option()});
  command.run = run_operation;
  return command;
}

}  // namespace weft::cli
