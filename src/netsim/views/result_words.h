// Numbers of a simulation as people read them: times, rates and shares with three or four significant digits and a unit
// of a fitting size. Machine formats carry the plain number beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/document.h"
#include "netsim/network/sim_time.h"

namespace weft::netsim {

[[nodiscard]] std::string time_text(SimTime time);     // "812 ns", "3.142 ms"; "never" for kNever
[[nodiscard]] std::string rate_text(double bps);       // "48.2 Tb/s"
[[nodiscard]] std::string percent_text(double share);  // of 1: "97 %", "0.4 %"
[[nodiscard]] std::string grouped_text(std::uint64_t count);
// "1 link", "3,000 links"
[[nodiscard]] std::string counted_text(std::uint64_t count, std::string_view one, std::string_view many);

[[nodiscard]] Cell microseconds_cell(SimTime time);  // column in microseconds; nothing for kNever
[[nodiscard]] Cell time_cell(SimTime time);          // a fact in microseconds, shown with a fitting unit
[[nodiscard]] Cell count_cell(std::uint64_t count);  // saturates at what JSON readers take as an integer
[[nodiscard]] Cell percent_cell(double share);       // the number is in percent
[[nodiscard]] Cell size_cell(Bytes bytes);

[[nodiscard]] Column left_column(std::string key, std::string title);
[[nodiscard]] Column right_column(std::string key, std::string title);
[[nodiscard]] Column wide_column(std::string key, std::string title);  // right aligned

}  // namespace weft::netsim
