// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_grafana(const RenderInput& /*input*/) { return false; }

void render_grafana(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
