#include "workload/life/perfetto_lanes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace weft::workload {
namespace {

std::int64_t rounded_ns(SimTime time) {
  const std::int64_t ps = time.count();
  return ps >= 0 ? ps / 1000 + (ps % 1000 >= 500 ? 1 : 0) : -((-ps + 499) / 1000);
}

// By track, then start; of spans that start together the longer one is outside.
std::vector<PlacedSpan> in_order(const Timeline& timeline) {
  std::vector<PlacedSpan> order;
  order.reserve(timeline.spans.size());
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const TimelineSpan& span = timeline.spans[i];
    if (span.track >= timeline.tracks.size() || span.name >= timeline.names.size()) continue;
    if (span.duration.count() < 0) continue;
    order.push_back(
        {static_cast<std::uint32_t>(i), 0, 0, rounded_ns(span.start), rounded_ns(span.start + span.duration)});
  }
  const auto before = [&](const PlacedSpan& a, const PlacedSpan& b) {
    const std::uint32_t x = timeline.spans[a.span].track;
    const std::uint32_t y = timeline.spans[b.span].track;
    if (x != y) return x < y;
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return a.span < b.span;
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  return order;
}

// The open spans of each lane, outermost first.
class Lanes {
 public:
  void place(PlacedSpan& span) {
    for (std::uint32_t lane = 0;; ++lane) {
      if (lane == open_.size()) open_.emplace_back();
      std::vector<std::int64_t>& ends = open_[lane];
      while (!ends.empty() && ends.back() <= span.start_ns) ends.pop_back();
      if (!ends.empty() && ends.back() < span.end_ns) continue;
      span.lane = lane;
      span.depth = static_cast<std::uint32_t>(ends.size());
      ends.push_back(span.end_ns);
      return;
    }
  }
  void clear() { open_.clear(); }
  [[nodiscard]] std::size_t count() const { return open_.size(); }

 private:
  std::vector<std::vector<std::int64_t>> open_;
};

bool has_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return to_lower(a) == to_lower(b); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

using Ranks = std::pair<std::string_view, int>;

template <std::size_t N>
int rank_by(std::string_view text, const std::array<Ranks, N>& ranks, int otherwise) {
  for (const auto& [word, rank] : ranks) {
    if (has_word(text, word)) return rank;
  }
  return otherwise;
}

}  // namespace

std::vector<PlacedSpan> place_spans(const Timeline& timeline) {
  std::vector<PlacedSpan> spans = in_order(timeline);
  Lanes lanes;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= spans.size(); ++i) {
    const bool ends =
        i == spans.size() || timeline.spans[spans[i].span].track != timeline.spans[spans[first].span].track;
    if (ends) {
      if (lanes.count() > 1) {
        std::stable_sort(spans.begin() + static_cast<std::ptrdiff_t>(first),
                         spans.begin() + static_cast<std::ptrdiff_t>(i),
                         [](const PlacedSpan& a, const PlacedSpan& b) { return a.lane < b.lane; });
      }
      lanes.clear();
      first = i;
    }
    if (i < spans.size()) lanes.place(spans[i]);
  }
  return spans;
}

int process_rank(std::string_view process) {
  static constexpr std::array<Ranks, 8> kRanks = {Ranks{"nvlink", 1},   Ranks{"backend", 3}, Ranks{"storage", 4},
                                                  Ranks{"frontend", 5}, Ranks{"oob", 6},     Ranks{"out-of-band", 6},
                                                  Ranks{"control", 7},  Ranks{"nic", 2}};
  return rank_by(process, kRanks, 0);
}

int thread_rank(std::string_view thread) {
  static constexpr std::array<Ranks, 7> kRanks = {Ranks{"nvlink", 1},  Ranks{"nccl", 1},    Ranks{"nic", 2},
                                                  Ranks{"backend", 2}, Ranks{"storage", 3}, Ranks{"host", 4},
                                                  Ranks{"control", 5}};
  return rank_by(thread, kRanks, 0);
}

}  // namespace weft::workload
