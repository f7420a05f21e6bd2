// Volumes of a pod on a host: a mount is accepted if the same data is at the same path without a pod. Internal to
// serve/submit.
#pragma once

#include "serve/submit/kube_pod.h"

namespace weft::serve {

// Reports mounts that would be missing; adds the paths of checkpoint volumes to the pod. `volumes` and `mounts` may be
// null.
void check_volumes(const SubmitContext& context, const YamlNode* volumes, const YamlNode* mounts, KubePod& pod);

}  // namespace weft::serve
