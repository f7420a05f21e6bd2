// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_kube_policy(const RenderInput& /*input*/) { return false; }

void render_kube_policy(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
