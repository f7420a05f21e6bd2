// Access policy: who may use the API and how, from the access file (`weft serve --access access.yaml`) or, without one,
// from the machine's own accounts. Reading never changes a policy in use: a reload reads a new one and replaces the old
// one only if the file has no errors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "access/identity/access.h"
#include "access/identity/identity.h"
#include "access/policy/account.h"
#include "access/secret/reference.h"
#include "base/diagnostic.h"
#include "base/quantity.h"

namespace weft::access {

struct ListenAddress {
  std::string host;        // an IP address without brackets
  std::uint16_t port = 0;  // 0: any free one
  bool is_loopback = true;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// Paths of files are absolute, or relative to the working directory.
struct TlsPolicy {
  std::string certificate;  // "": none; `key` is "" too
  std::string key;
  std::string client_ca;  // "": client certificates are not accepted
  friend bool operator==(const TlsPolicy&, const TlsPolicy&) = default;
};

struct OidcPolicy {
  std::string issuer;
  std::string client_id;
  std::optional<SecretReference> client_secret;
  std::string audience;
  std::vector<std::string> authorized_parties;  // further clients whose tokens have several audiences
  std::string username_claim;
  std::string groups_claim = "groups";
  std::vector<std::string> algorithms{"RS256", "ES256"};
  std::vector<std::string> scopes{"openid", "profile", "groups"};
  std::string ca;  // "": the system's
  friend bool operator==(const OidcPolicy&, const OidcPolicy&) = default;
};

struct RoleRule {
  Grant grant;
  std::set<std::string, std::less<>> users;
  std::set<std::string, std::less<>> groups;
};

struct SessionPolicy {
  Duration idle = milliseconds(30 * 60'000);
  Duration longest = milliseconds(12 * 3600'000);
  friend bool operator==(const SessionPolicy&, const SessionPolicy&) = default;
};

struct LimitPolicy {
  std::int64_t requests_per_minute = 600;
  std::int64_t source_requests_per_minute = 6000;
  std::int64_t failures_per_minute = 20;
  friend bool operator==(const LimitPolicy&, const LimitPolicy&) = default;
};

struct AuditPolicy {
  std::string syslog;  // as oob::parse_syslog_target() reads it; "": none
  std::string ca;
  friend bool operator==(const AuditPolicy&, const AuditPolicy&) = default;
};

struct AccessPolicy {
  bool from_file = false;
  std::string server_user;            // the account that the server runs under
  std::vector<ListenAddress> listen;  // empty: the Unix socket only
  TlsPolicy tls;
  std::vector<std::string> hosts;  // in lower case
  std::optional<OidcPolicy> oidc;
  std::vector<RoleRule> roles;
  AccountMap accounts;
  SessionPolicy sessions;
  std::set<std::string, std::less<>> second_person;  // ids of operations
  LimitPolicy limits;
  AuditPolicy audit;

  // Without an access file: root and the server's user are admins, all others viewers and users of every tenant.
  [[nodiscard]] static AccessPolicy local(std::string server_user);

  // Every grant of the user's name and groups. Root and the server's user are admins where only the kernel, or a token
  // created by an admin, can have vouched for the name. A token's restriction is not considered: see
  // token/restriction.h.
  [[nodiscard]] Access access_of(const Identity& identity) const;
  // To be called after each sign-in, before the identity is used for anything: `refused` if the name comes from outside
  // (certificate, bearer token, OIDC sign-in) and is not one that check_user_name() allows, such as root's.
  [[nodiscard]] Status check_identity(const Identity& identity) const;
  [[nodiscard]] bool needs_second_person(std::string_view operation) const { return second_person.contains(operation); }
  // The account that runs jobs of the user: see find_account_of(). For callers over the network; those of the Unix
  // socket have an account already.
  [[nodiscard]] Result<UnixAccount> account_of(std::string_view user, const AccountLookup& look_up) const {
    return find_account_of(user, accounts, server_user, look_up);
  }
};

// What a file is checked with.
struct PolicyContext {
  std::string server_user;
  std::vector<std::string> tenants;     // of the cluster: a grant for another one is a warning
  std::vector<std::string> operations;  // ids that `second_person` may have
};

// Parses the file registered under `file`; relative paths in it are relative to its folder. Reports all errors in one
// run, and warnings; nullopt after an error.
[[nodiscard]] std::optional<AccessPolicy> read_access_policy(const Sources& sources, FileId file,
                                                             const PolicyContext& context, Diagnostics& diagnostics);

// The same from a file on disk. An error too if its owner or mode lets other users change it.
[[nodiscard]] std::optional<AccessPolicy> load_access_policy(const std::string& path, const PolicyContext& context,
                                                             Sources& sources, Diagnostics& diagnostics);

// "127.0.0.1:8443", "[2001:db8::1]:8443", "localhost:8443".
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace weft::access
