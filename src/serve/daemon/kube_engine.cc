#include "serve/daemon/kube_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <utility>

#include "base/random.h"
#include "kube/kubeconfig.h"
#include "serve/daemon/kube_checks.h"
#include "serve/daemon/kube_connection.h"
#include "serve/daemon/kube_lease.h"
#include "serve/daemon/kube_logs.h"
#include "world/kube/kube_world.h"

namespace weft::serve {
namespace {

// A start is three requests (Service, pod, binding): some 50 starts per second, as many as kube-scheduler binds with
// its own defaults (50 requests per second, 100 at once).
constexpr double kRequestsPerSecond = 150;
constexpr double kBurst = 300;
constexpr Duration kRound = milliseconds(200);  // how long a round waits for changes; commands wait as long at most

class KubeEngine final : public world::World, public LogSource {
 public:
  KubeEngine(const kube::ClusterAccess& access, std::unique_ptr<KubeConnection> connection,
             std::unique_ptr<KubeLease> lease, world::KubeOptions options, std::function<void(std::string_view)> log)
      : connection_(std::move(connection)),
        lease_(std::move(lease)),
        logs_(access, options.pods.engine, options.pods.kube_namespace),
        world_(connection_->client, std::move(options)),
        log_(std::move(log)) {
    // Signals are the owner's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { work(); });
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  KubeEngine(const KubeEngine&) = delete;
  KubeEngine& operator=(const KubeEngine&) = delete;
  KubeEngine(KubeEngine&&) = delete;
  KubeEngine& operator=(KubeEngine&&) = delete;
  // Attempts keep running. The lease is released last: no request of this process may follow.
  ~KubeEngine() override {
    connection_->clock.stop();
    thread_.join();
  }

  void send(const control::Command& command, sched::Moment now) override { world_.send(command, now); }
  void read_log(const LogRequest& request, std::function<void(Result<LogPiece>)> answer) override {
    logs_.read(request, std::move(answer));
  }
  void poll(sched::Moment now, std::vector<control::Event>& events) override {
    logs_.deliver();
    world_.poll(now, events);
    std::string problem = world_.problem();
    if (problem.empty()) problem = lease_->problem();
    if (problem == problem_) return;
    if (log_) log_(problem.empty() ? "the API server answers again" : problem);
    problem_ = std::move(problem);
  }

 private:
  void work() {
    while (!connection_->clock.stopped()) world_.work(kRound);
  }

  std::unique_ptr<KubeConnection> connection_;
  std::unique_ptr<KubeLease> lease_;
  KubeLogs logs_;
  world::KubeWorld world_;
  std::function<void(std::string_view)> log_;
  std::string problem_;
  std::thread thread_;  // last: it uses the others
};

// Unique per process.
std::string make_identity(oob::Clock& clock) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string seed = fmt::format("{} {} {} {}", host.data(), ::getpid(), clock.wall_ms(), clock.now().count());
  return fmt::format("{}_{:016x}", host.data(), hash64(seed));
}

}  // namespace

Result<kube::ClusterAccess> read_kube_access(const KubeSettings& settings) {
  Result<kube::ClusterAccess> access = Error{ErrorCode::internal, "", {}};
  if (!settings.kubeconfig.empty()) {
    access = kube::load_kubeconfig(settings.kubeconfig, settings.context);
  } else {
    kube::InClusterPlaces places;
    places.host = settings.service_host;
    places.port = settings.service_port;
    if (!settings.service_account.empty()) places.folder = settings.service_account;
    access = kube::in_cluster_access(places);
    if (!access.ok() && access.error().code == ErrorCode::not_found) {
      return Error{ErrorCode::invalid_input,
                   "engine kubernetes needs --kubeconfig FILE, $KUBECONFIG, ~/.kube/config or a pod's service account",
                   {}};
    }
  }
  if (access.ok() && !settings.kube_namespace.empty()) access->kube_namespace = settings.kube_namespace;
  return access;
}

Result<OpenedKubeEngine> open_kube_engine(const KubeSettings& settings, const std::string& cluster,
                                          std::vector<std::string> nodes, std::function<void(std::string_view)> log) {
  const Result<kube::ClusterAccess> access = read_kube_access(settings);
  if (!access.ok()) return access.error();
  if (settings.image.empty()) {
    return Error{ErrorCode::invalid_input, "engine kubernetes needs --image: the container image of the jobs", {}};
  }
  world::KubeOptions options;
  options.pods.engine = cluster;
  options.pods.kube_namespace = access->kube_namespace;
  options.pods.nodes = std::move(nodes);
  options.pods.image = settings.image;
  options.pods.threads = settings.threads;
  options.helper = settings.helper;
  if (std::string problem = world::problem_of(options); !problem.empty())
    return Error{ErrorCode::invalid_input, std::move(problem), {}};
  kube::ClientOptions client;
  client.requests_per_second = kRequestsPerSecond;
  client.burst = kBurst;
  auto connection = std::make_unique<KubeConnection>(*access, "kubernetes", client);
  if (Status checked = check_permissions(connection->client, access->kube_namespace, log); !checked.ok())
    return checked.error();
  if (Status checked = check_nodes(connection->client, options.pods.nodes); !checked.ok()) return checked.error();
  kube::ElectionOptions election;
  election.lease = {access->kube_namespace, "weft-" + cluster};
  election.identity = make_identity(connection->clock);
  Result<std::unique_ptr<KubeLease>> lease = KubeLease::acquire(*access, std::move(election), log);
  if (!lease.ok()) return lease.error();
  options.leads = [held = lease->get()] { return held->is_held(); };
  auto engine = std::make_unique<KubeEngine>(*access, std::move(connection), std::move(lease).value(),
                                             std::move(options), std::move(log));
  OpenedKubeEngine opened;
  opened.logs = engine.get();
  opened.world = std::move(engine);
  return opened;
}

}  // namespace weft::serve
