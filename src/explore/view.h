// The result of a search as a document: the designs on the front, what one change to each would do, and why other
// platforms are not there. Texts that the page shows too.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "explore/search.h"

namespace weft::explore {

// With `all`, every candidate.
[[nodiscard]] Document search_document(const SearchResult& result, bool all);

// The jobs of the designs on the front: their layout and their step.
[[nodiscard]] TableSection jobs_table(const SearchResult& result);

[[nodiscard]] std::string cost_text(const SearchResult& result, Money cost);  // "412 M USD"
[[nodiscard]] std::string interval_text(Duration interval);                   // "22 min"
[[nodiscard]] std::string network_text(model::NetworkKind network);           // "RoCE", "InfiniBand"

// One sentence: how many designs meet the goal, or what prevents it.
[[nodiscard]] std::string headline(const SearchResult& result);
// A sentence for each design on the front: what it gains over the one before.
[[nodiscard]] std::vector<std::string> front_reasons(const SearchResult& result);

// A design like one on the front in all but one choice.
struct Alternative {
  std::size_t point = 0;  // position on the front
  std::string change;     // "InfiniBand", "4 spares", "checkpoint each 11 min"
  double days = 0;        // difference to the point
  double power = 0;       // watts
  std::optional<double> cost;
  bool simulated = false;  // else both by the lower bound
};
[[nodiscard]] std::vector<Alternative> alternatives(const SearchResult& result);

// Why a platform has no design on the front; which designs it has otherwise.
[[nodiscard]] std::string platform_verdict(const SearchResult& result, const PlatformResult& platform);

}  // namespace weft::explore
