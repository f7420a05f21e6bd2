// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_haproxy(const RenderInput& /*input*/) { return false; }

void render_haproxy(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
