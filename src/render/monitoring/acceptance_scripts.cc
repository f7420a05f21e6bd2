// The scripts of the acceptance test. All cluster-specific data is read from the tables beside them; the scripts
// contain no names from the cluster.
#include <array>

#include "base/asset.h"
#include "render/monitoring/acceptance.h"

namespace weft::render::acceptance {
namespace {

constexpr std::array<Script, 11> kScripts = {{
    {"lib.sh", asset<"render/acceptance/lib.sh">},
    {"pairs.sh", asset<"render/acceptance/pairs.sh">},
    {"run.sh", asset<"render/acceptance/run.sh">},
    {"oob.sh", asset<"render/acceptance/oob.sh">},
    {"hosts.sh", asset<"render/acceptance/hosts.sh">},
    {"wiring.sh", asset<"render/acceptance/wiring.sh">},
    {"ping.sh", asset<"render/acceptance/ping.sh">},
    {"gpu.sh", asset<"render/acceptance/gpu.sh">},
    {"rdma.sh", asset<"render/acceptance/rdma.sh">},
    {"storage.sh", asset<"render/acceptance/storage.sh">},
    {"nccl.sh", asset<"render/acceptance/nccl.sh">},
}};

}  // namespace

std::span<const Script> scripts() { return kScripts; }

}  // namespace weft::render::acceptance
