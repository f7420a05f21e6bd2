// The timeline of one iteration, thinned so that a page can hold it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/result/life.h"

namespace weft::workload::page {

struct DrawnSpan {
  std::int64_t start_ns = 0;  // since the iteration's start
  std::int64_t length_ns = 0;
  std::uint32_t name = 0;    // Timeline::names: of several, the one that takes longest
  std::uint32_t depth = 0;   // spans around it
  std::uint32_t count = 1;   // spans merged into it
  std::int64_t busy_ns = 0;  // their lengths together
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
  std::size_t spans = 0;           // of the iteration, before thinning
  std::size_t drawn = 0;           // after it
  std::size_t left_out = 0;        // tracks beyond the limit
  std::int64_t resolution_ns = 0;  // below which neighbors are merged; 0: none are
};

// Neighbors become one as long as that one is no longer than a resolution, which doubles until at most `most` are
// left.
[[nodiscard]] DrawnTimeline drawn_timeline(const Timeline& timeline, std::size_t most, std::size_t most_tracks);

}  // namespace weft::workload::page
