// Which models of the catalog a design is made of: the server for the GPU, and switches that can be cabled to it and
// to what stands beside it. Made before anything is counted, so that an impossible request fails at once.
#pragma once

#include "base/result.h"
#include "design/design_plan.h"

namespace weft::design {

// By the plan's request alone.
[[nodiscard]] Status choose_models(const model::Catalog& catalog, Plan& plan);

}  // namespace weft::design
