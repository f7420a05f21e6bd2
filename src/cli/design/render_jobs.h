// What weft render and weft diff take from their command lines alike.
#pragma once

#include <vector>

#include "cli/framework/context.h"
#include "render/core/target.h"

namespace weft::cli {

// Each says what is wrong on standard error and gives false.
[[nodiscard]] bool read_render_options(Context& context, render::RenderOptions& options);
// Every target that was named, in the table's order; all of them when none was.
[[nodiscard]] bool chosen_targets(Context& context, std::vector<const render::RenderTarget*>& chosen);
// Jobs in the order of the command line; what is wrong with them is in the diagnostics of `loaded`.
[[nodiscard]] bool read_jobs(Context& context, model::Loaded& loaded, std::vector<model::JobSpec>& jobs);

}  // namespace weft::cli
