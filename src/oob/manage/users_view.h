// Accounts of a whole fleet, each listed once with its BMCs: an account on only three machines stands out. Also
// disables an account, unless that would lock out weft or the last administrator.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/document.h"
#include "oob/manage/device_change.h"

namespace weft::oob {

class UserFleet {
 public:
  void add(std::uint32_t target, std::vector<BmcUser> users);  // from any thread
  // Device by device, in order.
  [[nodiscard]] std::map<std::uint32_t, std::vector<BmcUser>> users() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::vector<BmcUser>> users_;
};

// An unused IPMI slot: no name and not enabled. Not an account.
[[nodiscard]] bool is_empty_slot(const BmcUser& user);
// An account without a name that may log in (IPMI 2.0 section 22.26: user 1 is the null user).
[[nodiscard]] bool is_anonymous(const BmcUser& user);

[[nodiscard]] Document users_document(const Inventory& inventory, const UserFleet& fleet,
                                      const std::vector<Unreached>& unreached);

// Disables the account `name` on every device that has it. Refused on a device if weft logs in with it, or if no other
// enabled administrator would remain.
[[nodiscard]] Result<std::vector<DeviceEnding>> disable_user(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                                             const std::string& name, const std::string& reason,
                                                             bool dry_run = false);

}  // namespace weft::oob
