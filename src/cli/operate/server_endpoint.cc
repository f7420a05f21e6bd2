#include "cli/operate/server_endpoint.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/operate/login_store.h"

namespace weft::cli {
namespace {

constexpr std::string_view kSystemSocket = "/run/weft/weft.sock";
constexpr const char* kSection = "Server";

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

std::string user_socket(const Io& io) {
  const std::string runtime = io.environment("XDG_RUNTIME_DIR");
  return runtime.empty() ? default_state_root(io) + "/weft.sock" : runtime + "/weft.sock";
}

ServerEndpoint at_socket(std::string path) {
  ServerEndpoint endpoint;
  endpoint.socket = std::move(path);
  return endpoint;
}

Error invalid(std::string message, std::string where = {}) {
  return {ErrorCode::invalid_input, std::move(message), std::move(where)};
}

Result<ServerEndpoint> of_context(const UserConfig& config, const std::string& name) {
  if (const ServerContext* found = config.find(name); found != nullptr) return endpoint_of(name, *found);
  std::vector<std::string_view> names;
  for (const auto& [known, context] : config.contexts.value) names.push_back(known);
  const std::string hint = did_you_mean(name, names);
  return invalid(fmt::format("there is no context {}: {}", in_backticks(name),
                             hint.empty() ? "`weft context list` shows them, `weft login URL` adds one" : hint));
}

// The context of a URL, the current one first: its CA, fingerprint and login belong to the URL.
Result<ServerEndpoint> of_url(const UserConfig& config, const std::string& text) {
  const Result<ServerUrl> parsed = parse_server_url(text);
  if (!parsed.ok()) return parsed.error();
  const std::string url = format_server_url(*parsed);
  const auto is_at_url = [&](const ServerContext& context) { return context.server.value == url; };
  if (const ServerContext* current = config.find(config.current.value); current != nullptr && is_at_url(*current))
    return endpoint_of(config.current.value, *current);
  for (const auto& [name, context] : config.contexts.value) {
    if (is_at_url(context.value)) return endpoint_of(name, context.value);
  }
  ServerEndpoint endpoint;
  endpoint.url = url;
  return endpoint;
}

bool is_url(std::string_view text) { return contains(text, "://"); }

Result<ServerEndpoint> of_server(const UserConfig& config, const std::string& text) {
  return is_url(text) ? of_url(config, text) : of_context(config, text);
}

// What the environment adds to a remote server.
Result<ServerEndpoint> with_environment(Result<ServerEndpoint> found, const Io& io) {
  if (!found.ok() || !found->is_remote()) return found;
  found->token = oob::Secret(io.environment("WEFT_TOKEN"));
  if (!is_valid_token(found->token.reveal())) return invalid("is not a token", "WEFT_TOKEN");
  const std::string ca = io.environment("WEFT_CA");
  if (!ca.empty() && found->fingerprint.empty()) found->ca = ca;  // a pinned certificate stays the only one
  return found;
}

std::string default_server_socket(const Io& io) {
  const std::string own = default_socket(io);
  return exists(own) ? own : (exists(std::string(kSystemSocket)) ? std::string(kSystemSocket) : own);
}

std::string option_value(const Context& context, std::string_view name) {
  return find_option(context.command(), name) == nullptr ? std::string() : context.arguments().value(name);
}

}  // namespace

ServerEndpoint endpoint_of(const std::string& name, const ServerContext& server) {
  ServerEndpoint endpoint;
  endpoint.socket = *server.socket;
  endpoint.url = *server.server;
  endpoint.ca = *server.ca;
  endpoint.fingerprint = *server.fingerprint;
  endpoint.context = name;
  return endpoint;
}

std::vector<Option> server_options() {
  return {{.name = "server",
           .value = "URL|CONTEXT",
           .help = "server to talk to: https://HOST[:PORT], or a context of `weft login`",
           .fallback = "$WEFT_SERVER, else the current context",
           .section = kSection},
          {.name = "context",
           .value = "NAME",
           .help = "context to use (see `weft context list`)",
           .fallback = "$WEFT_CONTEXT, else the current one",
           .section = kSection},
          {.name = "socket",
           .value = "PATH",
           .help = "socket of `weft serve` on this machine",
           .fallback = "$WEFT_SOCKET, else your own server's or /run/weft/weft.sock if there is no context",
           .hint = Hint::file,
           .section = kSection}};
}

std::vector<Option> with_server_options(std::vector<Option> options) {
  for (Option& option : server_options()) options.push_back(std::move(option));
  return options;
}

Result<ServerEndpoint> find_server(const Context& context) {
  const Io& io = context.io();
  const std::string server = option_value(context, "server");
  const std::string name = option_value(context, "context");
  const std::string socket = option_value(context, "socket");
  if (int{!server.empty()} + int{!name.empty()} + int{!socket.empty()} > 1)
    return invalid("--server, --context and --socket exclude each other");
  const std::string from[3] = {io.environment("WEFT_SERVER"), io.environment("WEFT_CONTEXT"),
                               io.environment("WEFT_SOCKET")};
  const bool has_option = !server.empty() || !name.empty() || !socket.empty();
  if (!socket.empty() || (!has_option && from[0].empty() && from[1].empty() && !from[2].empty()))
    return at_socket(socket.empty() ? from[2] : socket);  // whatever the configuration file says
  const Result<UserConfig> config = load_user_config(user_config_path(io));
  if (!config.ok()) return config.error();
  if (!server.empty()) return with_environment(of_server(*config, server), io);
  if (!name.empty()) return with_environment(of_context(*config, name), io);
  if (!from[0].empty()) return with_environment(of_server(*config, from[0]), io);
  if (!from[1].empty()) return with_environment(of_context(*config, from[1]), io);
  if (config->current.has_value()) return with_environment(of_context(*config, *config->current), io);
  return at_socket(default_server_socket(io));
}

Result<ServerEndpoint> find_server(const Context& context, const std::string& named) {
  if (contains(named, "/") && !is_url(named)) return at_socket(named);
  const Result<UserConfig> config = load_user_config(user_config_path(context.io()));
  if (!config.ok()) return config.error();
  if (!is_url(named) && config->find(named) == nullptr && exists(named)) return at_socket(named);
  return with_environment(of_server(*config, named), context.io());
}

std::string default_state_root(const Io& io) {
  if (::geteuid() == 0) return "/var/lib/weft";
  const std::string state = io.environment("XDG_STATE_HOME");
  return state.empty() ? io.environment("HOME") + "/.local/state/weft" : state + "/weft";
}

std::string default_socket(const Io& io) { return ::geteuid() == 0 ? std::string(kSystemSocket) : user_socket(io); }

}  // namespace weft::cli
