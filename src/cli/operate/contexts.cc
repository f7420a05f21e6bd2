// weft context list, use, show, remove: the servers of the user's configuration file.
#include <fmt/format.h>

#include "base/utf8.h"
#include "cli/operate/login_store.h"
#include "cli/operate/server_endpoint.h"

namespace weft::cli {
namespace {

std::string trust_of(const ServerContext& context) {
  if (context.socket.has_value()) return "socket permissions";
  if (context.fingerprint.has_value()) return *context.fingerprint;
  return context.ca.has_value() ? "CA " + *context.ca : "CAs of the system";
}

// Who is signed in there; empty: no user. A file of credentials that cannot be read does not matter here.
std::string user_of(const Io& io, const std::string& name, const ServerContext& context) {
  if (!context.server.has_value()) return {};
  const Result<std::optional<Login>> login = LoginStore(login_store_path(io)).find(name, *context.server);
  if (!login.ok() || !*login) return {};
  return (*login)->user.empty() ? "token" : printable((*login)->user, 100);
}

Cell text_or_nothing(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

Exit run_list(Context& context) {
  const Result<UserConfig> config = load_user_config(user_config_path(context.io()));
  if (!config.ok()) return context.failed(config.error());
  Document document;
  document.kind = "contexts";
  TableSection table{"contexts", "", {}, {}};
  table.columns = {{"current", "Current"},
                   {"context", "Context"},
                   {"server", "Server"},
                   {"user", "User"},
                   {"trust", "Trust", Column::Align::left, true}};
  for (const auto& [name, given] : config->contexts.value) {
    const bool is_current = config->current.value == name;
    table.rows.push_back({Cell(is_current), name, given->server.has_value() ? *given->server : *given->socket,
                          text_or_nothing(user_of(context.io(), name, *given)), trust_of(*given)});
    table.rows.back().front().shown = is_current ? "*" : " ";
  }
  if (table.rows.empty()) document.notes.emplace_back("There is no context: `weft login URL` adds one.");
  document.sections.emplace_back(std::move(table));
  return context.deliver(document);
}

// The context of the command line, or the current one; null after an error.
const ServerContext* find_named(Context& context, const UserConfig& config, std::string& name) {
  name = context.arguments().word(0);
  if (name.empty()) name = config.current.value;
  if (name.empty()) {
    (void)context.failed({ErrorCode::not_found, "there is no current context: name one", {}});
    return nullptr;
  }
  const ServerContext* found = config.find(name);
  if (found == nullptr) {
    (void)context.failed({ErrorCode::not_found,
                          fmt::format("there is no context {}: `weft context list` shows them", in_backticks(name)),
                          {}});
  }
  return found;
}

Exit run_show(Context& context) {
  const std::string path = user_config_path(context.io());
  const Result<UserConfig> config = load_user_config(path);
  if (!config.ok()) return context.failed(config.error());
  std::string name;
  const ServerContext* found = find_named(context, *config, name);
  if (found == nullptr) return Exit::usage;
  Document document;
  document.kind = "context";
  FactsSection facts{"context", "", {}};
  facts.facts = {
      {"context", "Context", name},
      {"server", "Server", text_or_nothing(*found->server)},
      {"socket", "Socket", text_or_nothing(*found->socket)},
      {"ca", "CA", text_or_nothing(*found->ca)},
      {"fingerprint", "Fingerprint", text_or_nothing(*found->fingerprint)},
      {"user", "Signed in as", text_or_nothing(user_of(context.io(), name, *found))},
      {"current", "Current", Cell(config->current.value == name, config->current.value == name ? "yes" : "no")},
      {"file", "File", path}};
  document.sections.emplace_back(std::move(facts));
  return context.deliver(document);
}

Exit run_use(Context& context) {
  const std::string name = context.arguments().word(0);
  const Status changed = change_user_config(user_config_path(context.io()), [&](UserConfig& config) -> Status {
    if (config.find(name) == nullptr)
      return Error{ErrorCode::not_found,
                   fmt::format("there is no context {}: `weft context list` shows them", in_backticks(name)),
                   {}};
    config.current = name;
    return {};
  });
  if (!changed.ok()) return context.failed(changed.error());
  return context.deliver(fmt::format("current context: {}\n", name));
}

Exit run_remove(Context& context) {
  const std::string name = context.arguments().word(0);
  const Status changed = change_user_config(user_config_path(context.io()), [&](UserConfig& config) -> Status {
    if (config.remove(name)) return {};
    return Error{ErrorCode::not_found,
                 fmt::format("there is no context {}: `weft context list` shows them", in_backticks(name)),
                 {}};
  });
  if (!changed.ok()) return context.failed(changed.error());
  const std::string logins = login_store_path(context.io());
  if (!logins.empty()) {
    const Result<bool> removed = LoginStore(logins).remove(name);
    if (!removed.ok()) return context.failed(removed.error());
    if (*removed) context.note("its tokens were removed here, and stay valid on the server until they expire");
  }
  return context.deliver(fmt::format("removed context {}\n", name));
}

Argument name_argument(bool required) {
  return {.name = "NAME",
          .help = required ? "name of the context" : "name of the context [default: the current one]",
          .required = required};
}

}  // namespace

std::vector<Command> context_commands() {
  std::vector<Command> commands;
  Command list;
  list.name = "context list";
  list.summary = "List the servers of your configuration file";
  list.usage = "[OPTIONS]";
  list.description = {
      "A context is a server with a name: its URL, the CA or the fingerprint that proves it, and your login there. "
      "They "
      "are in ~/.config/weft/config.yaml; `weft login URL` adds one."};
  list.examples = {{"weft context list", "Servers, and which one commands use"}};
  list.options = {output_option(), file_option()};
  list.run = run_list;
  list.group_default = true;
  commands.push_back(std::move(list));
  Command use;
  use.name = "context use";
  use.summary = "Choose the server that commands use";
  use.usage = "NAME";
  use.description = {"--server, --context, --socket and their environment variables take precedence."};
  use.examples = {{"weft context use prod", "From now on, `weft job list` lists the jobs of prod"}};
  use.arguments = {name_argument(true)};
  use.run = run_use;
  commands.push_back(std::move(use));
  Command show;
  show.name = "context show";
  show.summary = "Show a context: server, certificate, user";
  show.usage = "[NAME] [OPTIONS]";
  show.examples = {{"weft context show prod", "How prod proves which server it is"}};
  show.arguments = {name_argument(false)};
  show.options = {output_option(), file_option()};
  show.run = run_show;
  commands.push_back(std::move(show));
  Command remove;
  remove.name = "context remove";
  remove.summary = "Remove a context and its tokens from this machine";
  remove.usage = "NAME";
  remove.description = {"`weft logout --context NAME` before it also ends the login on the server."};
  remove.examples = {{"weft context remove lab", "Forget the server of the lab"}};
  remove.arguments = {name_argument(true)};
  remove.run = run_remove;
  commands.push_back(std::move(remove));
  return commands;
}

}  // namespace weft::cli
