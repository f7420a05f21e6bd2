// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_prometheus(const RenderInput& /*input*/) { return false; }

void render_prometheus(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
