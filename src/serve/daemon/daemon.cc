#include "serve/daemon/daemon.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/human_format.h"
#include "base/text.h"
#include "control/fingerprint.h"
#include "sched/core/tenants.h"
#include "sched/replay/policies.h"
#include "serve/api/api.h"
#include "serve/api/event_view.h"
#include "serve/daemon/kube_watch_engine.h"
#include "serve/daemon/leased_engines.h"
#include "serve/daemon/stage_options.h"
#include "serve/http/server.h"
#include "serve/submit/draft.h"
#include "store/copy_store.h"
#include "store/etcd_store.h"
#include "store/sqlite_store.h"
#include "world/core/led_world.h"
#include "world/local/local_world.h"
#include "world/slurm/slurm_world.h"

namespace weft::serve {
namespace {

constexpr Duration kTick = sched::seconds(1);
constexpr Duration kBusyWait = milliseconds(20);   // between looks at running attempts
constexpr Duration kIdleWait = milliseconds(250);  // nothing runs: only requests and deadlines
constexpr Duration kFullWait = milliseconds(500);  // until a full disk is tried again

// The wall clock at the start, continued by the monotonic clock: it never goes back while the process runs.
class JournalClock {
 public:
  JournalClock()
      : origin_(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count()),
        began_(std::chrono::steady_clock::now()) {}
  [[nodiscard]] sched::Moment now() const {
    const auto passed = std::chrono::steady_clock::now() - began_;
    return sched::Moment(origin_ + std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count());
  }

 private:
  std::int64_t origin_;
  std::chrono::steady_clock::time_point began_;
};

constexpr Duration kAfterFailedStart = milliseconds(3'000);  // of a leader whose engine does not answer
constexpr Duration kMaxStale = milliseconds(15'000);         // beyond: /healthz of a follower fails

bool may_pass(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::timeout || error.code == ErrorCode::conflict;
}

std::string seconds_text(Duration duration) {
  return fmt::format("{:.1f} s", static_cast<double>(duration.count()) / 1e9);
}

// Of no interest to people.
bool is_bookkeeping(control::RecordKind kind) {
  return kind == control::RecordKind::outcome || kind == control::RecordKind::tenant_use;
}

// Jobs of engine slurm open their logs in it with the rights of their users.
Status make_directory(const std::string& path, bool shared) {
  const mode_t mode = shared ? 0711 : 0700;
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) {
    if (!shared || ::chmod(path.c_str(), mode) == 0) return {};
  }
  return Error{ErrorCode::unavailable, "cannot be created: " + std::generic_category().message(errno), path};
}

// Memory has session secrets and keys. The limit alone does not hold if the kernel pipes core dumps to a program:
// core(5). Programs that it starts can be dumped again (execve(2)); the jobs of a server that root does not run inherit
// the limit.
void forbid_core_dumps() {
  (void)::prctl(PR_SET_DUMPABLE, 0);
  if (::geteuid() == 0) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = 0;
  (void)::setrlimit(RLIMIT_CORE, &limit);
}

// Clients over TCP: the usual soft limit of 1024 descriptors is for programs that use select(2). Jobs of the local
// engine inherit it.
void allow_many_connections() {
  constexpr rlim_t kDescriptors = 8192;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kDescriptors) return;
  limit.rlim_cur = std::min(limit.rlim_max, kDescriptors);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

class Server {
 public:
  explicit Server(const ServeOptions& options) : options_(options), engine_directory_(options.engine_directory) {}

  Status open() {
    Result<sched::Machine> machine = sched::Machine::of(*options_.cluster);
    if (!machine.ok()) return machine.error();
    machine_ = std::make_shared<const sched::Machine>(std::move(*machine));
    if (machine_->nodes().empty())
      return Error{ErrorCode::invalid_input, "the cluster file has no GPU servers to run jobs on", {}};
    if (Status made = make_directory(options_.state_directory, uses_slurm()); !made.ok()) return made;
    if (options_.watch) {
      Result<control::StageSet> stages = parse_stages(options_.enable, *machine_);
      if (!stages.ok()) return stages.error();
      stages_ = std::move(*stages);
    }
    if (engine_directory_.empty()) engine_directory_ = options_.state_directory + "/engine";
    if (options_.etcd) return open_follower();
    // Slurm may not have the nodes of the cluster file: then no journal is created for it.
    const bool engine_first = uses_slurm();
    if (Status opened = engine_first ? open_engine() : open_store(); !opened.ok()) return opened;
    if (Status opened = engine_first ? open_store() : open_engine(); !opened.ok()) return opened;
    if (Status opened = open_access(); !opened.ok()) return opened;
    if (Status opened = open_loop(); !opened.ok()) return opened;
    if (Status opened = open_oob(); !opened.ok()) return opened;
    return open_socket();
  }

  Status run() {
    if (!options_.etcd) {
      if (Status status = begin(); !status.ok()) return status;
    }
    if (options_.ready) options_.ready();
    while (!stopping_) {
      http_->run_once(wait());
      if (Status status = options_.etcd ? turn_in_group() : turn(); !status.ok()) return status;
    }
    if (oob_ != nullptr) oob_->stop();
    http_->stop();
    for (int left = 100; left > 0 && !http_->is_stopped(); --left) http_->run_once(milliseconds(50));
    return {};
  }

 private:
  Status begin() {
    world::TurnResult began;
    if (Status status = loop_->begin(clock_.now(), began); !status.ok()) return status;
    note_turn(began);
    return {};
  }

  // A controller of a group begins as a follower: it answers from a copy of the journal until it leads.
  Status open_follower() {
    if (Status opened = open_access(); !opened.ok()) return opened;
    if (Status opened = open_copy(); !opened.ok()) return opened;
    open_api(*copy_loop_, copy_);
    if (Status opened = open_oob(); !opened.ok()) return opened;
    if (Status opened = open_socket(); !opened.ok()) return opened;
    EtcdSettings settings = *options_.etcd;
    if (settings.address.empty()) settings.address = default_address();
    Result<std::unique_ptr<EtcdCandidacy>> candidacy = EtcdCandidacy::open(
        settings, control::journal_fingerprint(options_.cluster->name(), *machine_), [this] { http_->post([] {}); });
    if (!candidacy.ok()) return candidacy.error();
    candidacy_ = std::move(*candidacy);
    candidacy_->follow(true);
    store_connection_ = std::make_unique<etcd::Connection>(settings.connection);
    gate_->set_health([this] { return health(); });
    note_group();
    return {};
  }

  [[nodiscard]] std::string default_address() const {
    return listeners_.empty() ? "unix:" + options_.socket_path : "https://" + listeners_.front();
  }

  Status open_copy() {
    Result<control::ControllerOptions> options = controller_options();
    if (!options.ok()) return options.error();
    Result<std::unique_ptr<world::ControlLoop>> opened =
        world::ControlLoop::open(machine_, std::move(*options), copy_, silent_);
    if (!opened.ok()) return opened.error();
    (void)(*opened)->follow(clock_.now()).ok();  // sets its time
    copy_loop_ = std::move(*opened);
    return {};
  }

  [[nodiscard]] bool leads() const { return loop_ != nullptr; }
  [[nodiscard]] world::ControlLoop& present_loop() { return leads() ? *loop_ : *copy_loop_; }

  Status turn_in_group() {
    if (leads() && !candidacy_->is_leader()) step_down("the lease in etcd is lost");
    if (!leads() && candidacy_->is_leader()) {
      if (Status led = lead(); !led.ok()) return led;
    }
    Status turned = leads() ? turn() : follow();
    if (!turned.ok() && leads() && turned.error().code == ErrorCode::conflict) {
      step_down(turned.error().text());
      turned = {};
    }
    note_group();
    return turned;
  }

  // Opens the journal for writing and the engine. What may pass lets go of the leadership; other errors end the server.
  Status lead() {
    Status opened = open_as_leader();
    if (opened.ok() && candidacy_->is_leader()) opened = begin();
    if (opened.ok() && candidacy_->is_leader()) {
      candidacy_->follow(false);
      options_.log(fmt::format("leads: {} in the journal", plural(store_->durable(), "record")));
      return {};
    }
    if (!opened.ok() && !may_pass(opened.error())) return opened;
    step_down(opened.ok() ? "the lease in etcd is lost" : opened.error().text());
    return {};
  }

  Status open_as_leader() {
    options_.log("becomes leader: reads the journal");
    store::EtcdOptions options{options_.etcd->connection.prefix,
                               control::journal_fingerprint(options_.cluster->name(), *machine_), candidacy_->fence()};
    Result<std::unique_ptr<store::EtcdStore>> opened = store::EtcdStore::open(store_connection_->client(), options);
    if (!opened.ok()) return opened.error();
    store_ = std::move(*opened);
    if (Status engine = open_engine(); !engine.ok()) return engine;
    led_ = std::make_unique<world::LedWorld>(*world_, [this] { return candidacy_->is_leader(); });
    Result<control::ControllerOptions> controller = controller_options();
    if (!controller.ok()) return controller.error();
    Result<std::unique_ptr<world::ControlLoop>> loop =
        world::ControlLoop::open(machine_, std::move(*controller), *store_, *led_);
    if (!loop.ok()) return loop.error();
    loop_ = std::move(*loop);
    logged_ = store_->durable();
    began_ = false;
    api_->facts().engine = engine_;
    api_->attach(*loop_, *store_, logs_, "this controller has become leader");
    return {};
  }

  // Stops acting; what it has not made durable is lost, as in a crash.
  void step_down(const std::string& why) {
    options_.log(fmt::format("does not lead anymore: {}", why));
    api_->attach(*copy_loop_, copy_, nullptr,
                 "this controller does not lead anymore; the request may have taken effect: if it is repeated, use the "
                 "same Idempotency-Key");
    api_->facts().store_problem.clear();
    loop_.reset();
    led_.reset();
    logs_ = nullptr;
    world_.reset();
    store_.reset();
    candidacy_->resign(kAfterFailedStart);
    candidacy_->follow(true);
  }

  // Applies what the leader has written. The copy is made again for each batch: not more than a tenth of the time.
  Status follow() {
    const Duration began = etcd::boot_time();
    if (began < next_follow_) return {};
    Followed followed = candidacy_->take();
    bool again = false;
    for (store::FollowerUpdate& update : followed.updates) {
      if (update.begins_again) {
        store::JournalCopy journal;
        journal.first = update.first;
        journal.records.assign(std::make_move_iterator(update.records.begin()),
                               std::make_move_iterator(update.records.end()));
        copy_.begin(std::move(update.snapshot), std::move(journal));
        again = true;
      } else {
        copy_.add(std::move(update.records));
      }
    }
    if (followed.current_as_of) copy_as_of_ = followed.current_as_of;
    if (again) {
      if (Status opened = open_copy(); !opened.ok()) return opened;
      api_->attach(*copy_loop_, copy_, nullptr, "the copy of the journal was read again");
    } else if (Status applied = copy_loop_->follow(clock_.now()); !applied.ok()) {
      return applied;
    }
    const sched::Moment now = clock_.now();
    if (now - last_tick_ >= kTick) {
      last_tick_ = now;
      gate_->tick();
      access_->check_certificate();
    }
    api_->publish();
    if (!followed.updates.empty())
      next_follow_ = etcd::boot_time() + Duration(10 * (etcd::boot_time() - began).count());
    return {};
  }

  // Whether it leads now: the lease may have ended since the last turn.
  [[nodiscard]] bool still_leads() const { return leads() && candidacy_->is_leader(); }

  void note_group() {
    const GroupView view = candidacy_->view();
    ServerFacts& facts = api_->facts();
    facts.role = still_leads() ? kLeaderRole : kFollowerRole;
    facts.leader = view.leader;
    facts.stale = copy_as_of_ ? seconds_text(etcd::boot_time() - *copy_as_of_) : "unknown";
    if (!leads() && facts.engine.empty()) facts.engine = "of the leader";
  }

  // For load balancers and people: "" and what is wrong; otherwise what it is.
  [[nodiscard]] Health health() {
    note_group();
    const ServerFacts& facts = api_->facts();
    const GroupView view = candidacy_->view();
    if (still_leads())
      return {facts.store_problem.empty() ? "" : "leader, but the journal cannot be written: " + facts.store_problem,
              "ok: leader"};
    const std::string leader = view.leader.empty() ? "no controller leads" : "the leader is " + view.leader;
    const std::string about = fmt::format("follower, state older by at most {}; {}", facts.stale, leader);
    const bool is_old = !copy_as_of_ || etcd::boot_time() - *copy_as_of_ > kMaxStale;
    if (!is_old && !view.leader.empty()) return {"", "ok: " + about};
    return {about + (view.problem.empty() ? "" : ": " + view.problem), ""};
  }

  [[nodiscard]] bool shares_nodes() const { return options_.leases.engines.size() >= 2; }
  [[nodiscard]] bool uses_slurm() const { return shares_nodes() || options_.engine == Engine::slurm; }

  Status open_store() {
    store::SqliteOptions options;
    options.directory = options_.state_directory + "/journal";
    options.fingerprint = control::journal_fingerprint(options_.cluster->name(), *machine_);
    options.create = true;
    Result<std::unique_ptr<store::SqliteStore>> opened = store::SqliteStore::open(options);
    if (!opened.ok()) return opened.error();
    store_ = std::move(*opened);
    return {};
  }

  Status open_engine() {
    if (shares_nodes()) return open_both();
    switch (options_.engine) {
      case Engine::slurm:
        return open_slurm();
      case Engine::kubernetes:
        return open_kubernetes();
      case Engine::local:
        break;
    }
    return open_local();
  }

  [[nodiscard]] std::vector<std::string> node_names() const {
    std::vector<std::string> names;
    for (const sched::NodeShape& node : machine_->nodes()) names.push_back(node.name);
    return names;
  }

  Status open_both() {
    if (Status opened = open_slurm(); !opened.ok()) return opened;
    std::unique_ptr<world::World> slurm = std::move(world_);
    if (Status opened = open_kubernetes(); !opened.ok()) return opened;
    std::unique_ptr<world::World> kubernetes = std::move(world_);
    Result<std::unique_ptr<world::World>> opened =
        open_leased(options_.leases, options_.slurm, options_.kube, node_names(), std::move(slurm),
                    std::move(kubernetes), options_.log);
    if (!opened.ok()) return opened.error();
    engine_ = "slurm and kubernetes";
    world_ = std::move(*opened);
    return {};
  }

  Status open_kubernetes_watching() {
    Result<std::unique_ptr<world::World>> opened =
        open_kube_watch(options_.kube, options_.cluster->name(), node_names(), stages_, options_.log);
    if (!opened.ok()) return opened.error();
    engine_ = "kubernetes";
    world_ = std::move(*opened);
    return {};
  }

  Status open_kubernetes() {
    if (options_.watch) return open_kubernetes_watching();
    KubeSettings settings = options_.kube;
    settings.helper = options_.helper;
    for (const sched::NodeShape& node : machine_->nodes())
      settings.threads.push_back(
          threads_per_core(*options_.cluster, machine_->pools.at(static_cast<std::size_t>(node.pool))));
    Result<OpenedKubeEngine> opened = open_kube_engine(settings, options_.cluster->name(), node_names(), options_.log);
    if (!opened.ok()) return opened.error();
    engine_ = "kubernetes";
    logs_ = opened->logs;
    world_ = std::move(opened->world);
    return {};
  }

  Status open_slurm_watching() {
    const WatchSettings watch{options_.state_directory, options_.cluster->name(), stages_, options_.log};
    Result<std::unique_ptr<world::World>> opened = open_slurm_watch(options_.slurm, watch, *machine_);
    if (!opened.ok()) return opened.error();
    engine_ = "slurm";
    world_ = std::move(*opened);
    return {};
  }

  Status open_slurm() {
    if (options_.watch) return open_slurm_watching();
    world::SlurmOptions options;
    options.state = engine_directory_;
    options.cluster = options_.cluster->name();
    options.nodes.assign(machine_->nodes().begin(), machine_->nodes().end());
    options.shared = options_.etcd.has_value();
    options.partition = options_.slurm.partition;
    options.helper = options_.helper;
    options.log = options_.log;
    Result<std::unique_ptr<world::SlurmWorld>> opened =
        world::SlurmWorld::open(options, make_slurm_client(options_.slurm));
    if (!opened.ok()) return opened.error();
    engine_ = "slurm";
    world_ = std::move(*opened);
    return {};
  }

  Status open_local() {
    world::LocalOptions options;
    options.state = engine_directory_;
    options.helper = options_.helper;
    options.cgroups = options_.cgroups;
    options.shared = options_.etcd.has_value();
    options.nodes = node_names();
    Result<std::unique_ptr<world::LocalWorld>> opened = world::LocalWorld::open(options);
    if (!opened.ok()) return opened.error();
    engine_ = (*opened)->uses_cgroups() ? "local, with cgroups" : "local, with process groups";
    world_ = std::move(*opened);
    return {};
  }

  Status set_leases(control::ControllerOptions& options) const {
    if (!shares_nodes()) return {};
    options.engines = options_.leases.engines;
    Result<std::vector<lease::LeaseOwner>> owners = parse_first_owners(options_.leases, *machine_);
    if (!owners.ok()) return owners.error();
    options.owners = std::move(*owners);
    Result<std::vector<control::ScheduledMove>> schedule = parse_schedule(options_.leases, *machine_);
    if (!schedule.ok()) return schedule.error();
    options.schedule = std::move(*schedule);
    return {};
  }

  Status open_access() {
    Result<std::unique_ptr<AccessSetup>> access =
        AccessSetup::open(options_.access, *options_.cluster, options_.state_directory, options_.log);
    if (!access.ok()) return access.error();
    access_ = std::move(*access);
    Result<std::unique_ptr<Gate>> gate = access_->open_gate(
        [this](std::function<void()> callback) { http_->post(std::move(callback)); }, options_.version, ::geteuid());
    if (!gate.ok()) return gate.error();
    gate_ = std::move(*gate);
    return {};
  }

  Status open_oob() {
    if (!options_.oob) return {};
    Diagnostics diagnostics;
    Sources sources;
    std::optional<FileId> endpoints;
    if (!options_.oob->endpoints.empty()) {
      Result<std::string> text = read_file(options_.oob->endpoints);
      if (!text.ok()) return text.error();
      endpoints = sources.add(options_.oob->endpoints, std::move(*text));
    }
    std::optional<oob::Inventory> inventory = oob::make_inventory(*options_.cluster, diagnostics, &sources, endpoints);
    if (!inventory) {
      options_.log(render_all(diagnostics, sources, false));
      return Error{ErrorCode::invalid_input, "the devices out of band cannot be read", options_.oob->endpoints};
    }
    OobRunnerOptions options;
    options.config = *options_.oob;
    options.cluster = options_.cluster;
    options.inventory = std::move(*inventory);
    options.folder = options_.state_directory + "/operations";
    options.post = [this](std::function<void()> callback) { http_->post(std::move(callback)); };
    options.jobs_on = [this](const std::vector<std::string>& devices) { return jobs_on(devices); };
    options.log = [this](std::string_view line) {
      http_->post([this, text = std::string(line)] { options_.log(text); });
    };
    options.clock = &oob_clock_;
    Result<std::unique_ptr<OobRunner>> opened = OobRunner::open(std::move(options));
    if (!opened.ok()) return opened.error();
    oob_ = std::move(*opened);
    gate_->set_oob(oob_.get());
    return {};
  }

  // For the blast radius of an operation: what runs on devices, and whose it is.
  [[nodiscard]] Value jobs_on(const std::vector<std::string>& devices) const {
    const control::ControlState& state = (leads() ? *loop_ : *copy_loop_).controller().state();
    std::set<control::JobNumber> numbers;
    for (const std::string& name : devices) {
      const std::optional<sched::NodeId> node = machine_->find(name);
      if (node) numbers.insert(state.jobs_on(*node).begin(), state.jobs_on(*node).end());
    }
    Value jobs = Value::list();
    for (const control::JobNumber number : numbers) {
      const control::Job* job = state.find_job(number);
      if (job == nullptr) continue;
      jobs.add(Value::map()
                   .set("job", number)
                   .set("name", job->spec->shape.name)
                   .set("user", job->user)
                   .set("tenant", job->spec->shape.tenant));
    }
    return jobs;
  }

  [[nodiscard]] Result<control::ControllerOptions> controller_options() const {
    control::ControllerOptions options;
    options.policy = sched::find_policy("weft")->policy;
    options.tenants = sched::tenants_of(*options_.cluster);
    options.stages = stages_;
    if (Status leased = set_leases(options); !leased.ok()) return leased.error();
    if (options_.start_timeout.count() > 0) options.start_timeout = options_.start_timeout;
    return options;
  }

  Status open_loop() {
    Result<control::ControllerOptions> options = controller_options();
    if (!options.ok()) return options.error();
    Result<std::unique_ptr<world::ControlLoop>> opened =
        world::ControlLoop::open(machine_, std::move(*options), *store_, *world_);
    if (!opened.ok()) return opened.error();
    loop_ = std::move(*opened);
    if (const std::size_t jobs = loop_->controller().state().jobs().size(); options_.watch && jobs > 0) {
      return Error{
          ErrorCode::conflict,
          fmt::format("the journal has {} of drive mode that {} not ended: end them first with --mode drive, or "
                      "use another --state",
                      plural(jobs, "job"), jobs == 1 ? "has" : "have"),
          options_.state_directory};
    }
    logged_ = store_->durable();
    open_api(*loop_, *store_);
    return {};
  }

  void open_api(world::ControlLoop& loop, store::Store& store) {
    ApiOptions api;
    api.server_uid = ::geteuid();
    if (options_.watch) api.watched = world_.get();
    api.log_directory = engine_directory_ + "/logs";
    if (options_.engine == Engine::kubernetes) api.containers = ContainerRuntime::kubernetes;
    if (options_.engine == Engine::slurm) api.containers = ContainerRuntime::apptainer;
    api.engines = options_.leases.engines;
    api.logs = logs_;
    api.gatekeeper = gate_.get();
    api_ = std::make_unique<Api>(loop, store, options_.cluster, std::move(api));
    gate_->set_api(api_.get());
    api_->facts().version = options_.version;
    api_->facts().cluster = options_.cluster->name();
    api_->facts().engine = engine_;
    api_->facts().enabled = join(options_.enable, ", ");
    api_->facts().state_directory = options_.state_directory;
    api_->facts().started = clock_.now();
  }

  Status open_socket() {
    HttpOptions options;
    options.socket_path = options_.socket_path;
    options.socket_mode = ::geteuid() == 0 ? 0666 : 0600;  // the caller's user decides what it may do
    if (Status set = access_->set_listeners(options); !set.ok()) return set;
    if (!options.listeners.empty()) allow_many_connections();
    Result<std::unique_ptr<HttpServer>> opened =
        HttpServer::listen(options, [this](HttpRequest request, const Responder& responder) {
          if (candidacy_ != nullptr) note_group();
          api_->set_time(present_loop().journal_time(clock_.now()));
          api_->facts().http = http_->counters();
          api_->handle(std::move(request), responder);
        });
    if (!opened.ok()) return opened.error();
    http_ = std::move(*opened);
    if (Status watched = http_->watch_signals({SIGTERM, SIGINT}, [this](int) { stopping_ = true; }); !watched.ok()) {
      return watched;
    }
    if (Status watched = http_->watch_signals({SIGHUP}, [this](int) { access_->reload(*gate_); }); !watched.ok()) {
      return watched;
    }
    for (std::size_t i = 0; i < options.listeners.size(); ++i)
      listeners_.push_back(to_text(TcpListener{options.listeners[i].address, http_->port(i)}));
    if (options_.etcd) {
      options_.log(fmt::format("{} {}: {}, {} GPUs, journal in etcd {}{}", "serving", options_.cluster->name(),
                               plural(machine_->nodes().size(), "node"), machine_->gpus(),
                               join(options_.etcd->connection.members, ","), options_.etcd->connection.prefix));
      options_.log(fmt::format("socket {}, state {}", options_.socket_path, options_.state_directory));
      for (const std::string& listener : listeners_) options_.log("https://" + listener);
      return {};
    }
    options_.log(fmt::format("{} {}: {}, {} GPUs, engine {}", options_.watch ? "watching" : "serving",
                             options_.cluster->name(), plural(machine_->nodes().size(), "node"), machine_->gpus(),
                             api_->facts().engine));
    if (options_.watch) {
      options_.log(fmt::format("watch mode: the engine schedules; enabled: {}", options_.enable.empty()
                                                                                    ? "nothing, so nothing is changed"
                                                                                    : join(options_.enable, ", ")));
    }
    options_.log(fmt::format("socket {}, state {}, {} in the journal", options_.socket_path, options_.state_directory,
                             plural(store_->durable(), "record")));
    for (const std::string& listener : listeners_) options_.log("https://" + listener);
    return {};
  }

  [[nodiscard]] Duration wait() const {
    if (api_->has_unsent_events()) return Duration();
    if (!leads()) return kIdleWait;
    if (!api_->facts().store_problem.empty()) return kFullWait;
    for (const auto& [number, job] : loop_->controller().state().jobs()) {
      if (job.current) return kBusyWait;
    }
    return began_ ? kIdleWait : kBusyWait;  // at first, the nodes have yet to be heard of
  }

  Status turn() {
    const sched::Moment now = clock_.now();
    const bool tick = now - last_tick_ >= kTick;
    if (tick) {
      last_tick_ = now;
      gate_->tick();
      access_->check_certificate();
    }
    world::TurnResult result;
    if (Status status = loop_->turn(now, api_->take_requests(), tick, result); !status.ok()) return status;
    note_turn(result);
    return {};
  }

  void note_turn(const world::TurnResult& result) {
    const bool was_full = !api_->facts().store_problem.empty();
    api_->finish_turn(result);
    api_->publish();
    const bool is_full = !result.store_full.empty();
    if (is_full && !was_full)
      options_.log(
          fmt::format("the journal cannot be written: {}. Running jobs continue; nothing is started or "
                      "accepted until there is space",
                      result.store_full));
    if (!is_full && was_full) options_.log("the journal can be written again");
    if (!began_) began_ = options_.watch || loop_->controller().is_usable(sched::NodeId{0});
    log_records();
  }

  void log_records() {
    if (!options_.events || logged_ >= store_->durable()) return;
    const Status read = store_->read(logged_ + 1, [&](const store::Entry& entry) -> Status {
      const Result<control::Record> record = control::parse_record(entry.bytes);
      if (record.ok() && !is_bookkeeping(record->kind)) options_.events(event_sentence(*record, *machine_));
      return {};
    });
    logged_ = store_->durable();
    if (!read.ok()) options_.log(read.error().text());
  }

  const ServeOptions& options_;
  JournalClock clock_;
  std::shared_ptr<const sched::Machine> machine_;
  std::string engine_directory_;
  std::unique_ptr<etcd::Connection> store_connection_;  // of store_, with the journal in etcd
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<world::World> world_;
  std::unique_ptr<world::LedWorld> led_;
  LogSource* logs_ = nullptr;  // of world_
  std::string engine_;
  control::StageSet stages_;
  std::unique_ptr<world::ControlLoop> loop_;  // null: this controller does not lead
  world::SilentWorld silent_;
  store::CopyStore copy_;
  std::unique_ptr<world::ControlLoop> copy_loop_;  // of copy_, while another controller leads
  std::optional<Duration> copy_as_of_;
  Duration next_follow_{};
  std::vector<std::string> listeners_;
  std::unique_ptr<AccessSetup> access_;
  std::unique_ptr<HttpServer> http_;  // outlives the threads of the others, which post to it
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Api> api_;
  oob::SystemClock oob_clock_;
  std::unique_ptr<OobRunner> oob_;
  std::unique_ptr<EtcdCandidacy> candidacy_;  // its threads post to http_
  sched::Moment last_tick_{};
  store::Sequence logged_ = 0;
  bool stopping_ = false;
  bool began_ = false;
};

}  // namespace

Status run_server(const ServeOptions& options) {
  forbid_core_dumps();
  Server server(options);
  if (Status opened = server.open(); !opened.ok()) return opened;
  return server.run();
}

}  // namespace weft::serve
