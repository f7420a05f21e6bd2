// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_sonic(const RenderInput& /*input*/) { return false; }

void render_sonic(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
