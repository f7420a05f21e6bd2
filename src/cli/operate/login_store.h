// What `weft login` keeps: access and refresh tokens by the name of a context, in ~/.local/state/weft/credentials.json,
// which only its owner may read. A token is bound to the URL of the server that gave it, and sent to no other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/framework/io.h"
#include "oob/credentials/secret.h"

namespace weft::cli {

struct Login {
  std::string server;           // as format_server_url() writes it
  std::string user;             // for messages
  oob::Secret access_token;     // also a static token
  oob::Secret refresh_token;    // single use; empty: none
  std::int64_t expires_ms = 0;  // of the access token, in milliseconds since 1970 UTC; 0: unknown

  // So long before its end that a request in progress does not outlive it.
  [[nodiscard]] bool is_fresh(std::int64_t now_ms) const { return expires_ms == 0 || now_ms + 30'000 < expires_ms; }
};
// At most 16 KiB of the characters of bearer tokens (RFC 6750): nothing that could end a header.
[[nodiscard]] bool is_valid_token(std::string_view text);

using Logins = std::map<std::string, Login, std::less<>>;

// $XDG_STATE_HOME/weft/credentials.json or ~/.local/state/weft/credentials.json; "" without a home.
[[nodiscard]] std::string login_store_path(const Io& io);

// Messages never quote the text. `name` is of the file.
[[nodiscard]] Result<Logins> read_logins(std::string_view text, const std::string& name);
[[nodiscard]] oob::Secret write_logins(const Logins& logins);

class LoginStore {
 public:
  explicit LoginStore(std::string path) : path_(std::move(path)) {}

  // Nullopt: not signed in there. `refused` if others can read the file.
  [[nodiscard]] Result<std::optional<Login>> find(const std::string& context, const std::string& server) const;
  // Reads the logins, calls `change`, and writes them, all under the lock. An error of `change` is returned, and its
  // changes are kept all the same if it has set `keep`: a refresh token that was refused is removed, for example.
  [[nodiscard]] Status change(const std::function<Status(Logins&, bool& keep)>& change) const;
  [[nodiscard]] Status put(const std::string& context, Login login) const;
  // Whether there was one.
  [[nodiscard]] Result<bool> remove(const std::string& context) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Result<Logins> load() const;
  std::string path_;
};

// A valid access token of a login: the one that is stored, or after a refresh. `refresh` exchanges a refresh token; its
// error `refused` means that the server does not accept it, and the login is removed. Two commands at the same time do
// not use the same refresh token: the second waits for the lock, and finds the new one.
// `rejected`: an access token that the server did not accept, although it looks fresh; "" otherwise.
// Error `not_found`: not signed in.
using RefreshFunction = std::function<Result<Login>(const oob::Secret& refresh_token)>;
[[nodiscard]] Result<oob::Secret> fresh_access_token(const LoginStore& store, const std::string& context,
                                                     const std::string& server, const oob::Secret& rejected,
                                                     std::int64_t now_ms, const RefreshFunction& refresh);

}  // namespace weft::cli
