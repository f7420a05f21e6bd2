// Kueue objects for clusters where Kubernetes allocates the GPUs: the topology of the backend, a flavor per pool, a
// queue per tenant. Part of the target kubernetes/scheduling.
#pragma once

#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render::kube_queues {

// Whether Kueue admits jobs: Kubernetes owns the GPUs.
[[nodiscard]] bool applies(const RenderInput& input);
[[nodiscard]] std::vector<Value> topologies_and_flavors(const RenderInput& input);
[[nodiscard]] std::vector<Value> queues(const RenderInput& input);

}  // namespace weft::render::kube_queues
