// Help pages, generated from the command tables. Pages begin with examples.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/command.h"

namespace weft::cli {

inline constexpr std::size_t kMaxHelpWidth = 100;  // columns that stay legible

[[nodiscard]] std::string main_help(std::size_t width = kMaxHelpWidth);
[[nodiscard]] std::string command_help(const Command& command, std::size_t width = kMaxHelpWidth);
[[nodiscard]] std::string group_help(std::string_view group, std::size_t width = kMaxHelpWidth);
[[nodiscard]] std::string section_help(const CommandSection& section, std::size_t width = kMaxHelpWidth);
[[nodiscard]] std::string topic_help(const Topic& topic, std::size_t width = kMaxHelpWidth);
[[nodiscard]] std::string version_text();  // "weft 0.2.0 (91106daaa032)\n"

// A one-paragraph description of weft.
[[nodiscard]] const std::string& about_weft();
[[nodiscard]] const std::vector<Example>& main_examples();
// "-o, --output FORMAT"
[[nodiscard]] std::string option_heading(const Option& option);
// The help text with choices and default.
[[nodiscard]] std::string option_text(const Option& option);

}  // namespace weft::cli
