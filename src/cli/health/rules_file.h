// Option --rules: the health rules that a command uses, the built-in ones without it.
#pragma once

#include <memory>
#include <optional>

#include "cli/framework/context.h"
#include "health/core/rules.h"

namespace weft::cli {

[[nodiscard]] Option health_rules_option();
// Prints what is wrong with the file. nullopt: `rules` is set.
[[nodiscard]] std::optional<Exit> read_health_rules(Context& context, std::shared_ptr<const health::Rules>& rules);

}  // namespace weft::cli
