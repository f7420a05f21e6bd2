// Who sends a request, and what they may do. The kernel names the process at the other end of the Unix socket: there
// are no passwords. Root and the user that runs `weft serve` are operators; other users may submit jobs and change
// their own.
#pragma once

#include <cstdint>
#include <string>

#include "serve/http/message.h"

namespace weft::serve {

struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string user;  // name of the account, or "uid:1234" if it has none
  bool is_operator = false;

  [[nodiscard]] bool may_change(const std::string& owner) const { return is_operator || user == owner; }
};

[[nodiscard]] Caller find_caller(const Peer& peer, std::uint32_t server_uid);

}  // namespace weft::serve
