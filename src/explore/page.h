// The result of a search as a web page of one file: the front in a plot, why each design is on it, and the tables.
#pragma once

#include <string>

#include "explore/search.h"

namespace weft::explore {

[[nodiscard]] std::string search_page(const SearchResult& result);

}  // namespace weft::explore
