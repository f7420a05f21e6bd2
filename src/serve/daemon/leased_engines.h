// Engines slurm and kubernetes in one server, on the same nodes: opens both, their schedulers as leases need them, and
// the gates of the nodes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/daemon/kube_engine.h"
#include "serve/daemon/lease_options.h"
#include "serve/daemon/slurm_engine.h"
#include "world/core/world.h"

namespace weft::serve {

// Both engines are opened by the caller, in drive mode.
[[nodiscard]] Result<std::unique_ptr<world::World>> open_leased(const LeaseSettings& leases, const SlurmSettings& slurm,
                                                                const KubeSettings& kube,
                                                                std::vector<std::string> nodes,
                                                                std::unique_ptr<world::World> slurm_world,
                                                                std::unique_ptr<world::World> kube_world,
                                                                std::function<void(std::string_view)> log);

}  // namespace weft::serve
