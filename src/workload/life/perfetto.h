// The timeline of a life in the trace event format of Chrome, which ui.perfetto.dev opens: a process for each server or
// fabric, a thread for each stream, NIC or queue, complete events ("X") and counters ("C"). Times are microseconds
// since submit, to the nanosecond. The format: "Trace Event Format", Google, 2016.
#pragma once

#include <string>

#include "workload/result/life.h"

namespace weft::workload {

// About 100 bytes a span.
[[nodiscard]] std::string perfetto_trace(const LifeResult& life);

}  // namespace weft::workload
