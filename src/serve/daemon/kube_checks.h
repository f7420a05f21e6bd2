// What engine `kubernetes` verifies before it starts: that its user has every permission that it needs, and that the
// cluster has the nodes of the cluster file. A permission that is missing is found here and not in the middle of a job.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/client.h"
#include "model/kube_permissions.h"

namespace weft::serve {

// `refused` names each missing verb. A server that does not answer such questions is only noted in the log.
[[nodiscard]] Status check_permissions(kube::Client& client, const std::string& kube_namespace,
                                       const std::function<void(std::string_view)>& log);
// Those of watch mode: it reads pods (of one namespace, or of all if it is empty) and nodes, and changes nodes only if
// `taints_nodes`.
[[nodiscard]] Status check_watch_permissions(kube::Client& client, const std::string& kube_namespace,
                                             model::WatchAccess access,
                                             const std::function<void(std::string_view)>& log);
[[nodiscard]] Status check_nodes(kube::Client& client, const std::vector<std::string>& nodes);

}  // namespace weft::serve
