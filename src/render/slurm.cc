// Not written yet.
#include "render/targets.h"

namespace weft {

bool applies_slurm(const RenderInput& /*input*/) { return false; }

void render_slurm(const RenderInput& /*input*/, FileSink& /*sink*/) {}

}  // namespace weft
