// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_kube_network(const RenderInput& /*input*/) { return false; }

void render_kube_network(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
