// weft serve: runs the control plane of a cluster.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/human_format.h"
#include "cli/framework/build_info.h"
#include "cli/framework/kube_input.h"
#include "cli/framework/option_reader.h"
#include "cli/framework/paths.h"
#include "cli/operate/server_client.h"
#include "cli/operate/service_manager.h"
#include "etcd/connection.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/stage_options.h"
#include "world/lease/gate_command.h"
#include "world/local/user_rights.h"

namespace weft::cli {
namespace {

Status make_directories(const std::string& path) {
  if (path.empty()) return {};
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (!problem) return {};
  return Error{ErrorCode::unavailable, "cannot be created: " + problem.message(), path};
}

// Paths are used by supervisors that outlive this process and its working directory.
std::string clock_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_utc_seconds(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// Options that have a meaning for one engine only.
constexpr std::pair<std::string_view, std::string_view> kEngineOptions[] = {
    {"slurm-conf", "slurm"},     {"slurmrestd", "slurm"},      {"slurm-token", "slurm"},
    {"partition", "slurm"},      {"kubeconfig", "kubernetes"}, {"kube-context", "kubernetes"},
    {"namespace", "kubernetes"}, {"image", "kubernetes"},      {"service-account", "kubernetes"}};

// How the server reaches the gate of a node.
constexpr const char* kGateCommand = "ssh -o BatchMode=yes -o ConnectTimeout=5 {node} weft gate";

serve::SlurmSettings slurm_settings(Context& context) {
  serve::SlurmSettings settings;
  const std::string conf = context.arguments().value("slurm-conf");
  settings.conf = conf.empty() ? context.io().environment("SLURM_CONF") : absolute_path(conf);
  settings.partition = context.arguments().value("partition");
  settings.restd = context.arguments().value("slurmrestd");
  const std::string token = context.arguments().value("slurm-token");
  if (!token.empty()) settings.token = absolute_path(token);
  settings.user = world::find_account(::geteuid()).name;
  settings.path = context.io().environment("PATH");
  return settings;
}

serve::KubeSettings kube_settings(Context& context) {
  serve::KubeSettings settings = kube_access_settings(context);
  settings.kube_namespace = context.arguments().value("namespace");
  settings.image = context.arguments().value("image");
  return settings;
}

std::string absolute_or_empty(const std::string& path) { return path.empty() ? path : absolute_path(path); }

serve::OobConfig oob_config(Context& context) {
  const Arguments& arguments = context.arguments();
  serve::OobConfig config;
  config.cluster_file = absolute_path(arguments.word(0));
  config.state = absolute_or_empty(arguments.value("oob-state"));
  config.endpoints = absolute_or_empty(arguments.value("oob-endpoints"));
  config.credentials = arguments.value("oob-credentials");
  config.ca = absolute_or_empty(arguments.value("oob-ca"));
  return config;
}

bool has_engine(const std::vector<std::string>& engines, std::string_view name) {
  return std::find(engines.begin(), engines.end(), name) != engines.end();
}

// One engine, or Slurm and Kubernetes on the same nodes.
void check_engines(Context& context, const std::vector<std::string>& engines, OptionReader& reader) {
  const bool shared = engines.size() == 2 && has_engine(engines, "slurm") && has_engine(engines, "kubernetes");
  if (reader.ok() && engines.size() > 1 && !shared)
    reader.bad("engine", "one engine, or slurm and kubernetes, which then share the nodes");
  if (reader.ok() && shared && context.arguments().value("mode") == "watch")
    reader.bad("mode", "watch needs one engine");
  for (const char* option : {"gate-command", "first-owner", "move-at", "move-preempt"}) {
    if (reader.ok() && !shared && context.arguments().has(option))
      reader.bad(option, "needs --engine slurm --engine kubernetes");
  }
  if (reader.ok() && context.arguments().has("move-preempt") && !context.arguments().has("move-at"))
    reader.bad("move-preempt", "needs --move-at");
}

// Refused before the state directory is created.
void check_engine_options(Context& context, const std::vector<std::string>& engines, OptionReader& reader) {
  const Arguments& arguments = context.arguments();
  for (const auto& [option, owner] : kEngineOptions) {
    if (reader.ok() && !has_engine(engines, owner) && arguments.has(std::string(option)))
      reader.bad(std::string(option), fmt::format("needs --engine {}", owner));
  }
  for (const char* option : {"slurm-conf", "slurm-token", "kubeconfig"}) {
    const std::string file = arguments.value(option);
    if (reader.ok() && !file.empty() && ::access(file.c_str(), R_OK) != 0)
      reader.bad(option, fmt::format("{} cannot be read: {}", file, std::generic_category().message(errno)));
  }
  const bool runs_jobs = arguments.value("mode") != "watch";
  if (reader.ok() && has_engine(engines, "kubernetes") && runs_jobs && arguments.value("image").empty())
    reader.bad("image", "is needed by --engine kubernetes: the container image that jobs run in");
}

constexpr const char* kEtcdOptions[] = {"etcd-ca",       "etcd-cert", "etcd-key",    "etcd-user",
                                        "etcd-password", "advertise", "engine-state"};

Result<std::string> read_password(const std::string& file) {
  Result<std::string> text = read_file(file);
  if (!text.ok()) return text;
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  if (text->empty() || text->find('\n') != std::string::npos)
    return Error{ErrorCode::invalid_input, "must have the password in one line", file};
  return text;
}

void check_etcd_options(const Arguments& arguments, bool watch, OptionReader& reader) {
  for (const char* option : kEtcdOptions) {
    if (reader.ok() && arguments.value("store").empty() && arguments.has(option))
      reader.bad(option, "needs --store etcd://...");
  }
  if (reader.ok() && watch && arguments.has("store")) reader.bad("store", "has no meaning with --mode watch");
  const auto needs = [&](const char* option, const char* other, const char* why) {
    if (reader.ok() && arguments.has(option) && arguments.value(other).empty()) reader.bad(option, why);
  };
  needs("etcd-cert", "etcd-ca", "needs --etcd-ca");
  needs("etcd-cert", "etcd-key", "needs --etcd-key");
  needs("etcd-key", "etcd-cert", "needs --etcd-cert");
  needs("etcd-user", "etcd-ca", "needs --etcd-ca: a password is not sent without TLS");
  needs("etcd-user", "etcd-password", "needs --etcd-password, a file with the password");
  needs("etcd-password", "etcd-user", "needs --etcd-user");
  for (const char* option : {"etcd-ca", "etcd-cert", "etcd-key", "etcd-password"}) {
    const std::string file = arguments.value(option);
    if (reader.ok() && !file.empty() && ::access(file.c_str(), R_OK) != 0)
      reader.bad(option, fmt::format("{} cannot be read: {}", file, std::generic_category().message(errno)));
  }
  if (!reader.ok() || arguments.value("store").empty()) return;
  if (const auto parsed = etcd::parse_address(arguments.value("store")); !parsed.ok())
    reader.bad("store", parsed.error().message);
}

// The options have been checked.
Result<std::optional<serve::EtcdSettings>> etcd_settings(const Arguments& arguments) {
  if (arguments.value("store").empty()) return std::optional<serve::EtcdSettings>();
  Result<etcd::Settings> connection = etcd::parse_address(arguments.value("store"));
  if (!connection.ok()) return connection.error();
  connection->ca = absolute_or_empty(arguments.value("etcd-ca"));
  connection->certificate = absolute_or_empty(arguments.value("etcd-cert"));
  connection->key = absolute_or_empty(arguments.value("etcd-key"));
  connection->user = arguments.value("etcd-user");
  if (!connection->user.empty()) {
    Result<std::string> password = read_password(arguments.value("etcd-password"));
    if (!password.ok()) return password.error();
    connection->password = oob::Secret(std::move(*password));
  }
  return std::optional(serve::EtcdSettings{std::move(*connection), arguments.value("advertise")});
}

// Leases of nodes that two engines share. Nullopt after an error message.
std::optional<serve::LeaseSettings> lease_settings(Context& context, const std::vector<std::string>& engines,
                                                   const model::Cluster& cluster) {
  serve::LeaseSettings settings;
  if (engines.size() < 2) return settings;
  for (const std::string& engine : engines) settings.engines.push_back(*lease::find_owner(engine));
  const std::string command = context.arguments().value("gate-command");
  Result<std::vector<std::string>> words = world::parse_gate_command(command.empty() ? kGateCommand : command);
  if (!words.ok()) {
    context.usage_error("--gate-command: " + words.error().message);
    return std::nullopt;
  }
  settings.gate_command = std::move(*words);
  settings.first_owners = context.arguments().values("first-owner");
  settings.schedule = context.arguments().values("move-at");
  settings.preempt = context.arguments().has("move-preempt");
  const Result<sched::Machine> machine = sched::Machine::of(cluster);
  if (!machine.ok()) {
    context.failed(machine.error());
    return std::nullopt;
  }
  const auto owners = serve::parse_first_owners(settings, *machine);
  const auto schedule = serve::parse_schedule(settings, *machine);
  if (owners.ok() && schedule.ok()) return settings;
  context.usage_error(owners.ok() ? schedule.error().message : owners.error().message);
  return std::nullopt;
}

Exit run_serve(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  if (!context.report(*loaded)) return Exit::usage;
  OptionReader reader(context.arguments());
  const std::optional<Duration> start_timeout = reader.time("start-timeout");
  if (reader.ok() && start_timeout && start_timeout->count() <= 0) reader.bad("start-timeout", "must be above zero");
  std::vector<std::string> engines = context.arguments().values("engine");
  if (engines.empty()) engines = {"local"};
  const std::string engine = engines.front();
  check_engines(context, engines, reader);
  check_engine_options(context, engines, reader);
  const bool watch = context.arguments().value("mode") == "watch";
  if (reader.ok() && watch && engine != "slurm" && engine != "kubernetes")
    reader.bad("mode", "watch needs --engine slurm or kubernetes");
  for (const char* option : {"partition", "start-timeout", "image"}) {
    if (reader.ok() && watch && context.arguments().has(option)) reader.bad(option, "has no meaning with --mode watch");
  }
  if (reader.ok() && !watch && context.arguments().has("enable")) reader.bad("enable", "needs --mode watch");
  for (const std::string& word : context.arguments().values("enable")) {
    if (reader.ok() && word.starts_with("repair"))
      reader.bad("enable", "repair is not available: weft serve proposes it, and `weft oob power cycle` does it");
  }
  check_etcd_options(context.arguments(), watch, reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  if (watch) {
    const Result<sched::Machine> machine = sched::Machine::of(*loaded->cluster);
    if (!machine.ok()) return context.failed(machine.error());
    const Result<control::StageSet> stages = serve::parse_stages(context.arguments().values("enable"), *machine);
    if (!stages.ok()) return context.usage_error(stages.error().message);
  }
  std::optional<serve::LeaseSettings> leases = lease_settings(context, engines, *loaded->cluster);
  if (!leases) return Exit::usage;
  Result<std::optional<serve::EtcdSettings>> etcd = etcd_settings(context.arguments());
  if (!etcd.ok()) return context.failed(etcd.error());
  serve::ServeOptions options;
  options.etcd = std::move(*etcd);
  options.engine_directory = absolute_or_empty(context.arguments().value("engine-state"));
  options.leases = std::move(*leases);
  options.watch = watch;
  options.enable = context.arguments().values("enable");
  if (start_timeout) options.start_timeout = *start_timeout;
  options.cluster = loaded->cluster;
  options.version = build_info().version;
  const std::string state = context.arguments().value("state");
  options.state_directory = absolute_path(
      state.empty() ? fmt::format("{}/{}", default_state_root(context.io()), loaded->cluster->name()) : state);
  std::string socket = context.arguments().value("socket");
  if (socket.empty()) socket = context.io().environment("WEFT_SOCKET");
  if (socket.empty()) socket = default_socket(context.io());
  options.socket_path = absolute_path(socket);
  if (engine == "slurm") options.engine = serve::Engine::slurm;
  if (engine == "kubernetes") options.engine = serve::Engine::kubernetes;
  if (has_engine(engines, "slurm")) options.slurm = slurm_settings(context);
  if (has_engine(engines, "kubernetes")) {
    options.kube = kube_settings(context);
    if (const auto access = serve::read_kube_access(options.kube); !access.ok()) return context.failed(access.error());
  }
  options.access.file = absolute_or_empty(context.arguments().value("access"));
  options.access.listen = context.arguments().values("listen");
  options.access.environment = [&](const char* name) { return context.io().environment(name); };
  if (context.arguments().has("oob")) options.oob = oob_config(context);
  options.cgroups = !context.arguments().has("no-cgroups");
  options.helper = {"/proc/self/exe", std::string(kHelperCommand)};
  options.log = [&](std::string_view text) { context.note(text); };
  options.ready = [&] { notify_service_manager(context.io().environment("NOTIFY_SOCKET"), "READY=1"); };
  if (context.verbose()) {
    options.events = [&](std::string_view text) { context.io().write_err(fmt::format("{} {}\n", clock_text(), text)); };
  }
  for (const std::string& path : {options.state_directory, options.socket_path, options.engine_directory}) {
    if (path.empty()) continue;
    const Status made = make_directories(std::filesystem::path(path).parent_path().string());
    if (!made.ok()) return context.failed(made.error());
  }
  const Status ended = serve::run_server(options);
  if (!ended.ok()) {
    Exit code = context.failed(ended.error());
    return code == Exit::usage ? Exit::unavailable : code;
  }
  context.note(watch ? "stopped; the engine and its jobs go on"
                     : "stopped; jobs continue to run, and the next `weft serve` finds them");
  return Exit::ok;
}

std::vector<Option> access_options() {
  return {{.name = "access",
           .value = "FILE",
           .help = "access file: who may use the API over the network, and how; see docs/access.md",
           .fallback = "the Unix socket only",
           .hint = Hint::file},
          {.name = "listen",
           .value = "HOST:PORT",
           .help = "address for HTTPS, instead of those of the access file",
           .repeatable = true},
          {.name = "oob", .help = "offer operations on BMCs and switches through the API"},
          {.name = "oob-state",
           .value = "DIR",
           .help = "with --oob, folder of the out-of-band journal",
           .fallback = "that of weft oob",
           .hint = Hint::file},
          {.name = "oob-endpoints",
           .value = "FILE",
           .help = "with --oob, addresses of BMCs that differ from the cluster file",
           .hint = Hint::file},
          {.name = "oob-credentials",
           .value = "REFERENCE",
           .help = "with --oob, where the passwords of BMCs are: file:, env:, command: or vault:"},
          {.name = "oob-ca", .value = "FILE", .help = "with --oob, CA certificates of the BMCs", .hint = Hint::file}};
}

std::vector<Option> etcd_options() {
  return {
      {.name = "store",
       .value = "ADDRESS",
       .help = "keep the journal in etcd, shared by several servers of which one leads: "
               "etcd://HOST:PORT[,HOST:PORT...][/PREFIX]",
       .fallback = "SQLite in the state directory"},
      {.name = "etcd-ca",
       .value = "FILE",
       .help = "with --store, CA certificates of etcd; without it, no TLS",
       .hint = Hint::file},
      {.name = "etcd-cert", .value = "FILE", .help = "with --store, client certificate for etcd", .hint = Hint::file},
      {.name = "etcd-key", .value = "FILE", .help = "with --store, key of that certificate", .hint = Hint::file},
      {.name = "etcd-user", .value = "USER", .help = "with --store, user of etcd"},
      {.name = "etcd-password", .value = "FILE", .help = "with --store, file with its password", .hint = Hint::file},
      {.name = "advertise",
       .value = "ADDRESS",
       .help = "with --store, where clients find this server, as the others tell them",
       .fallback = "the first HTTPS address, or the socket"},
      {.name = "engine-state",
       .value = "DIR",
       .help = "with --store, directory of the running jobs and their logs, the same for all servers",
       .fallback = "DIR/engine of --state",
       .hint = Hint::file}};
}

std::vector<Option> slurm_options() {
  return {
      slurm_conf_option(),
      partition_option(),
      {.name = "slurmrestd",
       .value = "ADDRESS",
       .help = "read Slurm's lists from slurmrestd: HOST:PORT or unix:PATH; without it, or when it does not answer, "
               "from squeue and sinfo"},
      {.name = "slurm-token",
       .value = "FILE",
       .help = "token (JWT) for slurmrestd",
       .fallback = "made by `scontrol token`",
       .hint = Hint::file}};
}

std::vector<Option> lease_options() {
  return {{.name = "gate-command",
           .value = "COMMAND",
           .help = "with two engines, how to run `weft gate` as root on a node; {node} stands for its name",
           .fallback = kGateCommand},
          {.name = "first-owner",
           .value = "ENGINE:GROUP",
           .help = "with two engines, which one owns nodes that no engine has owned yet; GROUP is a pool or a list of "
                   "nodes",
           .fallback = "the first engine",
           .repeatable = true},
          {.name = "move-at",
           .value = "HH:MM=ENGINE:GROUP",
           .help = "with two engines, move nodes every day at this time, UTC",
           .repeatable = true},
          {.name = "move-preempt", .help = "daily moves stop the jobs of weft, with a checkpoint where possible"}};
}

std::vector<Option> kube_options() {
  std::vector<Option> options = kube_access_options();
  options.push_back({.name = "namespace",
                     .value = "NAME",
                     .help = "Kubernetes namespace of the jobs",
                     .fallback = "that of the context; with --mode watch, all"});
  options.push_back({.name = "image", .value = "IMAGE", .help = "container image that Kubernetes runs jobs in"});
  return options;
}

}  // namespace

Command serve_command() {
  Command command;
  command.name = "serve";
  command.summary = "Run the control plane of a cluster";
  command.usage = "CLUSTER [--state DIR] [OPTIONS]";
  command.description = {
      "Accepts jobs, places them on the nodes of the cluster file, starts them, restarts them from their last intact "
      "checkpoint when a node or a process fails, and repairs nodes within limits. It runs in the foreground until "
      "SIGTERM or SIGINT.",
      "Everything it decides is written to a journal before it acts. Killed at any moment, it continues from there: "
      "jobs run on without it, none is lost and none is started twice. If the journal is damaged it does not start.",
      "The engine `local` runs jobs as processes on this machine, one slot per node of the cluster file. The engine "
      "`slurm` runs them through Slurm: weft queues and places, Slurm starts them on exactly those nodes. The node "
      "names of the cluster file are then Slurm's, and the state directory is on a file system that all nodes share. "
      "The engine `kubernetes` runs them as pods, one per node, which weft binds itself; the node names are those of "
      "Kubernetes.",
      "With --mode watch the engine schedules and weft observes: it shows all jobs of the engine and why they wait, "
      "and "
      "judges the health of nodes, but changes nothing. What it would do to a node is recorded as a proposal; --enable "
      "lets it do so. This is how a running cluster is adopted."};
  command.description.emplace_back(
      "With --engine slurm --engine kubernetes both run jobs on the same nodes, each node leased to one of them at a "
      "time. `weft gate` must be installed on the nodes, as a Prolog of Slurm and as a hook of the container runtime; "
      "`weft lease move` moves nodes, and --move-at does so every day.");
  command.description.emplace_back(
      "With --access it also serves its API over HTTPS: the access file says who may do what. SIGHUP reads the file "
      "and "
      "the certificate again.");
  command.description.emplace_back(
      "With --store the journal is in etcd. Several servers of the same cluster file then share it: one leads, the "
      "others "
      "answer queries, say how old their state is, and take over within 15 s when the leader ends or loses etcd.");
  command.description.emplace_back(
      "Other commands reach it through a Unix socket. The kernel tells it who connects: root and its own user are "
      "operators; other users may submit jobs and change their own. To run jobs of other users it must run as root.");
  command.examples = {
      {"weft serve cluster.yaml", "Serve until Ctrl-C"},
      {"weft serve cluster.yaml --state /srv/weft -v", "State elsewhere; print every event"},
      {"weft serve cluster.yaml --store etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/weft --engine-state "
       "/shared/weft",
       "One of several servers with a journal in etcd"},
      {"weft serve cluster.yaml --engine slurm --partition weft", "Run jobs through Slurm"},
      {"weft serve cluster.yaml --engine kubernetes --image pytorch/pytorch", "Run jobs as pods"},
      {"weft serve cluster.yaml --engine slurm --engine kubernetes --image IMAGE --move-at 20:00=slurm:train "
       "--move-at 08:00=kubernetes:train",
       "Both on the pool train: Kubernetes by day, Slurm by night"},
      {"weft serve cluster.yaml --engine slurm --mode watch", "Observe a running Slurm cluster"},
      {"weft serve cluster.yaml --engine kubernetes --mode watch", "Observe a running Kubernetes cluster"},
      {"weft serve cluster.yaml --engine slurm --mode watch --enable quarantine:train",
       "Also drain broken nodes of the pool train"}};
  command.arguments = {cluster_argument()};
  command.options = {
      {.name = "state",
       .value = "DIR",
       .help = "directory of the journal, the logs and the running jobs",
       .fallback = "/var/lib/weft/NAME for root, else ~/.local/state/weft/NAME",
       .hint = Hint::file},
      {.name = "socket",
       .value = "PATH",
       .help = "socket to listen on",
       .fallback = "$WEFT_SOCKET, /run/weft/weft.sock for root, else $XDG_RUNTIME_DIR/weft.sock",
       .hint = Hint::file},
      {.name = "engine",
       .value = "ENGINE",
       .help = "what runs the jobs; slurm and kubernetes may be given both and then share the nodes",
       .fallback = "local",
       .choices = choices_named({"local", "slurm", "kubernetes"}),
       .repeatable = true},
      {.name = "mode",
       .value = "MODE",
       .help = "who schedules: weft (drive), or the engine (watch)",
       .fallback = "drive",
       .choices = choices_named({"drive", "watch"})},
      {.name = "enable",
       .value = "STAGE[:GROUP]",
       .help = "with --mode watch, do this to broken nodes instead of proposing it: quarantine (no new "
               "jobs) or, with engine slurm, drain (requeue the jobs there); GROUP is a pool or a list of nodes",
       .fallback = "propose only",
       .repeatable = true},
      {.name = "start-timeout",
       .value = "TIME",
       .help = "an attempt that does not run on all its nodes by then is stopped and tried again",
       .fallback = "2m"},
      {.name = "no-cgroups", .help = "use process groups even where cgroups can be created"},
      catalog_option()};
  for (const std::vector<Option>& group :
       {etcd_options(), access_options(), lease_options(), slurm_options(), kube_options()}) {
    command.options.insert(command.options.end() - 1, group.begin(), group.end());
  }
  command.run = run_serve;
  return command;
}

}  // namespace weft::cli
