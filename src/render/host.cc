// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_host(const RenderInput& /*input*/) { return false; }

void render_host(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
