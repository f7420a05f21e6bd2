// What weft render and weft diff take from their command lines alike.
#pragma once

#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "render/core/target.h"

namespace weft::cli {

// Each says what is wrong on standard error and gives false.
[[nodiscard]] bool read_render_options(Context& context, render::RenderOptions& options);
// Every target that was named, in the table's order; all of them when none was.
[[nodiscard]] bool chosen_targets(Context& context, std::vector<const render::RenderTarget*>& chosen);
// Whether every target that was named renders something for this cluster, or stands in `rendered`, the targets of a
// tree that it is compared with.
[[nodiscard]] bool check_named_targets(Context& context, const render::RenderInput& input,
                                       const std::vector<std::string>& rendered = {});
// Jobs in the order of the command line; what is wrong with them is in the diagnostics of `loaded`.
[[nodiscard]] bool read_jobs(Context& context, model::Loaded& loaded, std::vector<model::JobSpec>& jobs);

}  // namespace weft::cli
