#include "serve/api/caller.h"

#include <pwd.h>

#include <vector>

namespace weft::serve {

Caller find_caller(const Peer& peer, std::uint32_t server_uid) {
  Caller caller{peer.uid, peer.gid, "uid:" + std::to_string(peer.uid), peer.uid == 0 || peer.uid == server_uid};
  passwd account{};
  passwd* found = nullptr;
  std::vector<char> buffer(16U << 10U);
  if (::getpwuid_r(peer.uid, &account, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    caller.user = found->pw_name;
  }
  return caller;
}

}  // namespace weft::serve
