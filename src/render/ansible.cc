// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_ansible(const RenderInput& /*input*/) { return false; }

void render_ansible(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
