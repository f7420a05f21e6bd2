#include "serve/daemon/kube_watch_engine.h"

#include <csignal>
#include <cstdint>
#include <set>
#include <thread>
#include <utility>

#include "base/random.h"
#include "serve/daemon/kube_checks.h"
#include "serve/daemon/kube_connection.h"
#include "world/kube/guarded_transport.h"
#include "world/kube/kube_watch.h"

namespace weft::serve {
namespace {

constexpr Duration kRound = milliseconds(200);  // how long a round waits for changes; commands wait as long at most

// A connection of which only reads and permitted changes get through.
struct GuardedConnection {
  GuardedConnection(const kube::ClusterAccess& access, world::GuardedTransport::Permits permits)
      : plain(access, "permissions"),
        guard(plain.transport, std::move(permits)),
        client(guard, plain.clock, RandomStream(static_cast<std::uint64_t>(plain.clock.wall_ms()), "watch")) {}

  KubeConnection plain;
  world::GuardedTransport guard;
  kube::Client client;
};

class KubeWatchEngine final : public world::World {
 public:
  KubeWatchEngine(std::unique_ptr<GuardedConnection> connection, world::KubeOptions options,
                  const std::string& only_namespace, std::function<void(std::string_view)> log)
      : connection_(std::move(connection)),
        world_(connection_->client, std::move(options), only_namespace),
        log_(std::move(log)) {
    // Signals are the owner's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { work(); });
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  KubeWatchEngine(const KubeWatchEngine&) = delete;
  KubeWatchEngine& operator=(const KubeWatchEngine&) = delete;
  KubeWatchEngine(KubeWatchEngine&&) = delete;
  KubeWatchEngine& operator=(KubeWatchEngine&&) = delete;
  ~KubeWatchEngine() override {
    connection_->plain.clock.stop();
    thread_.join();
  }

  void send(const control::Command& command, sched::Moment now) override { world_.send(command, now); }
  [[nodiscard]] const world::Observation* observation() const override { return world_.observation(); }
  void poll(sched::Moment now, std::vector<control::Event>& events) override {
    world_.poll(now, events);
    std::string problem = world_.problem();
    if (problem == problem_) return;
    if (log_) log_(problem.empty() ? "the API server answers again" : problem);
    problem_ = std::move(problem);
  }

 private:
  void work() {
    while (!connection_->plain.clock.stopped()) world_.work(kRound);
  }

  std::unique_ptr<GuardedConnection> connection_;
  world::KubeWatch world_;
  std::function<void(std::string_view)> log_;
  std::string problem_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

Result<std::unique_ptr<world::World>> open_kube_watch(const KubeSettings& settings, const std::string& cluster,
                                                      std::vector<std::string> nodes, const control::StageSet& stages,
                                                      std::function<void(std::string_view)> log) {
  const Result<kube::ClusterAccess> access = read_kube_access(settings);
  if (!access.ok()) return access.error();
  world::KubeOptions options;
  options.pods.engine = cluster;
  options.pods.kube_namespace = access->kube_namespace;
  options.pods.nodes = std::move(nodes);
  if (std::string problem = world::problem_of(options); !problem.empty())
    return Error{ErrorCode::invalid_input, std::move(problem), {}};
  std::set<std::string> tainted;  // nodes that may be
  for (std::uint32_t i = 0; i < options.pods.nodes.size(); ++i) {
    if (stages.allows(control::Stage::quarantine, sched::NodeId{i})) tainted.insert(options.pods.nodes[i]);
  }
  const bool taints = !tainted.empty();
  auto connection = std::make_unique<GuardedConnection>(
      *access, [tainted = std::move(tainted)](const std::string& node) { return tainted.contains(node); });
  // A question about permissions is a POST that stores nothing; the guard knows only reads.
  if (Status checked = check_watch_permissions(connection->plain.client, settings.kube_namespace, taints, log);
      !checked.ok())
    return checked.error();
  if (Status checked = check_nodes(connection->client, options.pods.nodes); !checked.ok()) return checked.error();
  return std::unique_ptr<world::World>(std::make_unique<KubeWatchEngine>(std::move(connection), std::move(options),
                                                                         settings.kube_namespace, std::move(log)));
}

}  // namespace weft::serve
