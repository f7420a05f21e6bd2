// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_terraform(const RenderInput& /*input*/) { return false; }

void render_terraform(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
