// Unix accounts of users: under which account the jobs run that a user submits over the network. The user database is
// passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::access {

struct UnixAccount {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  friend bool operator==(const UnixAccount&, const UnixAccount&) = default;
};

// Nullopt: there is no account of that name.
using AccountLookup = std::function<std::optional<UnixAccount>(const std::string& name)>;
[[nodiscard]] AccountLookup system_accounts();  // getpwnam_r(3)

inline constexpr std::uint32_t kMinUserUid = 1000;  // below are accounts of the system

// User name -> account; kAllUsers: every other user.
using AccountMap = std::map<std::string, std::string, std::less<>>;
inline constexpr std::string_view kAllUsers = "*";

// The entry of `map`, or its fallback, or the account with the user's own name if that is not one of the system. uid 0
// is never given, and the server's own account only where `map` names it.
[[nodiscard]] Result<UnixAccount> find_account_of(std::string_view user, const AccountMap& map,
                                                  std::string_view server_user, const AccountLookup& look_up);
// Portable names of accounts: letters, digits, '_', '-' and '.', not starting with '-' or '.', at most 32 bytes.
[[nodiscard]] bool is_account_name(std::string_view name);

}  // namespace weft::access
