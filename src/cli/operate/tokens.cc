// weft token, weft approval, weft audit: what the API has about access.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "access/audit/view.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/framework/paths.h"
#include "cli/operate/login_store.h"
#include "cli/operate/server_client.h"

namespace weft::cli {
namespace {

constexpr std::string_view kTokenStart = "weft_t_";

// The token of an answer, wherever it is in it; the prefix without the secret, which other answers show too, is not
// one.
std::string find_token(const nlohmann::json& value, int depth = 0) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const bool is_whole =
        text.starts_with(kTokenStart) && contains(std::string_view(text).substr(kTokenStart.size()), "_");
    return is_whole && is_valid_token(text) ? text : std::string();
  }
  if (!value.is_structured() || depth > 4) return {};
  for (const nlohmann::json& member : value) {
    if (std::string found = find_token(member, depth + 1); !found.empty()) return found;
  }
  return {};
}

Exit run_token_create(Context& context) {
  const Arguments& arguments = context.arguments();
  Value body = Value::map({{"name", arguments.word(0)}});
  static constexpr std::pair<const char*, const char*> kMembers[] = {
      {"expires", "expires_in"}, {"role", "role"}, {"tenant", "tenant"}, {"user", "user"}, {"groups", "groups"}};
  for (const auto& [option, member] : kMembers) {
    if (arguments.has(option)) body.set(member, arguments.value(option));
  }
  const ServerClient client(context);
  const Result<serve::HttpResponse> response = client.post("/tokens", write_json_line(body), new_idempotency_key());
  if (!response.ok()) return context.failed(response.error());
  if (context.output_format() == OutputFormat::json) return context.deliver(response->body);
  const std::string token = find_token(nlohmann::json::parse(response->body, nullptr, false));
  if (token.empty()) return context.failed({ErrorCode::internal, "the server's answer has no token", client.name()});
  context.note("the token is shown only now: store it where only its user can read it");
  return context.deliver(token + "\n");
}

// A name as a segment of a path; false after a usage error.
bool are_identifiers(Context& context, std::string_view what) {
  for (const std::string& word : context.arguments().words()) {
    const bool valid = !word.empty() && word.size() <= 100 && std::all_of(word.begin(), word.end(), [](char c) {
      return is_letter_or_digit(c) || c == '_' || c == '-';
    });
    if (valid) continue;
    (void)context.usage_error(fmt::format("{} is not the ID of {}", in_backticks(word), what));
    return false;
  }
  return true;
}

Exit run_token_revoke(Context& context) {
  if (!are_identifiers(context, "a token")) return Exit::usage;
  std::vector<std::string> tokens;
  for (const std::string& word : context.arguments().words()) {
    const bool has_prefix = word.starts_with(kTokenStart);
    const std::string rest = has_prefix ? word.substr(kTokenStart.size()) : word;
    tokens.push_back(rest.substr(0, rest.find('_')));  // never the secret of a whole token
  }
  return ServerClient(context).change_each("tokens", "token", tokens, "revoke");
}

Exit run_token_list(Context& context) { return ServerClient(context).show(target_of("/tokens")); }
Exit run_approval_list(Context& context) { return ServerClient(context).show(target_of("/approvals")); }

Exit run_approval_change(Context& context, std::string_view verb) {
  if (!are_identifiers(context, "an approval")) return Exit::usage;
  return ServerClient(context).change_each("approvals", "approval", context.arguments().words(), verb);
}
Exit run_approve(Context& context) { return run_approval_change(context, "approve"); }
Exit run_reject(Context& context) { return run_approval_change(context, "reject"); }

Exit run_audit_list(Context& context) {
  const Arguments& arguments = context.arguments();
  serve::Target target = target_of("/audit");
  for (const char* name : {"limit", "before", "actor", "operation", "object"}) {
    if (arguments.has(name)) target.query.emplace_back(name, arguments.value(name));
  }
  return ServerClient(context).show(target);
}

Command create_token_command() {
  Command command;
  command.name = "token create";
  command.summary = "Create a token for a program, such as a CI job";
  command.usage = "NAME [--expires TIME] [--role ROLE] [OPTIONS]";
  command.description = {
      "Prints the token on standard output, once: the server keeps only its hash. It may do what you may do, or less "
      "with --role. A program sends it as `Authorization: Bearer TOKEN`, or gives it to weft in WEFT_TOKEN."};
  command.examples = {
      {"weft token create ci --role user --tenant research --expires 30d", "For a CI job that submits jobs"},
      {"weft token create dashboard --role viewer > token", "For a program that only reads"}};
  command.arguments = {{.name = "NAME", .help = "what it is for"}};
  command.options = with_server_options(
      {{.name = "expires", .value = "TIME", .help = "valid for this time, at most 52w", .fallback = "30d"},
       {.name = "role",
        .value = "ROLE",
        .help = "restrict the token to this role",
        .fallback = "all of your roles",
        .choices = choices_named({"viewer", "user", "tenant-admin", "operator", "admin"})},
       {.name = "tenant", .value = "NAME", .help = "tenant of the role user or tenant-admin"},
       {.name = "user", .value = "NAME", .help = "create it for another user: admins only"},
       {.name = "groups", .value = "NAMES", .help = "comma-separated groups of that user: admins only"},
       output_option()});
  command.run = run_token_create;
  return command;
}

Exit run_audit_verify(Context& context) {
  std::string folder = absolute_path(context.arguments().word(0));
  std::error_code ignored;
  if (std::filesystem::is_directory(folder + "/audit", ignored)) folder += "/audit";
  const Result<access::AuditVerdict> verdict = access::verify_audit(folder);
  if (!verdict.ok()) return context.failed(verdict.error());
  return context.deliver(access::audit_verdict_view(*verdict), verdict->problems.empty() ? Exit::ok : Exit::findings);
}

}  // namespace

std::vector<Command> token_commands() {
  std::vector<Command> commands;
  commands.push_back(create_token_command());
  Command list;
  list.name = "token list";
  list.summary = "List tokens: name, user, roles, expiry, last use";
  list.usage = "[OPTIONS]";
  list.description = {"Your own tokens; an admin sees those of every user. A token itself is never shown again."};
  list.examples = {{"weft token list", "Which tokens are valid, and until when"}};
  list.options = with_server_options({output_option(), file_option()});
  list.run = run_token_list;
  list.group_default = true;
  commands.push_back(std::move(list));
  commands.push_back(change_command({.group = "token",
                                     .verb = "revoke",
                                     .summary = "Revoke tokens",
                                     .description = {"Requests with it fail from now on, and streams that use it end."},
                                     .example = {"weft token revoke k3v9x2m4q7w1", "A token that has leaked"},
                                     .objects = {.name = "ID", .help = "of the list: weft_t_ID", .repeatable = true},
                                     .reason_help = "why, for the audit log",
                                     .run = run_token_revoke}));
  return commands;
}

std::vector<Command> approval_commands() {
  std::vector<Command> commands;
  Command list;
  list.name = "approval list";
  list.summary = "List requests that wait for a second person";
  list.usage = "[OPTIONS]";
  list.description = {
      "Operations that the access file names under `second_person` are carried out when another operator has approved "
      "them."};
  list.examples = {{"weft approval list", "What waits, who asked for it, and why"}};
  list.options = with_server_options({output_option(), file_option()});
  list.run = run_approval_list;
  list.group_default = true;
  commands.push_back(std::move(list));
  const Argument ids{.name = "ID", .help = "of the list", .repeatable = true};
  commands.push_back(change_command({.group = "approval",
                                     .verb = "approve",
                                     .summary = "Approve requests of others, which are then carried out",
                                     .description = {"Read what it does first: `weft approval list -o wide`."},
                                     .example = {"weft approval approve 12", "The request is carried out now"},
                                     .objects = ids,
                                     .reason_help = "why, for the audit log",
                                     .run = run_approve}));
  commands.push_back(
      change_command({.group = "approval",
                      .verb = "reject",
                      .summary = "Reject requests of another person, or withdraw your own",
                      .description = {},
                      .example = {"weft approval reject 12 --reason 'wrong node'", "It is not carried out"},
                      .objects = ids,
                      .reason_help = "why, for the audit log",
                      .run = run_reject}));
  return commands;
}

std::vector<Command> audit_commands() {
  Command list;
  list.name = "audit list";
  list.summary = "List the audit log: who did what, from where, and why";
  list.usage = "[OPTIONS]";
  list.description = {"The newest entries first. Admins only."};
  list.examples = {{"weft audit list --actor ada --limit 20", "What ada did last"},
                   {"weft audit list --operation node.confirm-off -o ndjson", "For a report"}};
  list.options =
      with_server_options({{.name = "actor", .value = "NAME", .help = "only of this user"},
                           {.name = "operation", .value = "NAME", .help = "only this operation, such as node.drain"},
                           {.name = "object", .value = "NAME", .help = "only about this object, such as a node"},
                           {.name = "before", .value = "N", .help = "only entries before this number"},
                           {.name = "limit", .value = "N", .help = "maximum number of entries", .fallback = "100"},
                           output_option(),
                           file_option()});
  list.run = run_audit_list;
  list.group_default = true;
  Command verify;
  verify.name = "audit verify";
  verify.summary = "Verify that the audit log was not altered, cut or reordered";
  verify.usage = "DIR [OPTIONS]";
  verify.description = {
      "Reads the files of the log, not the server: run it on the server's host, as the server's user, or on a copy. "
      "Every entry has the SHA-256 hash of the one before it, and audit.head names the last one.",
      "The exit code is 1 if there is a problem. A user who can write the folder can also make a new, intact log: "
      "compare "
      "the last hash with what the log server has received."};
  verify.examples = {{"weft audit verify /var/lib/weft/pod16", "The log of a server, by its state directory"}};
  verify.arguments = {
      {.name = "DIR", .help = "state directory of the server, or the folder audit in it", .hint = Hint::file}};
  verify.options = {output_option(), file_option()};
  verify.run = run_audit_verify;
  return {std::move(list), std::move(verify)};
}

}  // namespace weft::cli
