// How each network operating system gives its running configuration and takes another: commands as data, so that a new
// system is a new row. What the rows say is from the vendors' manuals; what differs at a site is told by a transport of
// its own (switches/transport.h). Knows nothing of ssh.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::oob {

// What a step of a push is given on its standard input.
enum class Feed : std::uint8_t {
  nothing,
  text,   // the configuration as it is
  scp,    // the configuration as the sink of the scp protocol wants it ("scp -t PATH": C0644 SIZE NAME, bytes, NUL)
  script  // the configuration between the words that open and close the configuration mode
};

struct PushStep {
  std::string_view command{};
  Feed feed = Feed::nothing;
};

// The shape of the text, which decides how two of them are compared.
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
  bool replaces = true;      // false: the push adds to what runs, lines that must go stay
  std::string_view save{};   // makes it outlive a reload; empty: the push did
  std::string_view opens{};  // around a script
  std::string_view closes{};
  std::string_view last_line{};             // of a whole configuration; empty: not told
  std::vector<std::string_view> noise{};    // lines that begin so change by themselves (clocks, counters of commits)
  std::vector<std::string_view> refused{};  // a line of an answer that begins so: the command was not understood
  std::string_view rendered{};              // path in a tree of `weft render`: {device}, {fabric}
};

// Null when nothing is known of a system of that name.
[[nodiscard]] const SwitchSystem* find_switch_system(std::string_view name);
[[nodiscard]] const std::vector<SwitchSystem>& switch_systems();

}  // namespace weft::oob
