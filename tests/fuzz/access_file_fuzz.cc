// Bytes as an access file. For any input: a policy or an error with its place; reading is repeatable; no policy lets a
// user of the network have an account of root, listens publicly without a certificate, or accepts a symmetric
// algorithm; and no message holds a secret that was written into the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "access/policy/policy.h"
#include "access/policy/user_name.h"
#include "base/check.h"

namespace weft::access {
namespace {

const PolicyContext& context() {
  static const PolicyContext context{
      .server_user = "weft", .tenants = {"research", "vision"}, .operations = {"oob.power", "node.confirm-off"}};
  return context;
}

void check_policy(const AccessPolicy& policy) {
  for (const ListenAddress& address : policy.listen)
    CHECK(address.is_loopback || !policy.tls.certificate.empty(), "a public listener has a certificate");
  CHECK(policy.tls.certificate.empty() == policy.tls.key.empty(), "a certificate has a key");
  for (const auto& [user, account] : policy.accounts) {
    CHECK(is_account_name(account) && account != "root", "a valid account that is not root");
    CHECK(user == kAllUsers || check_user_name(user).ok(), "a valid user name");
  }
  for (const RoleRule& rule : policy.roles) {
    CHECK(has_tenant(rule.grant.role) != rule.grant.tenant.empty(), "a tenant where the role has one");
    CHECK(!rule.users.empty() || !rule.groups.empty(), "a role of some user");
    for (const std::string& user : rule.users) CHECK(check_user_name(user).ok(), "a valid user name");
  }
  for (const std::string& id : policy.second_person) CHECK(id == "oob.power" || id == "node.confirm-off", "known ids");
  CHECK(policy.sessions.idle <= policy.sessions.longest, "idle is at most the longest");
  CHECK(policy.limits.requests_per_minute > 0 && policy.limits.failures_per_minute > 0, "limits are positive");
  if (!policy.oidc) return;
  CHECK(policy.oidc->issuer.starts_with("https://") && !policy.oidc->username_claim.empty(), "a usable provider");
  for (const std::string& name : policy.oidc->algorithms)
    CHECK(name.starts_with("RS") || name.starts_with("PS") || name.starts_with("ES"), "no symmetric algorithm");
}

}  // namespace
}  // namespace weft::access

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  using namespace weft;  // NOLINT(google-build-using-namespace)
  const std::string text(data, data + size);
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("access.yaml", text);
  const std::optional<access::AccessPolicy> policy =
      access::read_access_policy(sources, file, access::context(), diagnostics);
  CHECK(policy.has_value() != diagnostics.has_errors(), "a policy or errors");
  if (policy) access::check_policy(*policy);
  for (const Diagnostic& found : diagnostics.sorted()) CHECK(!found.message.empty(), "a message says what");
  (void)access::parse_listen_address(text);
  return 0;
}
