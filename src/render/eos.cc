// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_eos(const RenderInput& /*input*/) { return false; }

void render_eos(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
