// weft login, logout, whoami.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/framework/stop_signals.h"
#include "cli/operate/login_protocol.h"
#include "cli/operate/server_client.h"
#include "cli/operate/server_trust.h"
#include "serve/table/route.h"

namespace weft::cli {
namespace {

std::string absolute_path(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).lexically_normal().string();
}

// A name for a new context: the first label of the host, or all of it if another server has that name.
std::string choose_name(const UserConfig& config, const ServerUrl& url) {
  const std::string address = format_server_url(url);
  for (const auto& [name, known] : config.contexts.value) {
    if (known->server.value == address) return name;
  }
  const bool is_address = url.host.find_first_not_of("0123456789.") == std::string::npos || contains(url.host, ":");
  std::string whole = url.host;
  for (char& c : whole) {
    if (c == ':') c = '-';
  }
  if (!is_letter_or_digit(whole.front())) whole.insert(0, "ip");  // "::1"
  whole.resize(std::min<std::size_t>(whole.size(), 50));
  const std::string candidates[] = {is_address ? whole : whole.substr(0, whole.find('.')), whole,
                                    fmt::format("{}-{}", whole, url.port)};
  for (const std::string& each : candidates) {
    if (is_context_name(each) && config.find(each) == nullptr) return each;
  }
  return {};
}

// The context that the command line describes: new, or one of the configuration with changes.
struct Target {
  std::string name;
  ServerContext server;
  bool is_changed = false;
};

void set_text(model::Sourced<std::string>& member, std::string value) {
  member = {};
  if (!value.empty()) member = std::move(value);
}

Result<Target> find_target(const Context& context, const UserConfig& config) {
  const Arguments& arguments = context.arguments();
  Target target;
  target.name = arguments.value("context");
  if (const std::string given = arguments.word(0); !given.empty()) {
    const Result<ServerUrl> url = parse_server_url(given);
    if (!url.ok()) return url.error();
    const std::string address = format_server_url(*url);
    if (target.name.empty()) target.name = choose_name(config, *url);
    if (!is_context_name(target.name))
      return Error{ErrorCode::invalid_input, "name the context with letters, digits, - and .: --context NAME", {}};
    const ServerContext* known = config.find(target.name);
    if (known != nullptr && known->server.value == address) {
      target.server = *known;
    } else {
      set_text(target.server.server, address);
      target.is_changed = true;
    }
  } else {
    const Result<ServerEndpoint> endpoint = find_server(context);
    if (!endpoint.ok()) return endpoint.error();
    if (!endpoint->is_remote())
      return Error{ErrorCode::invalid_input,
                   "no sign-in is needed there: the kernel says who you are. Name a server: "
                   "weft login https://HOST:PORT",
                   endpoint->socket};
    target.name = endpoint->context;
    const ServerContext* known = config.find(target.name);
    if (known == nullptr)
      return Error{ErrorCode::invalid_input, fmt::format("there is no context for it: weft login {}", endpoint->url),
                   endpoint->url};
    target.server = *known;
  }
  return target;
}

// Applies --ca and --fingerprint.
Status apply_trust_options(const Context& context, Target& target) {
  const std::string ca = context.arguments().value("ca");
  const std::string fingerprint = context.arguments().value("fingerprint");
  if (!ca.empty() && !fingerprint.empty())
    return Error{ErrorCode::invalid_input, "--ca and --fingerprint exclude each other", {}};
  if (ca.empty() && fingerprint.empty()) return {};
  target.is_changed = true;
  set_text(target.server.ca, ca.empty() ? std::string() : absolute_path(ca));
  set_text(target.server.fingerprint, {});
  if (fingerprint.empty()) return {};
  Result<std::string> normal = parse_fingerprint(fingerprint);
  if (!normal.ok()) return normal.error();
  set_text(target.server.fingerprint, std::move(*normal));
  return {};
}

// Whether the server's certificate may be trusted from now on; asks on a terminal. A pinned certificate that has
// changed is never a question.
Status establish_trust(Context& context, Target& target) {
  const ServerEndpoint endpoint = endpoint_of(target.name, target.server);
  const Result<ServerTrust> trust = check_server_trust(endpoint);
  if (!trust.ok()) return trust.error();
  if (trust->trusted) return {};
  Io& io = context.io();
  const bool may_ask = io.in_is_terminal && io.err_is_terminal && io.read_line &&
                       !context.arguments().has("token-stdin") && endpoint.fingerprint.empty() &&
                       !trust->fingerprint.empty();
  if (!may_ask) return untrusted_error(endpoint, *trust);
  io.write_err(
      fmt::format("{}: {}.\n"
                  "The fingerprint of its certificate is\n  {}\n"
                  "Compare it with the one that `weft serve` prints when it starts, or ask its administrators: a "
                  "man in the middle shows another one.\n"
                  "Trust this certificate, and no other, from now on? Type yes: ",
                  endpoint.url, trust->problem, trust->fingerprint));
  if (io.read_line() != "yes") return Error{ErrorCode::refused, "not trusted: nothing was changed", endpoint.url};
  set_text(target.server.ca, {});
  set_text(target.server.fingerprint, trust->fingerprint);
  target.is_changed = true;
  return {};
}

Status save_context(const std::string& path, const Target& target) {
  return change_user_config(path, [&](UserConfig& config) -> Status {
    if (target.is_changed || config.find(target.name) == nullptr) config.put(target.name, target.server);
    config.current = target.name;
    return {};
  });
}

// A static token from standard input, after the server has accepted it.
Result<Login> read_token_login(Context& context, const ServerEndpoint& endpoint) {
  Io& io = context.io();
  Login login;
  login.access_token = oob::Secret(io.read_line ? io.read_line() : std::string());
  if (login.access_token.empty() || !is_valid_token(login.access_token.reveal()))
    return Error{ErrorCode::invalid_input, "is not a token: one line such as weft_t_...", "standard input"};
  oob::SystemClock clock;
  ServerEndpoint with_token = endpoint;
  with_token.token = login.access_token;
  const ApiConnection connection(with_token, LoginStore({}), clock, [](const std::string&) {});
  serve::ClientRequest request;
  request.target = std::string(serve::kApiPrefix) + "/session";
  const Result<serve::HttpResponse> response = connection.send(request);
  if (!response.ok()) return response.error();
  if (response->status == 401) return Error{ErrorCode::refused, "the server does not accept this token", endpoint.url};
  if (response->status >= 400) return connection.error_of(*response);
  const nlohmann::json json = nlohmann::json::parse(response->body, nullptr, false);
  if (json.is_object() && json.contains("session") && json["session"].is_object()) {
    const auto user = json["session"].find("user");
    if (user != json["session"].end() && user->is_string()) login.user = printable(user->get<std::string>(), 100);
  }
  return login;
}

Result<Login> run_device_login(Context& context, const ServerEndpoint& endpoint) {
  oob::SystemClock clock;
  const StopSignals signals(clock);
  const ApiConnection connection(endpoint, LoginStore({}), clock, [](const std::string&) {});
  const SendFunction send = [&](serve::ClientRequest request) {
    return connection.send_without_token(std::move(request));
  };
  const Result<DeviceCode> code = start_device_login(send);
  if (!code.ok()) return code.error();
  const std::string& uri = code->complete_uri.empty() ? code->verification_uri : code->complete_uri;
  context.io().write_err(
      fmt::format("To sign in, open this page in a browser:\n  {}\nand check that it shows, or enter, "
                  "the code\n  {}\nWaiting; Ctrl-C cancels.\n",
                  uri, code->user_code));
  return wait_for_device_login(send, *code, clock);
}

Exit run_login(Context& context) {
  const std::string path = user_config_path(context.io());
  const Result<UserConfig> config = load_user_config(path);
  if (!config.ok()) return context.failed(config.error());
  Result<Target> target = find_target(context, *config);
  if (!target.ok()) return context.failed(target.error());
  if (const Status valid = apply_trust_options(context, *target); !valid.ok()) return context.failed(valid.error());
  if (const Status trusted = establish_trust(context, *target); !trusted.ok()) return context.failed(trusted.error());
  const ServerEndpoint endpoint = endpoint_of(target->name, target->server);
  Result<Login> login = context.arguments().has("token-stdin") ? read_token_login(context, endpoint)
                                                               : run_device_login(context, endpoint);
  if (!login.ok()) return context.failed(login.error());
  login->server = endpoint.url;
  const std::string user = login->user.empty() ? std::string() : " as " + login->user;
  const LoginStore store(login_store_path(context.io()));
  if (const Status kept = store.put(target->name, std::move(*login)); !kept.ok()) return context.failed(kept.error());
  // Last: until the server has accepted the login, other commands use the context that they used before.
  if (const Status saved = save_context(path, *target); !saved.ok()) {
    (void)store.remove(target->name);
    return context.failed(saved.error());
  }
  return context.deliver(fmt::format("signed in to {} ({}){}\n", target->name, endpoint.url, user));
}

Exit run_logout(Context& context) {
  const Result<ServerEndpoint> endpoint = find_server(context);
  if (!endpoint.ok()) return context.failed(endpoint.error());
  if (!endpoint->is_remote() || endpoint->context.empty()) {
    context.note(fmt::format("there is no login at {}", endpoint->name()));
    return Exit::ok;
  }
  const LoginStore store(login_store_path(context.io()));
  const Result<std::optional<Login>> login = store.find(endpoint->context, endpoint->url);
  if (!login.ok()) return context.failed(login.error());
  if (!*login) {
    context.note(fmt::format("not signed in to {}", endpoint->context));
    return Exit::ok;
  }
  std::optional<Error> problem;
  if (!(*login)->refresh_token.empty()) {  // a static token is not a session: `weft token revoke` ends it
    ServerEndpoint with_login = *endpoint;
    with_login.token = {};
    const ServerClient client(context, with_login);
    if (const auto ended = client.post("/session/logout", "{}"); !ended.ok()) problem = ended.error();
  }
  const Result<bool> removed = store.remove(endpoint->context);
  if (!removed.ok()) return context.failed(removed.error());
  if (problem) {
    context.note(
        fmt::format("{}; the tokens were removed here, and end on the server when they expire", problem->text()));
    return Exit::partial;
  }
  return context.deliver(fmt::format("signed out of {}\n", endpoint->context));
}

Exit run_whoami(Context& context) { return ServerClient(context).show(target_of("/session")); }

}  // namespace

Command login_command() {
  Command command;
  command.name = "login";
  command.summary = "Sign in to a remote weft serve";
  command.usage = "[URL] [--context NAME] [OPTIONS]";
  command.description = {
      "With a URL, adds the server to your configuration as a context and makes it the current one. Without one, signs "
      "in again to the current context, or that of --context.",
      "Shows a page and a code: sign in there with any browser, as at your organization's other services. Without a "
      "browser, or for a program, --token-stdin reads a token of `weft token create`.",
      "The server's certificate must be signed by a CA of the system, by that of --ca, or be the one with "
      "--fingerprint. "
      "Otherwise its fingerprint is shown, and you are asked whether to trust it; without a terminal it is an error."};
  command.examples = {
      {"weft login https://weft.example.org:8443", "A server with a certificate of a known CA"},
      {"weft login https://weft.example.org:8443 --context prod --ca lab-ca.pem", "With a CA of your own"},
      {"weft login --context prod --token-stdin", "With a token on standard input, in a script"}};
  command.arguments = {{.name = "URL", .help = "https://HOST[:PORT]", .required = false}};
  command.options = {
      {.name = "context", .value = "NAME", .help = "name of the context", .fallback = "from the host name"},
      {.name = "ca", .value = "FILE", .help = "CA certificates (PEM) that prove the server", .hint = Hint::file},
      {.name = "fingerprint", .value = "SHA256", .help = "trust the certificate with this fingerprint, and no other"},
      {.name = "token-stdin", .help = "read a token from standard input instead of signing in"}};
  command.run = run_login;
  return command;
}

Command logout_command() {
  Command command;
  command.name = "logout";
  command.summary = "End the login at a server, and remove its tokens";
  command.usage = "[OPTIONS]";
  command.description = {"Exit status 3 if the tokens were removed here and the server could not be told."};
  command.examples = {{"weft logout --context prod", "Ends the login on the server, too"}};
  command.options = server_options();
  command.run = run_logout;
  return command;
}

Command whoami_command() {
  Command command;
  command.name = "whoami";
  command.summary = "Show who the server takes you for: user, groups, roles";
  command.usage = "[OPTIONS]";
  command.examples = {{"weft whoami --server prod", "Your name and roles on prod"}};
  command.options = with_server_options({output_option(), file_option()});
  command.run = run_whoami;
  return command;
}

}  // namespace weft::cli
