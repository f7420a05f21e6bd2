#include "access/policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "access/secret/test_support.h"

namespace weft::access {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const PolicyContext kContext{.server_user = "weft",
                             .tenants = {"research", "vision"},
                             .operations = {"node.confirm-off", "oob.power", "oob.rotate"}};

constexpr const char* kFull = R"(weft_access: 1
listen: [127.0.0.1:8443, "[::]:8443"]
tls: {certificate: tls.pem, key: /etc/weft/tls.key, client_ca: clients.pem}
hosts: [Weft.example.org]
oidc:
  issuer: https://id.example.org/realms/hpc
  client_id: weft
  client_secret: {file: oidc.secret}
  username_claim: sub
  ca: id-ca.pem
roles:
  - {role: admin, groups: [weft-admins]}
  - {role: operator, users: [ada], groups: [sre]}
  - {role: tenant-admin, tenant: research, users: [bob]}
  - {role: user, tenant: research, groups: [research]}
  - {role: viewer, groups: [staff]}
accounts: {carol@example.org: carol, "*": shared}
sessions: {idle: 10m, longest: 8h}
second_person: [node.confirm-off, oob.power]
limits: {requests_per_minute: 60, source_requests_per_minute: 3000, failures_per_minute: 5}
audit: {syslog: tls://log.example.org, ca: log-ca.pem}
)";

struct Reading {
  std::optional<AccessPolicy> policy;
  std::string report;  // errors and warnings
  std::size_t errors = 0;
  std::size_t warnings = 0;
};

Reading read(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("conf/access.yaml", text);
  Reading reading;
  reading.policy = read_access_policy(sources, file, kContext, diagnostics);
  reading.report = render_all(diagnostics, sources, false);
  reading.errors = diagnostics.error_count();
  reading.warnings = diagnostics.warning_count();
  EXPECT_EQ(reading.policy.has_value(), reading.errors == 0);
  return reading;
}

// The default policy plus these lines; a role, so that there are no other warnings.
Reading read_with(const std::string& lines) {
  return read("weft_access: 1\nroles: [{role: viewer, groups: [staff]}]\n" + lines);
}

TEST(AccessFileTest, ReadsTheClientsOfTokensWithSeveralAudiences) {
  const std::string oidc = "oidc: {issuer: \"https://id.example.org\", client_id: weft, username_claim: sub, ";
  const Reading reading = read_with(oidc + "authorized_parties: [ci, portal]}\n");
  ASSERT_TRUE(reading.policy) << reading.report;
  EXPECT_THAT(reading.policy->oidc->authorized_parties, ElementsAre("ci", "portal"));
  EXPECT_EQ(read_with(oidc + "authorized_parties: [\"\"]}\n").errors, 1U);
}

TEST(AccessFileTest, ReadsEverything) {
  const Reading reading = read(kFull);
  ASSERT_TRUE(reading.policy) << reading.report;
  EXPECT_EQ(reading.warnings, 0U) << reading.report;
  const AccessPolicy& policy = *reading.policy;
  EXPECT_TRUE(policy.from_file);
  EXPECT_EQ(policy.server_user, "weft");
  EXPECT_THAT(policy.listen, ElementsAre(ListenAddress{"127.0.0.1", 8443, true}, ListenAddress{"::", 8443, false}));
  EXPECT_EQ(policy.tls, (TlsPolicy{"conf/tls.pem", "/etc/weft/tls.key", "conf/clients.pem"}));
  EXPECT_THAT(policy.hosts, ElementsAre("weft.example.org"));
  ASSERT_TRUE(policy.oidc);
  EXPECT_EQ(policy.oidc->issuer, "https://id.example.org/realms/hpc");
  EXPECT_EQ(policy.oidc->audience, "weft");
  EXPECT_EQ(policy.oidc->groups_claim, "groups");
  EXPECT_EQ(policy.oidc->client_secret, (SecretReference{SecretReference::Kind::file, {"conf/oidc.secret"}}));
  EXPECT_THAT(policy.oidc->algorithms, ElementsAre("RS256", "ES256"));
  EXPECT_THAT(policy.oidc->scopes, ElementsAre("openid", "profile", "groups"));
  EXPECT_EQ(policy.oidc->ca, "conf/id-ca.pem");
  EXPECT_EQ(policy.roles.size(), 5U);
  EXPECT_EQ(policy.accounts.size(), 2U);
  EXPECT_EQ(policy.sessions, (SessionPolicy{milliseconds(600'000), milliseconds(8 * 3600'000)}));
  EXPECT_TRUE(policy.needs_second_person("oob.power"));
  EXPECT_FALSE(policy.needs_second_person("oob.rotate"));
  EXPECT_EQ(policy.limits, (LimitPolicy{60, 3000, 5}));
  EXPECT_EQ(policy.audit, (AuditPolicy{"tls://log.example.org", "conf/log-ca.pem"}));
}

TEST(AccessFileTest, HasDefaults) {
  const Reading reading = read("weft_access: 1\n");
  ASSERT_TRUE(reading.policy) << reading.report;
  EXPECT_THAT(reading.report, HasSubstr("no user has a role"));
  EXPECT_THAT(reading.policy->listen, ElementsAre(ListenAddress{"127.0.0.1", 8443, true}));
  EXPECT_EQ(reading.policy->limits, LimitPolicy{});
  EXPECT_EQ(reading.policy->sessions, SessionPolicy{});
  EXPECT_FALSE(reading.policy->oidc);
  const Reading silent = read_with("listen: []\n");
  ASSERT_TRUE(silent.policy) << silent.report;
  EXPECT_TRUE(silent.policy->listen.empty());
  EXPECT_EQ(silent.warnings, 0U) << silent.report;
  const Reading shorter = read_with("sessions: {longest: 5m}\n");
  ASSERT_TRUE(shorter.policy) << shorter.report;
  EXPECT_EQ(shorter.policy->sessions.idle, milliseconds(300'000));
}

struct BadLine {
  const char* lines;
  const char* message;
};

TEST(AccessFileTest, ReportsErrors) {
  const BadLine rows[] = {
      {"lisen: 127.0.0.1:1\n", "did you mean `listen`?"},
      {"listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", "listen"},
      {"listen: 127.0.0.1\n", "not an address to listen on"},
      {"listen: 127.0.0.1:65536\n", "not an address to listen on"},
      {"listen: \"::1:8443\"\n", "not an address to listen on"},
      {"listen: \"*:8443\"\n", "not an address to listen on"},
      {"listen: weft.example.org:8443\n", "not an address to listen on"},
      {"listen: 0.0.0.0:8443\n", "there is no certificate"},
      {"listen: \"[2001:db8::1]:8443\"\n", "there is no certificate"},
      {"listen: {a: b}\n", "expected text"},
      {"tls: {certificate: a.pem}\n", "its key is missing"},
      {"tls: {key: a.pem}\n", "certificate of this key is missing"},
      {"tls: {certificate: \"\", key: b}\n", "not the path of a file"},
      {"hosts: [https://weft.example.org]\n", "not a host name"},
      {"hosts: [weft:8443]\n", "not a host name"},
      {"oidc: {issuer: https://id, client_id: weft}\n", "needs `username_claim`"},
      {"oidc: {username_claim: sub, client_id: weft}\n", "needs `issuer`"},
      {"oidc: {issuer: http://id, client_id: weft, username_claim: sub}\n", "not an issuer"},
      {"oidc: {issuer: \"https://u:p@id\", client_id: weft, username_claim: sub}\n", "not an issuer"},
      {"oidc: {issuer: \"https://id/?a=b\", client_id: weft, username_claim: sub}\n", "not an issuer"},
      {"oidc: {issuer: \"https://id:0/\", client_id: weft, username_claim: sub}\n", "not an issuer"},
      {"oidc: {issuer: \"https:///x\", client_id: weft, username_claim: sub}\n", "not an issuer"},
      {"oidc: {issuer: https://id, client_id: \"a b\", username_claim: sub}\n", "not a valid client id"},
      {"oidc: {issuer: https://id, client_id: a, username_claim: \"\"}\n", "not a valid claim"},
      {"oidc: {issuer: https://id, client_id: a, username_claim: sub, algorithms: [none]}\n", "private key"},
      {"oidc: {issuer: https://id, client_id: a, username_claim: sub, algorithms: [HS256]}\n", "private key"},
      {"oidc: {issuer: https://id, client_id: a, username_claim: sub, algorithms: [rs256]}\n", "not an accepted"},
      {"oidc: {issuer: https://id, client_id: a, username_claim: sub, algorithms: []}\n", "is empty"},
      {"oidc: {issuer: https://id, client_id: a, username_claim: sub, scopes: [groups]}\n", "`openid` is missing"},
      {"oidc: {issuer: https://id, client_id: a, username_claim: sub, client_secret: x}\n", "must not be in this file"},
      {"accounts: {ada: root}\n", "must not run as root"},
      {"accounts: {\"*\": root}\n", "must not run as root"},
      {"accounts: {ada: a/b}\n", "not the name of a Unix account"},
      {"accounts: {root: ada}\n", "reserved"},
      {"accounts: {\"a:b\": ada}\n", "not a valid name"},
      {"sessions: {idle: 10s}\n", "between 1m and `longest`"},
      {"sessions: {idle: 13h}\n", "between 1m and `longest`"},
      {"sessions: {longest: 8d}\n", "between 1m and 7d"},
      {"sessions: {idle: 30}\n", ""},
      {"second_person: [oob.powr]\n", "did you mean `oob.power`?"},
      {"limits: {requests_per_minute: 0}\n", "between 1 and"},
      {"limits: {failures_per_minute: -1}\n", "between 1 and"},
      {"limits: {requests_per_minute: many}\n", "whole number"},
      {"audit: {syslog: udp://log}\n", "tls://HOST"},
      {"audit: {ca: x.pem}\n", "no effect without `syslog`"},
      {"audit: {syslog: tcp://log, ca: x.pem}\n", "no effect without tls://"},
  };
  for (const BadLine& row : rows) {
    const Reading reading = read_with(row.lines);
    EXPECT_FALSE(reading.policy) << row.lines;
    EXPECT_THAT(reading.report, HasSubstr(row.message)) << row.lines;
    EXPECT_THAT(reading.report, HasSubstr("conf/access.yaml:")) << row.lines;
  }
}

TEST(AccessFileTest, ReportsErrorsOfRoles) {
  const BadLine rows[] = {
      {"{role: user, users: [ada]}", "needs a tenant"},
      {"{role: tenant-admin, users: [ada]}", "needs a tenant"},
      {"{role: operator, tenant: research, users: [ada]}", "does not belong to a tenant"},
      {"{role: admin, tenant: \"*\", users: [ada]}", "does not belong to a tenant"},
      {"{role: operater, users: [ada]}", "did you mean `operator`?"},
      {"{role: viewer}", "neither users nor groups"},
      {"{role: viewer, users: []}", "neither users nor groups"},
      {"{users: [ada]}", "needs `role`"},
      {"{role: viewer, users: [root]}", "cannot sign in otherwise"},
      {"{role: viewer, users: [\"*\"]}", "name users, or groups"},
      {"{role: viewer, groups: [\"*\"]}", "name users, or groups"},
      {"{role: viewer, users: [\"a/b\"]}", "not a valid name"},
      {"{role: viewer, users: [\" \"]}", "spaces at an end"},
      {"{role: viewer, users: [ada], tenants: [a]}", "did you mean `tenant`?"},
      {"{role: user, tenant: \"\", users: [ada]}", "not the name of a tenant"},
  };
  for (const BadLine& row : rows) {
    const Reading reading = read(std::string("weft_access: 1\nroles: [") + row.lines + "]\n");
    EXPECT_FALSE(reading.policy) << row.lines;
    EXPECT_THAT(reading.report, HasSubstr(row.message)) << row.lines;
  }
}

TEST(AccessFileTest, ReportsAllErrorsInOneRun) {
  const Reading reading = read("weft_access: 2\nlisten: x\nroles: [{role: user, users: [\"\"]}]\nlimit: 1\n");
  EXPECT_EQ(reading.errors, 5U) << reading.report;
  EXPECT_FALSE(read("").policy);
  EXPECT_FALSE(read("[]").policy);
  EXPECT_FALSE(read("x").policy);
  EXPECT_FALSE(read("roles: []").policy);
}

TEST(AccessFileTest, Warns) {
  const BadLine rows[] = {
      {"roles: [{role: user, tenant: reserch, users: [ada]}]", "did you mean `research`?"},
      {"roles: [{role: viewer, users: [ada, ada]}]", "listed twice"},
      {"roles:\n- {role: viewer, users: [ada]}\n- {role: viewer, users: [ada]}", "has this role already, on line 3"},
      {"roles: [{role: viewer, groups: [a]}]\noidc: {issuer: https://id, client_id: a, username_claim: email}",
       "users can change"},
      {"roles: [{role: viewer, groups: [a]}]\nlisten: 0.0.0.0:1\ntls: {certificate: a, key: b}", "with tokens only"},
      {"roles: [{role: viewer, groups: [a]}]\nlisten: 0.0.0.0:1\ntls: {certificate: a, key: b}\n"
       "oidc: {issuer: https://id, client_id: a, username_claim: sub}",
       "without `hosts`"},
      {"roles: [{role: viewer, groups: [a]}]\nlisten: [127.0.0.1:1, 127.0.0.1:1]", "listed twice"},
      {"roles: [{role: viewer, groups: [a]}]\nsecond_person: [oob.power, oob.power]", "listed twice"},
      {"roles: [{role: viewer, groups: [a]}]\naudit: {syslog: tcp://log}", "without encryption"},
      {"listen: 127.0.0.1:1", "no user has a role"},
  };
  for (const BadLine& row : rows) {
    const Reading reading = read(std::string("weft_access: 1\n") + row.lines + "\n");
    EXPECT_TRUE(reading.policy) << reading.report;
    EXPECT_EQ(reading.warnings, 1U) << reading.report;
    EXPECT_THAT(reading.report, HasSubstr(row.message)) << row.lines;
  }
}

Access access_of(const AccessPolicy& policy, const std::string& user, std::vector<std::string> groups,
                 Method method = Method::bearer) {
  return policy.access_of({user, std::move(groups), method, {}});
}

TEST(AccessPolicyTest, JoinsTheGrantsOfUserAndGroups) {
  const AccessPolicy policy = *read(kFull).policy;
  EXPECT_TRUE(access_of(policy, "x", {"weft-admins"}).is_admin());
  EXPECT_TRUE(access_of(policy, "ada", {}).is_operator());
  EXPECT_FALSE(access_of(policy, "ada", {}).is_admin());
  EXPECT_TRUE(access_of(policy, "x", {"sre"}).is_operator());
  EXPECT_EQ(access_of(policy, "bob", {"research", "staff"}).grants(),
            (std::vector<Grant>{{Role::tenant_admin, "research"}, {Role::user, "research"}, {Role::viewer, ""}}));
  EXPECT_EQ(access_of(policy, "x", {"research"}, Method::unix_socket).grants(),
            (std::vector<Grant>{{Role::user, "research"}}));
  EXPECT_FALSE(access_of(policy, "x", {"ada"}).has_any_role());
  EXPECT_FALSE(access_of(policy, "sre", {}).has_any_role());
  EXPECT_FALSE(access_of(policy, "Ada", {}).has_any_role());
  EXPECT_FALSE(access_of(policy, "", {"weft-admins"}).has_any_role());
}

TEST(AccessPolicyTest, TrustsNamesOfTheMachineOnlyFromTheMachine) {
  const AccessPolicy policy = *read(kFull).policy;
  for (const AccessPolicy& each : {policy, AccessPolicy::local("weft")}) {
    for (const char* name : {"root", "weft"}) {
      EXPECT_TRUE(access_of(each, name, {}, Method::unix_socket).is_admin());
      EXPECT_TRUE(access_of(each, name, {}, Method::token).is_admin());
      for (const Method method : {Method::certificate, Method::bearer, Method::browser, Method::cli})
        EXPECT_FALSE(access_of(each, name, {"weft-admins"}, method).has_any_role());
    }
  }
}

TEST(AccessPolicyTest, ChecksNamesFromOutside) {
  const AccessPolicy policy = AccessPolicy::local("weft");
  const auto check = [&](const char* name, Method method) {
    return policy.check_identity({name, {}, method, {}}).ok();
  };
  for (const Method method : {Method::certificate, Method::bearer, Method::browser, Method::cli}) {
    for (const char* name : {"root", "weft", "a/b", "", "*"}) EXPECT_FALSE(check(name, method)) << name;
    EXPECT_TRUE(check("carol@example.org", method));
  }
  for (const Method method : {Method::unix_socket, Method::token}) {
    for (const char* name : {"root", "weft", "ada", "DOMAIN\\ada"}) EXPECT_TRUE(check(name, method)) << name;
    EXPECT_FALSE(check("", method));
  }
}

TEST(AccessPolicyTest, AdmitsAllLocalUsersWithoutAFile) {
  const AccessPolicy policy = AccessPolicy::local("weft");
  EXPECT_TRUE(policy.listen.empty());
  EXPECT_FALSE(policy.from_file);
  const Access access = access_of(policy, "ada", {}, Method::unix_socket);
  EXPECT_EQ(access.grants(), (std::vector<Grant>{{Role::viewer, ""}, {Role::user, "*"}}));
  EXPECT_TRUE(access.may_submit_to("research"));
  EXPECT_FALSE(access.may_change("research", "bob"));
}

TEST(AccessPolicyTest, MapsAccounts) {
  const AccessPolicy policy = *read(kFull).policy;
  const auto look_up = [](const std::string& name) { return std::optional(UnixAccount{name, 1234, 1234}); };
  EXPECT_EQ(policy.account_of("carol@example.org", look_up)->name, "carol");
  EXPECT_EQ(policy.account_of("ada", look_up)->name, "shared");
}

TEST(AccessPolicyTest, IsLoadedFromAFileThatOthersCannotChange) {
  const StoreFolder folder;
  const auto load = [&](mode_t mode) {
    Sources sources;
    Diagnostics diagnostics;
    const std::optional<AccessPolicy> policy =
        load_access_policy(folder.write("access.yaml", kFull, mode), kContext, sources, diagnostics);
    EXPECT_EQ(policy.has_value(), !diagnostics.has_errors());
    return policy ? policy->tls.certificate : render_all(diagnostics, sources, false);
  };
  EXPECT_EQ(load(0644), folder.file("tls.pem"));
  EXPECT_EQ(load(0600), folder.file("tls.pem"));
  EXPECT_THAT(load(0666), HasSubstr("others than its owner may write to it"));
  EXPECT_THAT(load(0664), HasSubstr("others than its owner may write to it"));
  Sources sources;
  Diagnostics diagnostics;
  EXPECT_FALSE(load_access_policy(folder.file("none"), kContext, sources, diagnostics));
  EXPECT_THAT(render_all(diagnostics, sources, false), HasSubstr("No such file"));
}

TEST(ListenAddressTest, ReadsAddresses) {
  EXPECT_EQ(*parse_listen_address("localhost:1"), (ListenAddress{"127.0.0.1", 1, true}));
  EXPECT_EQ(*parse_listen_address("127.9.9.9:0"), (ListenAddress{"127.9.9.9", 0, true}));
  EXPECT_EQ(*parse_listen_address("[::1]:65535"), (ListenAddress{"::1", 65535, true}));
  EXPECT_EQ(*parse_listen_address("10.0.0.1:443"), (ListenAddress{"10.0.0.1", 443, false}));
  for (const char* text : {"", ":", ":1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:+1", "127.0.0.1:000001", "[::1]",
                           "[::1:1", "[]:1", "127.0.0.1 :1"})
    EXPECT_FALSE(parse_listen_address(text).ok()) << text;
}

}  // namespace
}  // namespace weft::access
