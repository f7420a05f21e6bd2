// Selects the catalog models of a design: the server for the GPU, and switches that can be cabled to it and to the
// other servers. Done before sizing, so that an impossible request fails at once.
#pragma once

#include "base/result.h"
#include "design/design_plan.h"

namespace weft::design {

// Depends only on the plan's request.
[[nodiscard]] Status choose_models(const model::Catalog& catalog, Plan& plan);

}  // namespace weft::design
