// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_frr(const RenderInput& /*input*/) { return false; }

void render_frr(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
