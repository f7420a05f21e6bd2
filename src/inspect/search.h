// `weft find`: searches a compiled cluster for parts of names, models, labels and addresses. Exact names are looked up
// by inspect/things.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "model/cluster.h"

namespace weft::inspect {

struct Match {
  int rank = 0;      // 0: all of the text is the same; 1: its beginning; 2: a part of it
  std::string kind;  // "device", "port", ..., "model", "address range"
  std::string name;
  std::string where;  // location of a device, owner of an address, ends of a cable
  std::string field;  // what matched: "name", "model", "address", ...
  std::string value;  // its text
};

struct SearchResult {
  std::vector<Match> matches;  // best first
  std::size_t total = 0;       // also of those beyond the limit
};

// `limit` 0: all.
[[nodiscard]] SearchResult search(const model::Cluster& cluster, std::string_view text, std::size_t limit);
[[nodiscard]] Document search_view(const SearchResult& result);

}  // namespace weft::inspect
