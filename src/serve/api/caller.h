// Who sends a request, and what they may do: an identity with its rights, and the Unix account under which its jobs
// run.
#pragma once

#include <cstdint>
#include <string>

#include "access/identity/access.h"
#include "access/identity/identity.h"
#include "access/token/restriction.h"
#include "serve/http/message.h"

namespace weft::serve {

struct Caller {
  access::Identity identity;
  access::Access access;
  access::Restriction restriction{};  // of its token
  std::string token_creator;          // who created its static token, if another user; "": the user itself
  std::int64_t valid_until_ms = 0;    // of its token, session or certificate, at the latest; 0: no limit
  std::string address;                // where it comes from; "": the Unix socket
  bool has_account = false;
  std::uint32_t uid = 0;  // of the account
  std::uint32_t gid = 0;

  [[nodiscard]] const std::string& user() const { return identity.user; }
};

// The process at the other end of the Unix socket: the kernel names it, there is no password. `user` is the name of the
// account, or "uid:1234" if it has none; its groups are looked up only if they matter.
[[nodiscard]] access::Identity identify_peer(const Peer& peer, bool with_groups);
// The rights without an access file: root and the user that runs `weft serve` are admins; others see everything, submit
// jobs and change their own.
[[nodiscard]] access::Access local_access(const access::Identity& identity, const Peer& peer, std::uint32_t server_uid);

}  // namespace weft::serve
