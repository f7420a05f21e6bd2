// The goal that `weft design --goal` searches a cluster for: "train llama-3.1-405b on 15T tokens in 60 days". Only the
// sentence: whether the model exists is decided by who reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/result.h"

namespace weft::explore {

struct Goal {
  std::string model;  // a preset, or the path of a job file with a training section
  std::int64_t tokens = 0;
  Duration deadline{};
};

// An error says what is wrong in which words.
[[nodiscard]] Result<Goal> parse_goal(std::string_view text);

[[nodiscard]] std::string format_tokens(std::int64_t tokens);  // "15T", "300B", "1.4T"
[[nodiscard]] std::string format_days(double days);            // "58.3 d"; three digits
[[nodiscard]] std::string to_text(const Goal& goal);

}  // namespace weft::explore
