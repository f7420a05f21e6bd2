#include "world/local/user_rights.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/check.h"

namespace weft::world {

UserAccount find_account(std::uint32_t uid) {
  std::vector<char> buffer(1U << 16U);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return {found->pw_name, found->pw_dir};
}

int become_user(const std::string& name, std::uint32_t uid, std::uint32_t gid) {
  if (::geteuid() != 0) return uid == ::geteuid() ? 0 : EPERM;
  if (uid == 0 && gid == 0) return 0;
  const gid_t group = gid;
  const int groups = name.empty() ? ::setgroups(1, &group) : ::initgroups(name.c_str(), gid);
  if (groups != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0) return errno;
  return 0;
}

ActAsUser::ActAsUser(std::uint32_t uid, std::uint32_t gid) {
  if (::geteuid() != 0 || uid == 0) return;
  changed_ = true;
  const gid_t group = gid;
  ok_ = ::setgroups(1, &group) == 0 && ::setegid(gid) == 0 && ::seteuid(uid) == 0;
}

ActAsUser::~ActAsUser() {
  if (!changed_) return;
  const gid_t group = 0;
  CHECK(::seteuid(0) == 0 && ::setegid(0) == 0 && ::setgroups(1, &group) == 0, "cannot return to root");
}

}  // namespace weft::world
