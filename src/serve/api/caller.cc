#include "serve/api/caller.h"

#include <grp.h>
#include <pwd.h>

#include <vector>

namespace weft::serve {
namespace {

constexpr std::size_t kBuffer = 16U << 10U;
constexpr int kMaxGroups = 1024;

void add_groups(const std::string& user, gid_t primary, std::vector<std::string>& names) {
  std::vector<gid_t> groups(kMaxGroups);
  int count = kMaxGroups;
  if (::getgrouplist(user.c_str(), primary, groups.data(), &count) < 0) count = 0;
  std::vector<char> buffer(kBuffer);
  for (int i = 0; i < count; ++i) {
    group entry{};
    group* found = nullptr;
    if (::getgrgid_r(groups[static_cast<std::size_t>(i)], &entry, buffer.data(), buffer.size(), &found) == 0 &&
        found != nullptr) {
      names.emplace_back(found->gr_name);
    }
  }
}

}  // namespace

access::Identity identify_peer(const Peer& peer, bool with_groups) {
  access::Identity identity;
  identity.user = "uid:" + std::to_string(peer.uid);
  identity.method = access::Method::unix_socket;
  passwd account{};
  passwd* found = nullptr;
  std::vector<char> buffer(kBuffer);
  if (::getpwuid_r(peer.uid, &account, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    identity.user = found->pw_name;
    if (with_groups) add_groups(identity.user, found->pw_gid, identity.groups);
  }
  return identity;
}

access::Access local_access(const access::Identity& identity, const Peer& peer, std::uint32_t server_uid) {
  using access::Role;
  if (peer.uid == 0 || peer.uid == server_uid) return {identity.user, {{Role::administer, {}}}};
  return {identity.user, {{Role::viewer, {}}, {Role::user, std::string(access::kAllTenants)}}};
}

}  // namespace weft::serve
