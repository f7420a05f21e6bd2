// Which `weft serve` a command talks to: a Unix socket on this machine, or an https URL with the certificate that
// proves it. Options come before the environment, the environment before the user's configuration file, and that before
// the default socket.
#pragma once

#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "cli/framework/user_config.h"
#include "oob/credentials/secret.h"

namespace weft::cli {

struct ServerEndpoint {
  std::string socket{};       // of a server on this machine; the rest is empty then
  std::string url{};          // "https://weft.example.org:8443"
  std::string ca{};           // file of CA certificates; empty: the system's
  std::string fingerprint{};  // "sha256:...": of the only certificate that is accepted
  std::string context{};      // whose login is used; empty: none
  oob::Secret token{};        // $WEFT_TOKEN, instead of a login

  [[nodiscard]] bool is_remote() const { return socket.empty(); }
  // For messages: the socket's path, or the URL.
  [[nodiscard]] const std::string& name() const { return is_remote() ? url : socket; }
};

// --server, --context, --socket: of every command that talks to the server.
[[nodiscard]] std::vector<Option> server_options();
// The options of a command with those after them.
[[nodiscard]] std::vector<Option> with_server_options(std::vector<Option> options);

[[nodiscard]] Result<ServerEndpoint> find_server(const Context& context);
// A server by its URL, the name of a context, or the path of its socket: one with a slash, or of a file that exists.
[[nodiscard]] Result<ServerEndpoint> find_server(const Context& context, const std::string& named);
[[nodiscard]] ServerEndpoint endpoint_of(const std::string& name, const ServerContext& server);

// Where `weft serve` listens and keeps its state unless it is told: root in /run/weft and /var/lib/weft, other users in
// $XDG_RUNTIME_DIR and ~/.local/state/weft.
[[nodiscard]] std::string default_socket(const Io& io);
[[nodiscard]] std::string default_state_root(const Io& io);

}  // namespace weft::cli
