// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_nvue(const RenderInput& /*input*/) { return false; }

void render_nvue(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
