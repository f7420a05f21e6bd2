// How each switch OS prints its running config and accepts another: commands as data, so a new OS is a new row. The
// rows are from the vendors' manuals; site-specific differences need a custom transport (switches/transport.h).
// Independent of ssh.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::oob {

// Standard input of a push step.
enum class Feed : std::uint8_t {
  nothing,
  text,   // the config as it is
  scp,    // the config in the scp sink protocol ("scp -t PATH": C0644 SIZE NAME, bytes, NUL)
  script  // the config between the commands that enter and leave configuration mode
};

struct PushStep {
  std::string_view command{};
  Feed feed = Feed::nothing;
};

// Syntax of the config; determines how two configs are compared.
enum class ConfigShape : std::uint8_t {
  lines,   // command lines, blocks by indentation
  braces,  // Junos: blocks in braces
  json,    // SONiC's config_db.json
  nvue     // YAML of NVUE, or `nv set` commands
};

struct SwitchSystem {
  std::string_view name{};  // as in the catalog
  std::string_view title{};
  ConfigShape shape = ConfigShape::lines;
  std::string_view fetch{};
  std::vector<PushStep> push{};
  bool replaces = true;      // false: the push merges into the running config, extra lines stay
  std::string_view save{};   // saves the running config across a reload; empty: the push did
  std::string_view opens{};  // around a script
  std::string_view closes{};
  std::string_view last_line{};             // of a complete config; empty: not defined
  std::vector<std::string_view> noise{};    // prefixes of lines that change by themselves (timestamps, commit counters)
  std::vector<std::string_view> refused{};  // prefixes of output lines that mean that the command was rejected
  std::string_view rendered{};              // path in a tree of `weft render`: {device}, {fabric}
};

// Null for an unsupported OS.
[[nodiscard]] const SwitchSystem* find_switch_system(std::string_view name);
[[nodiscard]] const std::vector<SwitchSystem>& switch_systems();

}  // namespace weft::oob
