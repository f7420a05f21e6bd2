// The timeline of one iteration, thinned to fit into a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/result/life.h"

namespace weft::workload::page {

struct DrawnSpan {
  std::int64_t start_ns = 0;  // since the iteration's start
  std::int64_t length_ns = 0;
  std::uint32_t name = 0;    // Timeline::names; for merged spans, the longest one's
  std::uint32_t depth = 0;   // number of enclosing spans
  std::uint32_t count = 1;   // spans merged into it
  std::int64_t busy_ns = 0;  // sum of their lengths
};

struct DrawnTrack {
  std::string process;
  std::string thread;
  std::uint32_t depths = 1;
  std::int64_t busy_ns = 0;      // covered by spans, within the iteration
  std::vector<DrawnSpan> spans;  // by depth, then start
};

struct DrawnTimeline {
  std::int64_t length_ns = 0;
  std::vector<DrawnTrack> tracks;
  std::size_t spans = 0;           // in the iteration, before thinning
  std::size_t drawn = 0;           // after thinning
  std::size_t left_out = 0;        // tracks beyond the limit
  std::int64_t resolution_ns = 0;  // neighbors shorter than this are merged; 0: no merging
};

// Merges neighbors as long as the result is not longer than the resolution; the resolution doubles until at most `most`
// spans are left.
[[nodiscard]] DrawnTimeline drawn_timeline(const Timeline& timeline, std::size_t most, std::size_t most_tracks);

}  // namespace weft::workload::page
