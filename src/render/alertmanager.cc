// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_alertmanager(const RenderInput& /*input*/) { return false; }

void render_alertmanager(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
