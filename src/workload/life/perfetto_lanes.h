// Assigns the spans of a track to lanes such that spans in one lane nest or follow each other, as trace viewers require
// of a thread. A span that overlaps another without being nested in it moves to the next lane of its track. Times are
// rounded to the nanosecond first: spans that nest in picoseconds still nest.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/result/life.h"

namespace weft::workload {

struct PlacedSpan {
  std::uint32_t span = 0;   // index into Timeline::spans
  std::uint32_t lane = 0;   // within its track
  std::uint32_t depth = 0;  // number of enclosing spans
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Sorted by track, lane, start; outer spans before inner ones. Spans of unknown tracks or names are dropped.
[[nodiscard]] std::vector<PlacedSpan> place_spans(const Timeline& timeline);

// Position of a process or thread from top to bottom: GPUs and their streams, NVLink, NICs, the fabrics, storage, the
// control plane. Derived from the words in its name; servers come first.
[[nodiscard]] int process_rank(std::string_view process);
[[nodiscard]] int thread_rank(std::string_view thread);

}  // namespace weft::workload
