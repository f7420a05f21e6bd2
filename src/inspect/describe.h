// `weft describe`: everything that a compiled cluster says about one thing, with its neighbors on the four networks and
// what fails with it. Each function only reads and formats; values are computed by the model.
#pragma once

#include <cstddef>
#include <vector>

#include "base/document.h"
#include "inspect/things.h"

namespace weft::inspect {

// Several things follow each other; the keys of their sections then begin with their kind.
[[nodiscard]] Document describe(const model::Cluster& cluster, const std::vector<Thing>& things);

// Keeps the first rows of each table, with a note about the others. For people: machine formats have all.
void limit_rows(Document& document, std::size_t max_rows);

}  // namespace weft::inspect
