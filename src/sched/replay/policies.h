// Policies by name, for those who compare: what other schedulers do, and what weft does.
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

// In the order in which help lists them.
[[nodiscard]] const std::vector<NamedPolicy>& named_policies();
[[nodiscard]] const NamedPolicy* find_policy(std::string_view name);

}  // namespace weft::sched
