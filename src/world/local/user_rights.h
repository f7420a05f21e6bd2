// Rights of the submitter of a job, taken by a process that runs as root: for good before it runs the job's program,
// or for a while to open files that the submitter names. Without root there is nothing to change.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace weft::world {

struct UserAccount {
  std::string name;  // "": not in the user database
  std::string home = "/";
};
[[nodiscard]] UserAccount find_account(std::uint32_t uid);

// Groups, group and user, for good. 0 or errno. `name` as in UserAccount.
[[nodiscard]] int become_user(const std::string& name, std::uint32_t uid, std::uint32_t gid);

// Acts as the user until it is destroyed: for file access only, in a process with one thread.
class ActAsUser {
 public:
  ActAsUser(std::uint32_t uid, std::uint32_t gid);
  ActAsUser(const ActAsUser&) = delete;
  ActAsUser& operator=(const ActAsUser&) = delete;
  ~ActAsUser();
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool changed_ = false;
  bool ok_ = true;
};

}  // namespace weft::world
