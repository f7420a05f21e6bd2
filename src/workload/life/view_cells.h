// What the table, the page, the comparison and the sweep show alike: cells of times, sizes and shares, names of
// networks, and the parts of a step and of a GPU's memory in their order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

[[nodiscard]] std::string format_time(SimTime time);            // "812 ns", "3.25 min"; "never" for kNever
[[nodiscard]] std::string format_time(Duration time);           // beyond the reach of SimTime as well
[[nodiscard]] std::string format_moment(SimTime since_submit);  // "112.803 s": a short step after a long start

[[nodiscard]] double seconds(SimTime time);
[[nodiscard]] double seconds(Duration time);
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
