// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_kube_inference(const RenderInput& /*input*/) { return false; }

void render_kube_inference(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
