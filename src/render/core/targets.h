// The renderers, for the table in core/targets.cc. Each pair is defined in files named after its target.
#pragma once

#include "render/core/target.h"

namespace weft::render {

#define WEFT_RENDER_TARGET(name)                               \
  [[nodiscard]] bool applies_##name(const RenderInput& input); \
  void render_##name(const RenderInput& input, FileSink& sink)

WEFT_RENDER_TARGET(sonic);
WEFT_RENDER_TARGET(nvue);
WEFT_RENDER_TARGET(nxos);
WEFT_RENDER_TARGET(eos);
WEFT_RENDER_TARGET(frr);
WEFT_RENDER_TARGET(infiniband);
WEFT_RENDER_TARGET(kube_network);
WEFT_RENDER_TARGET(kube_gpu);
WEFT_RENDER_TARGET(kube_storage);
WEFT_RENDER_TARGET(kube_frontend);
WEFT_RENDER_TARGET(kube_scheduling);
WEFT_RENDER_TARGET(kube_inference);
WEFT_RENDER_TARGET(kube_policy);
WEFT_RENDER_TARGET(kube_training);
WEFT_RENDER_TARGET(kube_serve);
WEFT_RENDER_TARGET(slurm);
WEFT_RENDER_TARGET(host);
WEFT_RENDER_TARGET(ansible);
WEFT_RENDER_TARGET(terraform);
WEFT_RENDER_TARGET(prometheus);
WEFT_RENDER_TARGET(alertmanager);
WEFT_RENDER_TARGET(grafana);
WEFT_RENDER_TARGET(haproxy);
WEFT_RENDER_TARGET(acceptance);

#undef WEFT_RENDER_TARGET

}  // namespace weft::render
