// Checks the records of an access file and builds the policy.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "access/policy/access_file.h"
#include "access/policy/policy.h"
#include "access/policy/user_name.h"
#include "access/secret/private_file.h"
#include "base/ip.h"
#include "base/text.h"
#include "base/utf8.h"
#include "oob/durable/file.h"
#include "oob/journal/syslog.h"

namespace weft::access {
namespace {

using Text = model::Sourced<std::string>;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxListen = 16;
constexpr std::string_view kAlgorithmNames[] = {"RS256", "RS384", "RS512", "PS256", "ES256", "ES384"};
constexpr Duration kMinIdle = milliseconds(60'000);
constexpr Duration kMaxSession = milliseconds(std::int64_t{7} * 24 * 3600'000);

bool is_host_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (const std::string_view label : split(name, '.')) {
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') return false;
    if (!std::all_of(label.begin(), label.end(), [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; }))
      return false;
  }
  return true;
}

// Claims, scopes and client ids: visible ASCII without quotes (RFC 6749 appendix A).
bool is_plain_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\' && c != '\''; });
}

// https://HOST[:PORT][/PATH], without user, query and fragment (OpenID Connect Core, section 2).
bool is_issuer(std::string_view url) {
  if (!url.starts_with("https://") || !is_plain_word(url) || url.find_first_of("?#@<>`{}|^") != std::string_view::npos)
    return false;
  std::string_view authority = url.substr(8);
  authority = authority.substr(0, authority.find('/'));
  std::string_view port;
  if (const std::size_t colon = authority.rfind(':'); colon != std::string_view::npos && !authority.ends_with(']')) {
    port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
    const Result<std::int64_t> number = parse_integer(port);
    if (port.empty() || !is_digit(port.front()) || !number.ok() || number.value() < 1 || number.value() > 65'535)
      return false;
  }
  if (authority.starts_with('[') && authority.ends_with(']'))
    return parse_ipv6(authority.substr(1, authority.size() - 2)).ok();
  return is_host_name(authority);
}

class PolicyReader {
 public:
  PolicyReader(const AccessFileSpec& spec, std::string folder, const PolicyContext& context, Diagnostics& diagnostics)
      : spec_(spec), folder_(std::move(folder)), context_(context), diagnostics_(diagnostics) {}

  AccessPolicy read() {
    policy_.from_file = true;
    policy_.server_user = context_.server_user;
    read_tls();
    read_listen();
    read_hosts();
    if (spec_.oidc.from_file()) read_oidc(spec_.oidc.value);
    read_roles();
    read_accounts();
    read_sessions();
    read_second_person();
    read_limits();
    read_audit();
    warn_about_exposure();
    return std::move(policy_);
  }

 private:
  void error(const Text& at, std::string message, std::string hint = {}) {
    diagnostics_.error(at.place, std::move(message), std::move(hint), std::max<std::size_t>(at->size(), 1));
  }
  void warn(const Text& at, std::string message, std::string hint = {}) {
    diagnostics_.warning(at.place, std::move(message), std::move(hint), std::max<std::size_t>(at->size(), 1));
  }

  std::string read_path(const Text& path) {
    if (!path.from_file()) return {};
    if (path->empty() || std::any_of(path->begin(), path->end(), is_control)) {
      error(path, "is not the path of a file");
      return {};
    }
    return absolute(path.value);
  }
  [[nodiscard]] std::string absolute(const std::string& path) const {
    return path.starts_with('/') || folder_ == "." ? path : folder_ + "/" + path;
  }

  void read_tls() {
    const AccessTlsSpec& tls = spec_.tls.value;
    policy_.tls = {read_path(tls.certificate), read_path(tls.key), read_path(tls.client_ca)};
    if (tls.certificate.from_file() == tls.key.from_file()) return;
    const bool has_key = tls.key.from_file();
    error(has_key ? tls.key : tls.certificate,
          has_key ? "the certificate of this key is missing" : "its key is missing",
          "set both `certificate` and `key`");
  }

  void read_listen() {
    if (!spec_.listen.has_value()) {
      policy_.listen.push_back({"127.0.0.1", 8443, true});
      return;
    }
    for (const Text& text : spec_.listen->items) {
      Result<ListenAddress> address = parse_listen_address(text.value);
      if (!address.ok()) {
        error(text, address.error().message, "ADDRESS:PORT, such as 127.0.0.1:8443 or [::]:8443");
        continue;
      }
      if (std::find(policy_.listen.begin(), policy_.listen.end(), address.value()) != policy_.listen.end()) {
        warn(text, fmt::format("{} is listed twice", in_backticks(text.value)));
        continue;
      }
      if (!address->is_loopback && !spec_.tls->certificate.from_file()) {
        error(
            text,
            fmt::format("{} can be reached from other machines, and there is no certificate", in_backticks(text.value)),
            "set `tls: {certificate: ..., key: ...}`, or listen on 127.0.0.1");
      }
      policy_.listen.push_back(std::move(address).value());
    }
    if (policy_.listen.size() > kMaxListen)
      diagnostics_.error(spec_.listen.place, fmt::format("more than {} addresses to listen on", kMaxListen));
  }

  void read_hosts() {
    for (const Text& host : spec_.hosts.value) {
      if (is_host_name(host.value) || parse_ipv6(host.value).ok()) {
        policy_.hosts.push_back(to_lower(host.value));
      } else {
        error(host, fmt::format("{} is not a host name", in_backticks(host.value)), "a name without scheme and port");
      }
    }
  }

  std::string read_word(const Text& text, std::string_view what, std::string fallback) {
    if (!text.from_file()) return fallback;
    if (!is_plain_word(text.value)) error(text, fmt::format("{} is not a valid {}", in_backticks(text.value), what));
    return text.value;
  }

  void read_oidc(const AccessOidcSpec& spec) {
    OidcPolicy oidc;
    oidc.issuer = spec.issuer.value;
    if (spec.issuer.from_file() && !is_issuer(oidc.issuer))
      error(spec.issuer, fmt::format("{} is not an issuer", in_backticks(oidc.issuer)),
            "https://HOST[:PORT][/PATH], without query and fragment");
    oidc.client_id = read_word(spec.client_id, "client id", {});
    oidc.audience = read_word(spec.audience, "audience", oidc.client_id);
    for (const Text& party : spec.authorized_parties.value)
      oidc.authorized_parties.push_back(read_word(party, "client id", {}));
    oidc.username_claim = read_word(spec.username_claim, "claim", {});
    oidc.groups_claim = read_word(spec.groups_claim, "claim", oidc.groups_claim);
    if (oidc.username_claim == "email" || oidc.username_claim == "preferred_username" || oidc.username_claim == "name")
      warn(spec.username_claim,
           fmt::format("users can change {} at some providers, and so become another user",
                       in_backticks(oidc.username_claim)),
           "use `sub`, or verify that only the provider's administrators can change the claim");
    if (spec.client_secret.from_file()) {
      oidc.client_secret = spec.client_secret.value;
      SecretReference& secret = *oidc.client_secret;
      if (secret.kind == SecretReference::Kind::file) secret.words.front() = absolute(secret.words.front());
    }
    if (spec.algorithms.from_file()) oidc.algorithms = read_algorithms(spec.algorithms);
    if (spec.scopes.from_file()) oidc.scopes = read_scopes(spec.scopes);
    oidc.ca = read_path(spec.ca);
    policy_.oidc = std::move(oidc);
  }

  std::vector<std::string> read_algorithms(const model::Sourced<SourcedTexts>& given) {
    const std::vector<std::string_view> known(std::begin(kAlgorithmNames), std::end(kAlgorithmNames));
    std::vector<std::string> names;
    for (const Text& name : given.value) {
      if (std::find(known.begin(), known.end(), name.value) == known.end()) {
        std::string hint = did_you_mean(name.value, known);
        if (name->starts_with("HS") || equals_ignoring_case(name.value, "none"))
          hint = "tokens must be signed with the provider's private key: " + join(known, ", ", " or ");
        error(name, fmt::format("{} is not an accepted algorithm", in_backticks(name.value)),
              hint.empty() ? join(known, ", ", " or ") : std::move(hint));
      } else if (std::find(names.begin(), names.end(), name.value) == names.end()) {
        names.push_back(name.value);
      }
    }
    if (given->empty()) diagnostics_.error(given.place, "the list of algorithms is empty");
    return names;
  }

  std::vector<std::string> read_scopes(const model::Sourced<SourcedTexts>& given) {
    std::vector<std::string> scopes;
    for (const Text& scope : given.value) scopes.push_back(read_word(scope, "scope", {}));
    if (std::find(scopes.begin(), scopes.end(), "openid") == scopes.end())
      diagnostics_.error(given.place, "the scope `openid` is missing");
    return scopes;
  }

  void read_roles() {
    for (const AccessRoleSpec& spec : spec_.roles.value) {
      if (!spec.role.from_file()) continue;
      if (has_tenant(spec.role.value)) {
        check_tenant(spec);
      } else if (spec.tenant.from_file()) {
        error(spec.tenant, fmt::format("the role {} does not belong to a tenant", to_text(spec.role.value)),
              "remove `tenant`, or use the role user or tenant-admin");
      }
      RoleRule rule{{spec.role.value, spec.tenant.value}, {}, {}};
      const bool is_anyone = spec.users->empty() && spec.groups->empty();
      if (is_anyone) diagnostics_.error(spec.place, "the role has neither users nor groups");
      for (const Text& user : spec.users.value) {
        if (check_name(user, true) && !rule.users.insert(user.value).second) warn_of_repeat(user);
      }
      for (const Text& group : spec.groups.value) {
        if (check_name(group, false) && !rule.groups.insert(group.value).second) warn_of_repeat(group);
      }
      warn_of_duplicates(rule, spec);
      policy_.roles.push_back(std::move(rule));
    }
  }

  void check_tenant(const AccessRoleSpec& spec) {
    if (!spec.tenant.from_file()) {
      diagnostics_.error(spec.role.place, fmt::format("the role {} needs a tenant", to_text(spec.role.value)),
                         "set `tenant`; \"*\" is every tenant");
      return;
    }
    const std::string& tenant = spec.tenant.value;
    if (tenant.empty() || std::any_of(tenant.begin(), tenant.end(), is_control)) {
      error(spec.tenant, "is not the name of a tenant");
    } else if (tenant != kAllTenants &&
               std::find(context_.tenants.begin(), context_.tenants.end(), tenant) == context_.tenants.end()) {
      const std::vector<std::string_view> known(context_.tenants.begin(), context_.tenants.end());
      warn(spec.tenant, fmt::format("the cluster has no tenant {}", in_backticks(tenant)), did_you_mean(tenant, known));
    }
  }

  bool check_name(const Text& name, bool is_user) {
    // Names that only the kernel can vouch for may have roles too: root is an admin in any case.
    const Status status = is_user ? check_user_name(name.value) : check_group_name(name.value);
    if (status.ok()) return true;
    if (is_user && name.value == "root") {
      error(name, "root is an admin over the Unix socket in any case, and cannot sign in otherwise", "remove it");
      return false;
    }
    error(name, status.error().message, name.value == "*" ? "name users, or groups that all of them have" : "");
    return false;
  }

  void warn_of_repeat(const Text& name) { warn(name, fmt::format("{} is listed twice", in_backticks(name.value))); }

  void warn_of_duplicates(const RoleRule& rule, const AccessRoleSpec& spec) {
    for (const bool is_user : {true, false}) {
      const SourcedTexts& names = is_user ? spec.users.value : spec.groups.value;
      for (const Text& name : names) {
        const auto key = std::tuple(is_user, rule.grant.role, rule.grant.tenant, name.value);
        const auto [known, fresh] = granted_.try_emplace(key, name.place);
        if (fresh || known->second.line == name.place.line) continue;
        warn(name, fmt::format("{} has this role already, on line {}", in_backticks(name.value), known->second.line));
      }
    }
  }

  void read_accounts() {
    for (const auto& [user, account] : spec_.accounts.value) {
      if (user != kAllUsers) {
        if (const Status fine = check_user_name(user); !fine.ok() && user != context_.server_user) {
          diagnostics_.error(account.place, fine.error().message, {}, std::max<std::size_t>(user.size(), 1));
          continue;
        }
      }
      if (!is_account_name(account.value)) {
        error(account, fmt::format("{} is not the name of a Unix account", in_backticks(account.value)));
      } else if (account.value == "root") {
        error(account, "jobs of users of the network must not run as root", "name another account");
      } else {
        policy_.accounts.emplace(user, account.value);
      }
    }
  }

  void read_sessions() {
    const AccessSessionsSpec& spec = spec_.sessions.value;
    SessionPolicy& sessions = policy_.sessions;
    if (spec.longest.from_file()) sessions.longest = spec.longest.value;
    sessions.idle = spec.idle.from_file() ? spec.idle.value : std::min(sessions.idle, sessions.longest);
    if (sessions.longest < kMinIdle || sessions.longest > kMaxSession)
      diagnostics_.error(spec.longest.place, "`longest` must be between 1m and 7d");
    if (spec.idle.from_file() && (sessions.idle < kMinIdle || sessions.idle > sessions.longest))
      diagnostics_.error(spec.idle.place,
                         fmt::format("`idle` must be between 1m and `longest`, {}", to_text(sessions.longest)));
  }

  void read_second_person() {
    for (const Text& id : spec_.second_person.value) {
      if (std::find(context_.operations.begin(), context_.operations.end(), id.value) == context_.operations.end()) {
        const std::vector<std::string_view> known(context_.operations.begin(), context_.operations.end());
        error(id, fmt::format("unknown operation {}", in_backticks(id.value)), did_you_mean(id.value, known));
      } else if (!policy_.second_person.insert(id.value).second) {
        warn_of_repeat(id);
      }
    }
  }

  void read_limits() {
    const AccessLimitsSpec& spec = spec_.limits.value;
    if (spec.requests_per_minute.from_file()) policy_.limits.requests_per_minute = spec.requests_per_minute.value;
    if (spec.source_requests_per_minute.from_file())
      policy_.limits.source_requests_per_minute = spec.source_requests_per_minute.value;
    if (spec.failures_per_minute.from_file()) policy_.limits.failures_per_minute = spec.failures_per_minute.value;
  }

  void read_audit() {
    const AccessAuditSpec& spec = spec_.audit.value;
    policy_.audit = {spec.syslog.value, read_path(spec.ca)};
    if (!spec.syslog.from_file()) {
      if (spec.ca.from_file()) error(spec.ca, "`ca` has no effect without `syslog`");
      return;
    }
    const Result<oob::SyslogTarget> target = oob::parse_syslog_target(spec.syslog.value);
    if (!target.ok()) return error(spec.syslog, target.error().text(), "tls://HOST[:PORT] or tcp://HOST[:PORT]");
    if (!target->tls)
      warn(spec.syslog, "audit entries are sent without encryption, and can be changed on the way", "use tls://");
    if (!target->tls && spec.ca.from_file()) error(spec.ca, "`ca` has no effect without tls://");
  }

  void warn_about_exposure() {
    const bool is_public = std::any_of(policy_.listen.begin(), policy_.listen.end(),
                                       [](const ListenAddress& address) { return !address.is_loopback; });
    const SourceLocation& place = spec_.listen.has_value() ? spec_.listen.place : spec_.place;
    if (policy_.roles.empty() && !policy_.listen.empty())
      diagnostics_.warning(place, "no user has a role: only the machine's administrators can use the API",
                           "set `roles`");
    if (!is_public) return;
    if (!policy_.oidc && policy_.tls.client_ca.empty())
      diagnostics_.warning(place, "without `oidc` and `tls: {client_ca: ...}`, users can sign in with tokens only");
    if (policy_.oidc && policy_.hosts.empty())
      diagnostics_.warning(place, "without `hosts`, browsers on other machines are refused", "set `hosts`");
  }

  const AccessFileSpec& spec_;
  std::string folder_;
  const PolicyContext& context_;
  Diagnostics& diagnostics_;
  AccessPolicy policy_;
  std::map<std::tuple<bool, Role, std::string, std::string>, SourceLocation> granted_;
};

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const Error invalid{
      ErrorCode::invalid_input, fmt::format("{} is not an address to listen on", in_backticks(text)), {}};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return invalid;
  const Result<std::int64_t> number = parse_integer(port);
  if (!number.ok() || number.value() > 65'535) return invalid;
  ListenAddress address;
  address.port = static_cast<std::uint16_t>(number.value());
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) {
    const Result<Ipv6> v6 = parse_ipv6(host.substr(1, host.size() - 2));
    if (!v6.ok()) return invalid;
    address.host = to_text(v6.value());
    address.is_loopback = address.host == "::1";
    return address;
  }
  const Result<Ipv4> v4 = parse_ipv4(host);
  if (!v4.ok()) return invalid;
  address.host = to_text(v4.value());
  address.is_loopback = (v4->bits >> 24U) == 127;
  return address;
}

std::optional<AccessPolicy> read_access_policy(const Sources& sources, FileId file, const PolicyContext& context,
                                               Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  const std::optional<AccessFileSpec> spec = read_access_records(sources, file, diagnostics);
  if (!spec) return std::nullopt;
  AccessPolicy policy = PolicyReader(*spec, oob::folder_of(sources.path(file)), context, diagnostics).read();
  if (diagnostics.error_count() != before) return std::nullopt;
  return policy;
}

std::optional<AccessPolicy> load_access_policy(const std::string& path, const PolicyContext& context, Sources& sources,
                                               Diagnostics& diagnostics) {
  Result<std::string> text = read_private_file(path, Others::may_read, kMaxFileBytes);
  if (!text.ok()) {
    const FileId file = sources.add(path, {});
    diagnostics.error({file, 0, 0}, text.error().message);
    return std::nullopt;
  }
  return read_access_policy(sources, sources.add(path, std::move(text).value()), context, diagnostics);
}

}  // namespace weft::access
