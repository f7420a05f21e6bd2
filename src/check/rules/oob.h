// The parts of the OB table. Internal to check/.
#pragma once

#include <vector>

#include "check/core/rule.h"
#include "check/rules/resilience.h"

namespace weft::check {

[[nodiscard]] std::vector<Rule> oob_network_rules();  // the recovery path and its dependencies
[[nodiscard]] std::vector<Rule> oob_bmc_rules();      // credentials, logging and BMC settings
[[nodiscard]] std::vector<Rule> oob_config_rules();   // management settings of switches as configured

// The data fabric that an address belongs to, by the file's address plan; "" if none.
[[nodiscard]] std::string_view data_fabric_of(const CheckInput& input, const std::string& address);

}  // namespace weft::check
