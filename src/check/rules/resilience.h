// The two halves of the RE table. Internal to check/.
#pragma once

#include <vector>

#include "check/core/rule.h"

namespace weft::check {

[[nodiscard]] std::vector<Rule> resilience_site_rules();  // fabrics, power, racks, control plane
[[nodiscard]] std::vector<Rule> resilience_data_rules();  // storage, jobs, services

// Location of a finding if the file lacks the section: the top of the file.
[[nodiscard]] inline SourceLocation section(const CheckInput& input, const SourceLocation& place) {
  return place.known() ? place : input.spec().place;
}

}  // namespace weft::check
