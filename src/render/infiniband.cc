// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_infiniband(const RenderInput& /*input*/) { return false; }

void render_infiniband(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
