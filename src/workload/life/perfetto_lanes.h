// Spans of a track laid out so that those in one lane nest or follow each other, as trace viewers demand of a thread. A
// span that overlaps another without lying inside it goes to the next lane of its track. Times are rounded to the
// nanosecond first: what nests in picoseconds still nests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/result/life.h"

namespace weft::workload {

struct PlacedSpan {
  std::uint32_t span = 0;   // of Timeline::spans
  std::uint32_t lane = 0;   // of its track
  std::uint32_t depth = 0;  // spans around it
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// In order of track, lane, start; outer spans before those inside. Spans of unknown tracks or names are left out.
[[nodiscard]] std::vector<PlacedSpan> place_spans(const Timeline& timeline);

// Where a process or a thread stands from top to bottom: GPUs and their streams, NVLink, NICs, the fabrics, storage,
// the control plane. Known by the words in its name; servers come first.
[[nodiscard]] int process_rank(std::string_view process);
[[nodiscard]] int thread_rank(std::string_view thread);

}  // namespace weft::workload
