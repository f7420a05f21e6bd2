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
  GuardedConnection(const kube::ClusterAccess& access, world::GuardedTransport::Permits quarantines,
                    world::GuardedTransport::Permits drains)
      : plain(access, "permissions"),
        guard(plain.transport, std::move(quarantines), std::move(drains)),
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
    for (const std::string& note : world_.take_notes()) {
      if (log_) log_(note);
    }
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

std::set<std::string> enabled_nodes(const control::StageSet& stages, control::Stage stage,
                                    const std::vector<std::string>& nodes) {
  std::set<std::string> enabled;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (stages.allows(stage, sched::NodeId{i})) enabled.insert(nodes[i]);
  }
  return enabled;
}

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
  const std::set<std::string> tainted = enabled_nodes(stages, control::Stage::quarantine, options.pods.nodes);
  const std::set<std::string> drained = enabled_nodes(stages, control::Stage::drain, options.pods.nodes);
  if (!drained.empty() && !settings.kube_namespace.empty())
    return Error{
        ErrorCode::invalid_input,
        "--enable drain needs the pods of all namespaces: leave --namespace out, or a node with pods of others "
        "would count as empty",
        {}};
  model::WatchAccess needed = tainted.empty() ? model::WatchAccess::reads : model::WatchAccess::taints;
  if (!drained.empty()) needed = model::WatchAccess::evicts;
  auto connection = std::make_unique<GuardedConnection>(
      *access, [tainted](const std::string& node) { return tainted.contains(node); },
      [drained](const std::string& node) { return drained.contains(node); });
  // A question about permissions is a POST that stores nothing; the guard knows only reads.
  if (Status checked = check_watch_permissions(connection->plain.client, settings.kube_namespace, needed, log);
      !checked.ok())
    return checked.error();
  if (Status checked = check_nodes(connection->client, options.pods.nodes); !checked.ok()) return checked.error();
  return std::unique_ptr<world::World>(std::make_unique<KubeWatchEngine>(std::move(connection), std::move(options),
                                                                         settings.kube_namespace, std::move(log)));
}

}  // namespace weft::serve
