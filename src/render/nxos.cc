// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_nxos(const RenderInput& /*input*/) { return false; }

void render_nxos(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
