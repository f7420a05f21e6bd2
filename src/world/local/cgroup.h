// Control groups (cgroup v2) of the parts of attempts: they contain every process of a part, daemons included, and are
// killed as a whole. Used where the hierarchy is writable; sets no limits.
#pragma once

#include <string>

#include "base/result.h"

namespace weft::world {

// Directory of this process in the v2 hierarchy (also where v1 is mounted beside it), or "" if there is none.
[[nodiscard]] std::string find_own_cgroup();
// Whether cgroups can be created and processes moved into them below this directory. Creates `path` if needed.
[[nodiscard]] bool is_usable_cgroup(const std::string& path);

[[nodiscard]] Status create_cgroup(const std::string& path);
// SIGKILL to every process in it and below.
void kill_cgroup(const std::string& path);
// No process in it or below it; also if it does not exist. False if that cannot be told.
[[nodiscard]] bool is_cgroup_empty(const std::string& path);
// Whether the kernel killed a process in it for lack of memory. False without the memory controller.
[[nodiscard]] bool has_oom_kill(const std::string& path);
// Removes it and the cgroups below it, as far as they are empty.
void remove_cgroup(const std::string& path);

}  // namespace weft::world
