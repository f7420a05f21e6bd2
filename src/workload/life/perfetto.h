// Exports a job's timeline in Chrome's trace event format for ui.perfetto.dev: one process per server or fabric, one
// thread per stream, NIC or queue, complete events ("X") and counters ("C"). Times are microseconds since submit, to
// the nanosecond. The format: "Trace Event Format", Google, 2016.
#pragma once

#include <string>

#include "workload/result/life.h"

namespace weft::workload {

// About 100 bytes per span.
[[nodiscard]] std::string perfetto_trace(const LifeResult& life);

}  // namespace weft::workload
