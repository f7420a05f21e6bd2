// The accounts of a whole fleet, told once with the BMCs that have them: an account that only three machines know
// stands out. And the disabling of an account, which refuses to lock weft or the last administrator out.
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

// An IPMI slot that nobody uses: no name and not enabled. Not an account.
[[nodiscard]] bool is_empty_slot(const BmcUser& user);
// An account without a name that may log in (IPMI 2.0 section 22.26: user 1 is the null user).
[[nodiscard]] bool is_anonymous(const BmcUser& user);

[[nodiscard]] Document users_document(const Inventory& inventory, const UserFleet& fleet,
                                      const std::vector<Unreached>& unreached);

// Disables the account `name` wherever there is one. Refused on a device when weft logs in with it, or when no other
// enabled administrator would be left.
[[nodiscard]] Result<std::vector<DeviceEnding>> disable_user(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                                             const std::string& name, const std::string& reason,
                                                             bool dry_run = false);

}  // namespace weft::oob
