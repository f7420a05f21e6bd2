// Two-person rule: operations that another person must approve before they are executed. Pending ones are in memory
// only: nothing of them was executed, so a restart drops them. Used by one thread; times are milliseconds since 1970
// UTC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "access/identity/identity.h"
#include "access/secret/random.h"
#include "base/result.h"

namespace weft::access {

inline constexpr std::int64_t kApprovalLifeMs = std::int64_t{3600} * 1000;
inline constexpr std::size_t kMaxApprovals = 1000;
inline constexpr std::size_t kMaxApprovalsPerUser = 50;
inline constexpr std::size_t kMaxApprovalBytes = std::size_t{1} << 20U;  // of path, body and reason together

// Who acts. With a token that another user created, both count as the same person: an administrator must not be able to
// approve an own request with a token made for another user.
struct ApprovalPerson {
  Identity identity;
  // "": the credential is not a token. Several, comma-separated: a token that was made with one made for another user.
  std::string token_creator;
  // Of all of them on the server's host, where the access file names them: the same person over the Unix socket.
  std::vector<std::string> accounts = {};
};

struct Approval {
  std::string id;
  ApprovalPerson requester;
  std::string operation;  // "oob.power"
  std::string method;
  std::string path;
  std::string body;
  std::string reason;
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;
};

class ApprovalStore {
 public:
  explicit ApprovalStore(RandomFill random) : random_(std::move(random)) {}

  // Sets id and times of `request`, and returns it as stored. `conflict`: the requester has too many. `unavailable`:
  // there are too many of all, expired ones that take_expired() has not returned yet among them.
  [[nodiscard]] Result<Approval> add(Approval request, std::int64_t now_ms);
  // Removes and returns it, to be executed now: a second call does not find it. `refused` if `by` is the requester, by
  // user name and whatever the way of signing in; it stays pending then. `not_found`: unknown, expired, or decided.
  // Whether `by` may approve at all is checked by the caller, and so is whether the requester still may do it.
  [[nodiscard]] Result<Approval> approve(std::string_view id, const ApprovalPerson& by, std::int64_t now_ms);
  // Removes and returns it, without execution. The requester may do so too.
  [[nodiscard]] Result<Approval> reject(std::string_view id, std::int64_t now_ms);

  // Nullptr if unknown or expired.
  [[nodiscard]] const Approval* find(std::string_view id, std::int64_t now_ms) const;
  // Oldest first.
  [[nodiscard]] std::vector<Approval> list(std::int64_t now_ms) const;
  // Removes expired ones and returns them, for the audit log.
  std::vector<Approval> take_expired(std::int64_t now_ms);

 private:
  [[nodiscard]] std::map<std::string, Approval, std::less<>>::iterator find_live(std::string_view id,
                                                                                 std::int64_t now_ms);
  RandomFill random_;
  std::map<std::string, Approval, std::less<>> pending_;
};

}  // namespace weft::access
