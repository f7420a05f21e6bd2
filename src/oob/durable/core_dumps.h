// Core dumps have the passwords that a process holds.
#pragma once

#include <sys/prctl.h>
#include <sys/resource.h>

namespace weft::oob {

// For this process; the limit also for the programs that it starts. The limit alone does not hold if the kernel pipes
// core dumps to a program: core(5).
inline void forbid_core_dumps() {
  (void)::prctl(PR_SET_DUMPABLE, 0);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = 0;
  (void)::setrlimit(RLIMIT_CORE, &limit);
}

}  // namespace weft::oob
