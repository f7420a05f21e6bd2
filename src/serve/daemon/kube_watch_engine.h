// Engine `kubernetes` of `weft serve --mode watch`: a connection that sends no change which is not enabled, and the
// thread that reads the API server. It takes no Lease: it runs no jobs, and several may watch one cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/stages.h"
#include "serve/daemon/kube_engine.h"
#include "world/core/world.h"

namespace weft::serve {

// As open_kube_engine(). `settings.image` has no meaning, and without a namespace the pods of all are shown. Verbs that
// change nodes are needed only where `stages` has quarantine, those that evict pods where it has drain.
[[nodiscard]] Result<std::unique_ptr<world::World>> open_kube_watch(const KubeSettings& settings,
                                                                    const std::string& cluster,
                                                                    std::vector<std::string> nodes,
                                                                    const control::StageSet& stages,
                                                                    std::function<void(std::string_view)> log);

}  // namespace weft::serve
