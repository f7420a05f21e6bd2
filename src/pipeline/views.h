// Views of pipelines and their runs, for `weft pipeline`.
#pragma once

#include <vector>

#include "base/document.h"
#include "pipeline/pipeline.h"
#include "pipeline/run_state.h"

namespace weft::pipeline {

// What would be submitted where, without a run.
[[nodiscard]] Document plan_view(const Pipeline& pipeline);
[[nodiscard]] Document run_view(const Pipeline& pipeline, const RunState& state);
[[nodiscard]] Document runs_view(const std::vector<RunState>& runs);
// "running", "done", "failed" or "canceled".
[[nodiscard]] std::string_view summary_of(const RunState& state);

}  // namespace weft::pipeline
