// Makes a recording of a history: the times of its jobs, its incidents, and what came of it. The recording can be
// replayed at once, or written to a file and edited. What the source cannot tell is assumed, and said in notes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "twin/history.h"
#include "twin/recording.h"

namespace weft::twin {

struct NotedRecording {
  RecordingSpec spec;
  std::vector<std::string> notes;  // of the history, then what was assumed here
};

// `cluster`: its name.
[[nodiscard]] NotedRecording make_recording(const History& history, const sched::Machine& machine,
                                            const std::string& cluster);

}  // namespace weft::twin
