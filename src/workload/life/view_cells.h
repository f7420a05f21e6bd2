// Shared by the table, the page, the comparison and the sweep: cells for times, sizes and shares, names of networks,
// and the parts of a step and of a GPU's memory in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

[[nodiscard]] std::string format_time(SimTime time);            // "812 ns", "3.25 min"; "never" for kNever
[[nodiscard]] std::string format_time(Duration time);           // also beyond the range of SimTime
[[nodiscard]] std::string format_moment(SimTime since_submit);  // "112.803 s": resolves a short step after a long start

[[nodiscard]] double seconds(SimTime time);
[[nodiscard]] double seconds(Duration time);
[[nodiscard]] Cell seconds_cell(Duration time);
[[nodiscard]] double share_of(SimTime part, SimTime whole);  // 0 if the whole is 0
[[nodiscard]] double share_of(Bytes part, Bytes whole);

[[nodiscard]] Cell seconds_cell(SimTime time);       // seconds, shown with a suitable unit; empty for kNever
[[nodiscard]] Cell fine_seconds_cell(SimTime time);  // with four digits, for times that are close together
[[nodiscard]] Cell moment_cell(SimTime since_submit);
[[nodiscard]] Cell bytes_cell(Bytes bytes);             // shown as "12.3 GB"
[[nodiscard]] Cell percent_cell(double share);          // the number is in percent
[[nodiscard]] Cell rate_cell(double bytes_per_second);  // in GB/s, as nccl-tests prints it
[[nodiscard]] Cell real_cell(double value, int digits, std::string_view unit = {});

[[nodiscard]] std::string_view title_of(Medium medium);  // "Backend", "NVLink"
[[nodiscard]] std::string_view title_of(model::FabricKind fabric);
// Unused, or used so little that it counts as dark.
[[nodiscard]] bool is_dark(const LifeState& state, Medium medium);

struct StepPart {
  std::string_view key;    // "tensor"
  std::string_view title;  // "Tensor communication"
  std::string_view what;   // what the GPU does or waits for
  SimTime time;
};
// All twelve, in the order of StepParts, including those that are zero.
[[nodiscard]] std::vector<StepPart> step_parts(const StepParts& parts);

struct MemoryPart {
  std::string_view key;
  std::string_view title;
  Bytes bytes;
};
[[nodiscard]] std::vector<MemoryPart> memory_parts(const MemoryUse& memory);

}  // namespace weft::workload
