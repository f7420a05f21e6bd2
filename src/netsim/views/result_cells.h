// Cells and columns of simulation tables: a plain number for programs, a number with a suitable unit for people.
#pragma once

#include <cstdint>
#include <string>

#include "base/document.h"
#include "netsim/network/sim_time.h"

namespace weft::netsim {

[[nodiscard]] std::string format_fine_time(SimTime time);  // "812 ns", "3.142 ms"; "never" for kNever

[[nodiscard]] Cell microseconds_cell(SimTime time);  // column in microseconds; empty for kNever
[[nodiscard]] Cell time_cell(SimTime time);          // a fact in microseconds, shown with a suitable unit
[[nodiscard]] Cell count_cell(std::uint64_t count);  // saturates at the largest integer that JSON readers accept
[[nodiscard]] Cell percent_cell(double share);       // the number is in percent
[[nodiscard]] Cell size_cell(Bytes bytes);

[[nodiscard]] Column left_column(std::string key, std::string title);
[[nodiscard]] Column right_column(std::string key, std::string title);
[[nodiscard]] Column wide_column(std::string key, std::string title);  // right aligned

}  // namespace weft::netsim
