#include "cli/operate/login_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/quoting.h"
#include "base/text.h"
#include "base/utf8.h"
#include "oob/durable/file.h"

namespace weft::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxToken = 16'384;  // bytes of a token
constexpr int kVersion = 1;

bool read_text(const json& value, std::string& out) {
  if (!value.is_string()) return false;
  out = value.get<std::string>();
  return out.size() <= 1000;
}

bool read_token(const json& value, oob::Secret& out) {
  if (!value.is_string()) return false;
  out = oob::Secret(value.get<std::string>());
  return is_valid_token(out.reveal());
}

bool read_login(const json& value, Login& login) {
  if (!value.is_object()) return false;
  for (const auto& [key, member] : value.items()) {
    bool valid = false;
    if (key == "server") {
      valid = read_text(member, login.server);
    } else if (key == "user") {
      valid = read_text(member, login.user);
    } else if (key == "access_token") {
      valid = read_token(member, login.access_token);
    } else if (key == "refresh_token") {
      valid = read_token(member, login.refresh_token);
    } else if (key == "expires_ms" && member.is_number_integer()) {
      login.expires_ms = member.get<std::int64_t>();
      valid = login.expires_ms >= 0 && login.expires_ms <= INT64_MAX / 2;
    }
    if (!valid) return false;
  }
  return !login.server.empty();
}

bool read_all(const json& root, Logins& logins) {
  if (!root.is_object() || root.size() != 2 || root.value("weft_credentials", json()) != kVersion) return false;
  const auto entries = root.find("logins");
  if (entries == root.end() || !entries->is_object()) return false;
  for (const auto& [name, entry] : entries->items()) {
    Login login;
    if (!read_login(entry, login)) return false;
    logins.insert_or_assign(name, std::move(login));
  }
  return true;
}

Status check_privacy(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::invalid_input, "is not a regular file", path};
  if (info.st_uid != ::geteuid())
    return Error{ErrorCode::refused, "belongs to another user: tokens are read only from a file of one's own", path};
  if ((info.st_mode & 077U) == 0) return {};
  return Error{
      ErrorCode::refused,
      fmt::format("other users may read or write it (mode {:04o}): run `chmod 600 {}`, and `weft login` again if they "
                  "could have read the tokens",
                  info.st_mode & 07777U, path),
      path};
}

}  // namespace

bool is_valid_token(std::string_view text) {
  for (const char c : text) {
    if (!is_letter_or_digit(c) && !contains("-._~+/=", std::string_view(&c, 1))) return false;
  }
  return text.size() <= kMaxToken;
}

std::string login_store_path(const Io& io) {
  const std::string folder = io.environment("XDG_STATE_HOME");
  if (folder.starts_with('/')) return folder + "/weft/credentials.json";
  const std::string home = io.environment("HOME");
  return home.empty() ? std::string() : home + "/.local/state/weft/credentials.json";
}

Result<Logins> read_logins(std::string_view text, const std::string& name) {
  Logins logins;
  if (trim(text).empty()) return logins;
  const json root = json::parse(text, nullptr, false);
  if (!root.is_discarded() && read_all(root, logins)) return logins;
  return Error{ErrorCode::invalid_input, "is not a credentials file of weft: remove it, and run `weft login`", name};
}

oob::Secret write_logins(const Logins& logins) {
  std::string entries;
  for (const auto& [name, login] : logins) {
    std::string members = fmt::format("\"server\": {}, \"user\": {}", json_quote(login.server), json_quote(login.user));
    const auto add_token = [&](std::string_view key, const oob::Secret& token) {
      if (!token.empty()) append_format(members, ", \"{}\": {}", key, json_quote_secret(token.reveal()));
    };
    add_token("access_token", login.access_token);
    add_token("refresh_token", login.refresh_token);
    if (login.expires_ms > 0) append_format(members, ", \"expires_ms\": {}", login.expires_ms);
    append_format(entries, "{}\n    {}: {{{}}}", entries.empty() ? "" : ",", json_quote(name), members);
  }
  return oob::Secret(fmt::format("{{\n  \"weft_credentials\": {},\n  \"logins\": {{{}{}}}\n}}\n", kVersion, entries,
                                 entries.empty() ? "" : "\n  "));
}

Result<Logins> LoginStore::load() const {
  const Result<FileDescriptor> file = oob::open_file(path_, O_RDONLY | O_NOFOLLOW);
  if (!file.ok() && file.error().code == ErrorCode::not_found) return Logins();
  if (!file.ok()) return file.error();
  const Result<struct stat> info = oob::stat_of(*file, path_);
  if (!info.ok()) return info.error();
  if (Status fine = check_privacy(*info, path_); !fine.ok()) return fine.error();
  if (static_cast<std::uint64_t>(info->st_size) > kMaxBytes)
    return Error{ErrorCode::invalid_input, "is too large", path_};
  Result<std::string> text = oob::read_at(*file, 0, static_cast<std::size_t>(info->st_size), path_);
  if (!text.ok()) return text.error();
  const oob::Secret content(std::move(*text));
  return read_logins(content.reveal(), path_);
}

Result<std::optional<Login>> LoginStore::find(const std::string& context, const std::string& server) const {
  if (path_.empty()) return std::optional<Login>();
  const Result<Logins> logins = load();
  if (!logins.ok()) return logins.error();
  const auto found = logins->find(context);
  if (found == logins->end() || found->second.server != server) return std::optional<Login>();
  return std::optional<Login>(found->second);
}

Status LoginStore::change(const std::function<Status(Logins&, bool& keep)>& change) const {
  if (path_.empty())
    return Error{ErrorCode::unavailable, "there is no place for tokens: set HOME or XDG_STATE_HOME", {}};
  if (Status made = oob::make_folders_above(path_); !made.ok()) return made;
  const std::string lock_path = path_ + ".lock";
  const Result<FileDescriptor> lock = oob::open_file(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock.ok()) return lock.error();
  if (Status locked = oob::lock(*lock, oob::LockKind::exclusive, lock_path, oob::kLockLimit); !locked.ok())
    return locked;
  const oob::HeldLock held(*lock);
  Result<Logins> logins = load();
  if (!logins.ok()) return logins.error();
  bool keep = true;
  Status changed = change(*logins, keep);
  if (!keep) return changed;
  const oob::Secret text = write_logins(*logins);
  if (Status written = oob::replace_file(path_, text.reveal()); !written.ok()) return written;
  return changed;
}

Status LoginStore::put(const std::string& context, Login login) const {
  if (!is_valid_token(login.access_token.reveal()) || !is_valid_token(login.refresh_token.reveal()))
    return Error{ErrorCode::invalid_input, "invalid token: it has characters that no token has", {}};
  return change([&](Logins& logins, bool&) -> Status {
    logins.insert_or_assign(context, std::move(login));
    return {};
  });
}

Result<bool> LoginStore::remove(const std::string& context) const {
  bool found = false;
  const Status status = change([&](Logins& logins, bool& keep) -> Status {
    found = logins.erase(context) > 0;
    keep = found;
    return {};
  });
  if (!status.ok()) return status.error();
  return found;
}

Result<oob::Secret> fresh_access_token(const LoginStore& store, const std::string& context, const std::string& server,
                                       const oob::Secret& rejected, std::int64_t now_ms,
                                       const RefreshFunction& refresh) {
  const auto is_usable = [&](const Login& login) {
    return !login.access_token.empty() && !(login.access_token == rejected) && login.is_fresh(now_ms);
  };
  const Result<std::optional<Login>> stored = store.find(context, server);
  if (!stored.ok()) return stored.error();
  const Error signed_out{ErrorCode::not_found, "not signed in", server};
  if (!*stored) return signed_out;
  if (is_usable(**stored)) return (*stored)->access_token;
  if ((*stored)->refresh_token.empty()) return signed_out;
  oob::Secret token;
  const Status status = store.change([&](Logins& logins, bool& keep) -> Status {
    keep = false;
    const auto entry = logins.find(context);
    if (entry == logins.end() || entry->second.server != server) return signed_out;
    if (is_usable(entry->second)) {  // another command was first
      token = entry->second.access_token;
      return {};
    }
    if (entry->second.refresh_token.empty()) return signed_out;
    Result<Login> renewed = refresh(entry->second.refresh_token);
    if (!renewed.ok()) {
      if (renewed.error().code != ErrorCode::refused) return renewed.error();
      logins.erase(entry);
      keep = true;
      return signed_out;
    }
    renewed->server = server;
    if (renewed->user.empty()) renewed->user = entry->second.user;
    token = renewed->access_token;
    entry->second = std::move(*renewed);
    keep = true;
    return {};
  });
  if (!status.ok()) return status.error();
  return token;
}

}  // namespace weft::cli
