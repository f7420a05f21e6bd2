// Named scheduling policies for comparison: those of other schedulers, and weft's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sched/core/scheduler.h"

namespace weft::sched {

struct NamedPolicy {
  std::string name;
  std::string about;  // one line
  Policy policy;
};

// In the order shown in the help.
[[nodiscard]] const std::vector<NamedPolicy>& named_policies();
[[nodiscard]] const NamedPolicy* find_policy(std::string_view name);

}  // namespace weft::sched
