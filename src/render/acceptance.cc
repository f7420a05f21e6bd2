// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_acceptance(const RenderInput& /*input*/) { return false; }

void render_acceptance(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
