// RedfishBmc: the accounts of the AccountService.
#include <fmt/format.h>

#include <utility>

#include "base/quoting.h"
#include "oob/redfish/bmc.h"
#include "oob/redfish/json.h"

namespace weft::oob {

Result<std::vector<Account>> RedfishBmc::accounts() {
  const std::string& path = session_->root().accounts;
  if (path.empty()) return error(ErrorCode::not_found, "has no account service");
  const Result<RedfishReply> service = session_->get(path);
  if (!service.ok()) return service.error();
  const std::string collection = path_of(service->value, {"Accounts"});
  if (collection.empty()) return error(ErrorCode::not_found, "has no accounts");
  const Result<std::vector<Value>> values = members(collection, kMaxMembers, true);
  if (!values.ok()) return values.error();
  std::vector<Account> out;
  for (const Value& value : *values) {
    Account account = parse_account(value);
    // Slots without a name (iDRAC has 16) are unused.
    if (!account.path.empty() && !account.user.name.empty()) out.push_back(std::move(account));
  }
  return out;
}

Result<std::vector<BmcUser>> RedfishBmc::users() {
  Result<std::vector<Account>> found = accounts();
  if (!found.ok()) return found.error();
  // Roles of the vendor or of the site.
  std::vector<std::string> roles;
  std::vector<Account*> holders;
  for (Account& account : *found) {
    if (account.user.role != UserRole::none || account.role_path.empty()) continue;
    roles.push_back(account.role_path);
    holders.push_back(&account);
  }
  const std::vector<Result<Value>> values = session_->get_many(roles);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].ok()) holders[i]->user.role = parse_role(*values[i]);
  }
  std::vector<BmcUser> out;
  out.reserve(found->size());
  for (Account& account : *found) out.push_back(std::move(account.user));
  return out;
}

Result<Account> RedfishBmc::account_of(const std::string& user) {
  Result<std::vector<Account>> found = accounts();
  if (!found.ok()) {
    // Until an initial password is changed, a service may expose only the account itself (DSP0266, "Password change
    // required"), and reports its path.
    if (user != session_->user() || session_->change_account().empty()) return found.error();
    Account own;
    own.path = session_->change_account();
    return own;
  }
  for (Account& account : *found) {
    if (account.user.name == user) return std::move(account);
  }
  return error(ErrorCode::not_found, "has no user " + user);
}

Status RedfishBmc::set_password(const std::string& user, const Secret& password) {
  session_->keep_out_of_messages(password);
  const Result<Account> account = account_of(user);
  if (!account.ok()) return account.error();
  const Secret quoted(json_quote_secret(password.reveal()));
  const Secret body(fmt::format(R"({{"Password":{}}})", quoted.reveal()));
  const Result<RedfishReply> reply = session_->patch(account->path, body.reveal(), account->etag);
  if (!reply.ok()) return reply.error();
  if (user == session_->user()) session_->password_changed(password);
  return finish(*reply);
}

Status RedfishBmc::set_user_enabled(const std::string& user, bool enabled) {
  const Result<Account> account = account_of(user);
  if (!account.ok()) return account.error();
  const Result<RedfishReply> reply =
      session_->patch(account->path, fmt::format(R"({{"Enabled":{}}})", enabled), account->etag);
  if (!reply.ok()) return reply.error();
  if (Status done = finish(*reply); !done.ok()) return done;
  const Result<RedfishReply> now = session_->get(account->path);
  if (!now.ok()) return now.error();
  if (parse_account(now->value).user.enabled == enabled) return {};
  return error(ErrorCode::conflict,
               fmt::format("{} of user {} was accepted but not applied", enabled ? "enabling" : "disabling", user));
}

}  // namespace weft::oob
