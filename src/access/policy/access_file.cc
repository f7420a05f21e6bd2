#include "access/policy/access_file.h"

namespace weft::access {

const std::vector<std::pair<std::string_view, Role>>& choices_of(Role) {
  static const std::vector<std::pair<std::string_view, Role>> choices = [] {
    std::vector<std::pair<std::string_view, Role>> names;
    for (const Role role : kRoles) names.emplace_back(to_text(role), role);
    return names;
  }();
  return choices;
}

}  // namespace weft::access

namespace weft::model {

bool Codec<access::OneOrMore>::read(const YamlNode& node, Diagnostics& diagnostics, access::OneOrMore& out) {
  if (node.kind == YamlNode::Kind::sequence) return Codec<access::SourcedTexts>::read(node, diagnostics, out.items);
  out.items.resize(1);
  return Codec<Sourced<std::string>>::read(node, diagnostics, out.items.front());
}
void Codec<access::OneOrMore>::write(const access::OneOrMore& value, YamlWriter& writer) {
  Codec<access::SourcedTexts>::write(value.items, writer);
}
ValueType Codec<access::OneOrMore>::describe() { return Codec<access::SourcedTexts>::describe(); }

template <>
const Schema& schema_of<access::AccessTlsSpec>() {
  static const Schema schema = [] {
    using R = access::AccessTlsSpec;
    SchemaBuilder<R> b("tls", "Certificates of the TLS listener.");
    b.field("certificate", &R::certificate, "the server's certificate chain (PEM)");
    b.field("key", &R::key, "its private key (PEM)");
    b.field("client_ca", &R::client_ca, "CA certificates (PEM) of client certificates; default: none are accepted");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::AccessOidcSpec>() {
  static const Schema schema = [] {
    using R = access::AccessOidcSpec;
    SchemaBuilder<R> b("oidc", "The OpenID Connect provider that signs users in.");
    b.field("issuer", &R::issuer, "URL of the provider, exactly as in its tokens").required();
    b.field("client_id", &R::client_id, "name under which weft is registered at the provider").required();
    b.field("client_secret", &R::client_secret, "where the client's secret is read from; default: a public client");
    b.field("audience", &R::audience, "audience of bearer tokens; default: client_id");
    b.field("authorized_parties", &R::authorized_parties,
            "further clients (`azp`) whose bearer tokens may name other audiences beside this one");
    b.field("username_claim", &R::username_claim,
            "which claim is the user name; one that users cannot change themselves, such as sub")
        .required();
    b.field("groups_claim", &R::groups_claim, "which claim has the groups; default: groups");
    b.field("algorithms", &R::algorithms, "accepted signature algorithms; default: RS256 and ES256");
    b.field("scopes", &R::scopes, "requested scopes; default: openid, profile and groups");
    b.field("ca", &R::ca, "CA certificates (PEM) of the provider; default: the system's");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::AccessRoleSpec>() {
  static const Schema schema = [] {
    using R = access::AccessRoleSpec;
    SchemaBuilder<R> b("role", "A role and the users and groups that have it.");
    b.field("role", &R::role, "viewer, user, tenant-admin, operator or admin").required();
    b.field("tenant", &R::tenant, "of roles user and tenant-admin; \"*\": every tenant");
    b.field("users", &R::users, "user names");
    b.field("groups", &R::groups, "groups of the provider, organizations of client certificates, or Unix groups");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::AccessSessionsSpec>() {
  static const Schema schema = [] {
    using R = access::AccessSessionsSpec;
    SchemaBuilder<R> b("sessions", "How long a sign-in lasts.");
    b.field("idle", &R::idle, "a browser session ends after this time without requests; default: 30m");
    b.field("longest", &R::longest, "a session ends after this time in any case; default: 12h");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::AccessLimitsSpec>() {
  static const Schema schema = [] {
    using R = access::AccessLimitsSpec;
    SchemaBuilder<R> b("limits", "Rate limits.");
    b.field("requests_per_minute", &R::requests_per_minute, "per identity; default: 600").range(1, 1'000'000);
    b.field("source_requests_per_minute", &R::source_requests_per_minute,
            "per source address, of all its users; default: 6000")
        .range(1, 10'000'000);
    b.field("failures_per_minute", &R::failures_per_minute, "failed authentications per source address; default: 20")
        .range(1, 100'000);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::AccessAuditSpec>() {
  static const Schema schema = [] {
    using R = access::AccessAuditSpec;
    SchemaBuilder<R> b("audit", "Where audit entries are copied to.");
    b.field("syslog", &R::syslog, "tls://HOST[:PORT] or tcp://HOST[:PORT]");
    b.field("ca", &R::ca, "CA certificates (PEM) of the syslog server; default: the system's");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<access::AccessFileSpec>() {
  static const Schema schema = [] {
    using R = access::AccessFileSpec;
    SchemaBuilder<R> b("the access file", "Who may use the API, and how.");
    b.field("weft_access", &R::weft_access, "version of the file format: 1").required().range(1, 1);
    b.field("listen", &R::listen, "ADDRESS:PORT, or a list of them; default: 127.0.0.1:8443");
    b.field("tls", &R::tls, "certificates");
    b.field("hosts", &R::hosts, "names under which browsers reach the server");
    b.field("oidc", &R::oidc, "the OpenID Connect provider");
    b.field("roles", &R::roles, "which users and groups have which role");
    b.field("accounts", &R::accounts, "Unix accounts under which users' jobs run; \"*\": of all other users");
    b.field("sessions", &R::sessions, "how long a sign-in lasts");
    b.field("second_person", &R::second_person, "operations that another person must approve");
    b.field("limits", &R::limits, "rate limits");
    b.field("audit", &R::audit, "where audit entries are copied to");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model

namespace weft::access {

std::optional<AccessFileSpec> read_access_records(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  constexpr YamlLimits kLimits{.bytes = 1U << 20U, .nodes = 200'000, .depth = 8};
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics, kLimits);
  if (!root) return std::nullopt;
  if (root->kind == YamlNode::Kind::null) {
    diagnostics.error(root->place, "the file is empty", "an access file starts with `weft_access: 1`");
    return std::nullopt;
  }
  AccessFileSpec spec;
  if (!model::Codec<AccessFileSpec>::read(*root, diagnostics, spec)) return std::nullopt;
  return spec;
}

}  // namespace weft::access
