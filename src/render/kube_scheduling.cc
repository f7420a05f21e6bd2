// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_kube_scheduling(const RenderInput& /*input*/) { return false; }

void render_kube_scheduling(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
