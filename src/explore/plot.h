// Plots of a search: each simulated design by its days and its power or cost, the front with its labels, the limits.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/search.h"

namespace weft::explore {

struct FrontPlot {
  std::string title;
  std::string svg;
};
// Over days: power, and cost if there are prices. Empty without simulated designs.
[[nodiscard]] std::vector<FrontPlot> front_plots(const SearchResult& result);
// The colors of the GPUs in the plots.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> plot_legend(const SearchResult& result);

}  // namespace weft::explore
