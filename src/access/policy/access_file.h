// The access file as it is written: records with the places of their values, and the tables that read them. What the
// values mean, and whether they go together, is checked in policy_reader.cc. Private to policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/identity/access.h"
#include "access/secret/reference.h"
#include "model/schema.h"

namespace weft::access {

const std::vector<std::pair<std::string_view, Role>>& choices_of(Role);

using SourcedTexts = std::vector<model::Sourced<std::string>>;

// One text, or a list of them.
struct OneOrMore {
  SourcedTexts items;
};

struct AccessTlsSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> certificate;
  model::Sourced<std::string> key;
  model::Sourced<std::string> client_ca;
};

struct AccessOidcSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> issuer;
  model::Sourced<std::string> client_id;
  model::Sourced<SecretReference> client_secret;
  model::Sourced<std::string> audience;
  model::Sourced<SourcedTexts> authorized_parties;
  model::Sourced<std::string> username_claim;
  model::Sourced<std::string> groups_claim;
  model::Sourced<SourcedTexts> algorithms;
  model::Sourced<SourcedTexts> scopes;
  model::Sourced<std::string> ca;
};

struct AccessRoleSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<Role> role;
  model::Sourced<std::string> tenant;
  model::Sourced<SourcedTexts> users;
  model::Sourced<SourcedTexts> groups;
};

struct AccessSessionsSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<Duration> idle;
  model::Sourced<Duration> longest;
};

struct AccessLimitsSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> requests_per_minute;
  model::Sourced<std::int64_t> source_requests_per_minute;
  model::Sourced<std::int64_t> failures_per_minute;
};

struct AccessAuditSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> syslog;
  model::Sourced<std::string> ca;
};

struct AccessFileSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> weft_access;
  model::Sourced<OneOrMore> listen;
  model::Sourced<AccessTlsSpec> tls;
  model::Sourced<SourcedTexts> hosts;
  model::Sourced<AccessOidcSpec> oidc;
  model::Sourced<std::vector<AccessRoleSpec>> roles;
  model::Sourced<model::NamedValues<std::string>> accounts;
  model::Sourced<AccessSessionsSpec> sessions;
  model::Sourced<SourcedTexts> second_person;
  model::Sourced<AccessLimitsSpec> limits;
  model::Sourced<AccessAuditSpec> audit;
};

// Nullopt if it is not a mapping. Values that were reported as errors are unset.
[[nodiscard]] std::optional<AccessFileSpec> read_access_records(const Sources& sources, FileId file,
                                                                Diagnostics& diagnostics);

}  // namespace weft::access

namespace weft {

template <>
struct model::Codec<access::OneOrMore> {
  static bool read(const YamlNode& node, Diagnostics& diagnostics, access::OneOrMore& out);
  static void write(const access::OneOrMore& value, model::YamlWriter& writer);
  static model::ValueType describe();
};

}  // namespace weft
