// Arguments that weft render and weft diff share.
#pragma once

#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "render/core/target.h"

namespace weft::cli {

// Each reports problems on standard error and returns false.
[[nodiscard]] bool read_render_options(Context& context, render::RenderOptions& options);
// All named targets, in the table's order; all targets if none was named.
[[nodiscard]] bool chosen_targets(Context& context, std::vector<const render::RenderTarget*>& chosen);
// Whether every named target renders something for this cluster, or is in `rendered`, the targets of a tree that it is
// compared with.
[[nodiscard]] bool check_named_targets(Context& context, const render::RenderInput& input,
                                       const std::vector<std::string>& rendered = {});
// Jobs in the order of the command line; their problems are in the diagnostics of `loaded`.
[[nodiscard]] bool read_jobs(Context& context, model::Loaded& loaded, std::vector<model::JobSpec>& jobs);

}  // namespace weft::cli
