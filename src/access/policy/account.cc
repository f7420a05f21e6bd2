#include "access/policy/account.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::access {
namespace {

constexpr std::size_t kMaxAccountName = 32;
constexpr std::size_t kMaxEntry = std::size_t{1} << 16U;

}  // namespace

AccountLookup system_accounts() {
  return [](const std::string& name) -> std::optional<UnixAccount> {
    std::vector<char> buffer(kMaxEntry);
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
      return std::nullopt;
    return UnixAccount{found->pw_name, found->pw_uid, found->pw_gid};
  };
}

bool is_account_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxAccountName || name.front() == '-' || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; });
}

Result<UnixAccount> find_account_of(std::string_view user, const AccountMap& map, std::string_view server_user,
                                    const AccountLookup& look_up) {
  auto entry = map.find(user);
  if (entry == map.end()) entry = map.find(kAllUsers);
  const bool is_named = entry != map.end();
  const std::string name = is_named ? entry->second : std::string(user);
  const auto refusal = [&](std::string_view why) {
    return Error{ErrorCode::refused,
                 fmt::format("no Unix account to run jobs of user {}: {}; name one under `accounts` in the access file",
                             in_backticks(user), why),
                 {}};
  };
  if (!is_account_name(name)) return refusal("the user name is not one of an account");
  if (!is_named && (name == "root" || name == server_user))
    return refusal(fmt::format("the account {} is reserved", in_backticks(name)));
  std::optional<UnixAccount> account = look_up(name);
  if (!account) return refusal(fmt::format("there is no account {}", in_backticks(name)));
  // Look-ups may ignore case or follow aliases.
  if (account->name != name)
    return refusal(fmt::format("the account {} has another name, {}", in_backticks(name), in_backticks(account->name)));
  if (account->uid == 0 || account->gid == 0 || (!is_named && account->uid < kMinUserUid))
    return refusal(fmt::format("{} is an account of the system", in_backticks(name)));
  return *std::move(account);
}

}  // namespace weft::access
