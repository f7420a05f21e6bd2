// A job's timeline (`weft sim life`) as one self-contained web page: no network, no other file, and no script except
// for zooming the timeline. Every name is escaped, and the page's Content-Security-Policy allows only its own script.
#pragma once

#include <string>

#include "workload/result/life.h"

namespace weft::workload {

// Under about 2 MB: a timeline of more than 20,000 spans is thinned and heat maps beyond 1 MB are omitted; the page
// states both.
[[nodiscard]] std::string life_page(const LifeResult& life);

}  // namespace weft::workload
