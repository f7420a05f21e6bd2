// The life of a job as one web page that needs nothing else: no network, no other file, and, but for zooming the
// timeline, no script. Every name is escaped, and the page's own policy lets no script run but its own.
#pragma once

#include <string>

#include "workload/result/life.h"

namespace weft::workload {

// Under about 2 MB: a timeline of more than 20,000 spans is thinned, heat maps beyond 1 MB are left out, and the page
// says so.
[[nodiscard]] std::string life_page(const LifeResult& life);

}  // namespace weft::workload
