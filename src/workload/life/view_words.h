// The words in which the table, the page, the comparison and the sweep say the same things: numbers of three digits
// with a unit, names of networks, and the parts of a step and of a GPU's memory in their order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

[[nodiscard]] std::string number_words(double value);          // "1.46", "12.3", "123", "1,234"
[[nodiscard]] std::string time_words(SimTime time);            // "812 ns", "1.46 s", "3.25 min", "5.2 h", "12.4 days"
[[nodiscard]] std::string moment_words(SimTime since_submit);  // "112.803 s": a short step after a long start
[[nodiscard]] std::string bytes_words(double bytes);           // "12.3 GB", of powers of ten; "0" for none
[[nodiscard]] std::string bytes_words(Bytes bytes);
[[nodiscard]] std::string percent_words(double share);  // of 1: "54.5 %", "<0.1 %", "0 %"
[[nodiscard]] std::string signed_percent_words(double share);
[[nodiscard]] std::string count_words(double count);  // "70.6 billion"

[[nodiscard]] double seconds(SimTime time);
[[nodiscard]] double seconds(Duration time);
[[nodiscard]] std::string time_words(Duration time);  // beyond the reach of SimTime as well
[[nodiscard]] Cell seconds_cell(Duration time);
[[nodiscard]] double share_of(SimTime part, SimTime whole);  // 0 where the whole is nothing
[[nodiscard]] double share_of(Bytes part, Bytes whole);

[[nodiscard]] Cell seconds_cell(SimTime time);       // seconds, shown with a fitting unit; nothing for kNever
[[nodiscard]] Cell fine_seconds_cell(SimTime time);  // with four digits, for times that lie close together
[[nodiscard]] Cell moment_cell(SimTime since_submit);
[[nodiscard]] Cell bytes_cell(Bytes bytes);             // shown as "12.3 GB"
[[nodiscard]] Cell percent_cell(double share);          // the number is in percent
[[nodiscard]] Cell rate_cell(double bytes_per_second);  // in GB/s, as nccl-tests says it
[[nodiscard]] Cell real_cell(double value, int digits, std::string_view unit = {});

[[nodiscard]] std::string_view title_of(Medium medium);  // "Backend", "NVLink"
[[nodiscard]] std::string_view title_of(model::FabricKind fabric);
// Not used at all, or so little that it is called dark.
[[nodiscard]] bool is_dark(const LifeState& state, Medium medium);

struct StepPart {
  std::string_view key;    // "tensor"
  std::string_view title;  // "Tensor communication"
  std::string_view what;   // what the GPU does or waits for
  SimTime time;
};
// All twelve, in the order of StepParts; those that are nothing as well.
[[nodiscard]] std::vector<StepPart> step_parts(const StepParts& parts);

struct MemoryPart {
  std::string_view key;
  std::string_view title;
  Bytes bytes;
};
[[nodiscard]] std::vector<MemoryPart> memory_parts(const MemoryUse& memory);

}  // namespace weft::workload
