// The user's configuration file, ~/.config/weft/config.yaml: which servers there are (contexts), which of them commands
// use, and defaults of options. It has no secrets: tokens are in operate/login_store.h.
//   weft_config: 1
//   current: prod
//   contexts:
//     prod: {server: https://weft.example.org:8443, ca: /etc/ssl/lab-ca.pem}
//     lab:  {server: https://127.0.0.1:8443, fingerprint: "sha256:..."}
//     here: {socket: /run/weft/weft.sock}
//   defaults: {cluster: /srv/clusters/prod.yaml, output: wide}
// A new setting is a member of UserConfig, a line of its table in user_config.cc, and a line in write_user_config().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/source.h"
#include "cli/framework/io.h"
#include "model/schema.h"

namespace weft::cli {

// A server, and how it proves which one it is. Exactly one of `server` and `socket` is set.
struct ServerContext {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> server{};       // "https://weft.example.org:8443", as format_server_url() writes it
  model::Sourced<std::string> ca{};           // file of CA certificates (PEM) instead of the system's
  model::Sourced<std::string> fingerprint{};  // "sha256:" and 64 hexadecimal digits: the only certificate that counts
  model::Sourced<std::string> socket{};       // Unix socket on this machine
};

// What commands use where neither an option nor an environment variable says otherwise.
struct UserDefaults {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> cluster{};  // absolute path of a cluster file
  model::Sourced<std::string> output{};   // format of tables: table, wide, json, yaml, ndjson or csv
  model::Sourced<std::string> color{};    // auto, always or never
  model::Sourced<std::string> pager{};    // a shell command; `cat` for none
};

struct UserConfig {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> weft_config{};
  model::Sourced<std::string> current{};  // name of a context
  model::Sourced<model::NamedValues<ServerContext>> contexts{};
  model::Sourced<UserDefaults> defaults{};

  [[nodiscard]] const ServerContext* find(std::string_view name) const;
  // Adds the context, or replaces it.
  void put(const std::string& name, ServerContext context);
  bool remove(std::string_view name);
};

// $WEFT_CONFIG, $XDG_CONFIG_HOME/weft/config.yaml or ~/.config/weft/config.yaml; "" without a home.
[[nodiscard]] std::string user_config_path(const Io& io);

// A valid configuration; reports everything that is wrong, with its place. An empty file is an empty configuration.
[[nodiscard]] std::optional<UserConfig> read_user_config(const Sources& sources, FileId file, Diagnostics& diagnostics);
// The text of a valid configuration; `heading` is the comment at its top.
[[nodiscard]] std::string write_user_config(const UserConfig& config, std::string_view heading = {});

// A missing file is an empty configuration. An invalid one is an error with the rendered diagnostics.
[[nodiscard]] Result<UserConfig> load_user_config(const std::string& path);
// Changes the file atomically, under a lock: reads it, calls `change`, writes it if the result is valid. The comment at
// the top is kept, others are not.
[[nodiscard]] Status change_user_config(const std::string& path, const std::function<Status(UserConfig&)>& change);

struct ServerUrl {
  std::string host;  // in lower case; an IPv6 address without brackets
  std::uint16_t port = 8443;
};
// "https://HOST[:PORT]", without a user, a path or a query; port 8443 by default, as `weft serve` listens.
[[nodiscard]] Result<ServerUrl> parse_server_url(std::string_view text);
[[nodiscard]] std::string format_server_url(const ServerUrl& url);  // "https://weft.example.org:8443"

// "sha256:" and 64 digits in lower case, from the same or from what openssl prints (AB:CD:...); an error otherwise.
[[nodiscard]] Result<std::string> parse_fingerprint(std::string_view text);

// Letters, digits, '-', '_' and '.', at most 63 characters, beginning with a letter or digit.
[[nodiscard]] bool is_context_name(std::string_view text);

}  // namespace weft::cli
