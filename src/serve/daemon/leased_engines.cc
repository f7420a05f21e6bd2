#include "serve/daemon/leased_engines.h"

#include <utility>

#include "serve/daemon/kube_connection.h"
#include "world/kube/kube_leases.h"
#include "world/lease/gate_command.h"
#include "world/lease/leased_world.h"
#include "world/slurm/slurm_leases.h"

namespace weft::serve {
namespace {

// With a connection of its own: its calls are made by another thread than the engine's.
class KubeLeaseScheduler final : public world::LeaseScheduler {
 public:
  KubeLeaseScheduler(const kube::ClusterAccess& access, std::vector<std::string> nodes)
      : connection_(access, "leases"),
        leases_(std::move(nodes), connection_.client, [this] { connection_.clock.stop(); }) {}

  [[nodiscard]] Result<std::vector<control::NodeUse>> list() override { return leases_.list(); }
  [[nodiscard]] Status mark(sched::NodeId node, bool cordon) override { return leases_.mark(node, cordon); }
  void stop() override { leases_.stop(); }

 private:
  KubeConnection connection_;
  world::KubeLeases leases_;
};

}  // namespace

Result<std::unique_ptr<world::World>> open_leased(const LeaseSettings& leases, const SlurmSettings& slurm,
                                                  const KubeSettings& kube, std::vector<std::string> nodes,
                                                  std::unique_ptr<world::World> slurm_world,
                                                  std::unique_ptr<world::World> kube_world,
                                                  std::function<void(std::string_view)> log) {
  const Result<kube::ClusterAccess> access = read_kube_access(kube);
  if (!access.ok()) return access.error();
  const auto kube_leases = std::make_shared<KubeLeaseScheduler>(*access, nodes);
  // A missing right would keep every lease waiting: said now, with the verb that is missing.
  if (const auto listed = kube_leases->list(); !listed.ok()) return listed.error();
  std::vector<world::LeasedEngine> engines(2);
  for (std::size_t i = 0; i < engines.size(); ++i) {
    const bool is_slurm = leases.engines[i] == lease::LeaseOwner::slurm;
    engines[i].owner = leases.engines[i];
    engines[i].world = std::move(is_slurm ? slurm_world : kube_world);
    if (is_slurm) {
      engines[i].scheduler = std::make_shared<world::SlurmLeases>(nodes, make_slurm_client(slurm));
    } else {
      engines[i].scheduler = kube_leases;
    }
  }
  world::LeasedOptions options;
  options.nodes = std::move(nodes);
  options.log = std::move(log);
  auto gates = std::make_shared<world::GateCommand>(world::GateCommandOptions{leases.gate_command});
  return std::unique_ptr<world::World>(
      std::make_unique<world::LeasedWorld>(std::move(options), std::move(engines), std::move(gates)));
}

}  // namespace weft::serve
