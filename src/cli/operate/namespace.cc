// weft namespace: a Kubernetes namespace for the life of a Slurm job, on the nodes of the job.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "base/asset.h"
#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/quoting.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/framework/context.h"
#include "cli/framework/kube_input.h"
#include "cli/framework/option_reader.h"
#include "cli/framework/slurm_input.h"
#include "cli/framework/stop_signals.h"
#include "job_namespace/controller.h"
#include "job_namespace/job_files.h"
#include "kube/json_fields.h"
#include "kube/object.h"
#include "serve/daemon/kube_connection.h"
#include "world/local/engine_state.h"
#include "world/slurm/cli_client.h"
#include "world/slurm/engine_instance.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxProblem = 64U << 10U;
constexpr Duration kMinPeriod = milliseconds(100);
constexpr double kRequestsPerSecond = 100;  // a job of 2,000 nodes has 2,000 labels

// "": neither the option nor the variable is given.
std::string state_of(Context& context) {
  std::string state = context.arguments().value("state");
  if (state.empty()) state = context.io().environment("WEFT_NAMESPACES");
  return state.empty() ? state : absolute_path(state);
}

// Creates it if it is missing; the users of jobs read files in it.
Result<std::string> make_state(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem) return file_error(problem.value(), "create", path);
  const std::filesystem::path canonical = std::filesystem::canonical(path, problem);
  if (problem) return file_error(problem.value(), "open", path);
  return canonical.string();
}

job_namespace::SlurmSource slurm_source(world::CliClient& slurm) {
  job_namespace::SlurmSource source;
  source.list_runs = [&]() -> Result<std::vector<world::JobRun>> {
    const Result<std::string> text = slurm.list({"squeue", "--all", "--json"});
    if (!text.ok()) return text.error();
    return world::parse_job_runs(*text);
  };
  source.list_nodes = [&] { return slurm.list_nodes(); };
  source.accounted_end = [&](std::uint32_t id, std::int64_t started) -> std::optional<bool> {
    const Result<std::string> text =
        slurm.list({"sacct", "-X", "-P", "-n", "-D", "-o", "JobIDRaw,Start,State", "-j", std::to_string(id)});
    return text.ok() ? world::find_accounted_end(*text, id, started) : std::nullopt;
  };
  return source;
}

Exit run_controller(Context& context) {
  OptionReader reader(context.arguments());
  const Duration period = reader.time("every").value_or(milliseconds(2'000));
  if (reader.ok() && period < kMinPeriod) reader.bad("every", "at least 100ms");
  if (!reader.ok()) return context.usage_error(reader.problem());
  const std::string given = state_of(context);
  if (given.empty()) return context.usage_error("--state DIR or $WEFT_NAMESPACES is needed");
  const Result<kube::ClusterAccess> access = serve::read_kube_access(kube_access_settings(context));
  if (!access.ok()) return context.failed(access.error());
  const Result<std::string> state = make_state(given);
  if (!state.ok()) return context.failed(state.error());
  const Result<FileDescriptor> lock = world::lock_engine_state(*state);
  if (!lock.ok()) return context.failed(lock.error());
  const Result<std::string> instance = world::load_engine_instance(*state);
  if (!instance.ok()) return context.failed(instance.error());
  job_namespace::ControllerOptions options;
  options.state = *state;
  options.access = *access;
  options.objects.instance = *instance;
  if (context.arguments().has("gpu-resource")) options.objects.gpu_resource = context.arguments().value("gpu-resource");
  if (context.arguments().has("pod-security")) options.objects.pod_security = context.arguments().value("pod-security");
  options.log = [&](std::string_view line) { context.note(std::string(line)); };
  world::CliClient slurm(slurm_cli_options(context));
  kube::ClientOptions limits;
  limits.requests_per_second = kRequestsPerSecond;
  limits.burst = 2 * kRequestsPerSecond;
  serve::KubeConnection connection(*access, "job namespaces", limits);
  const StopSignals signals(connection.clock);
  job_namespace::Controller controller(connection.client, slurm_source(slurm), options);
  std::string problem;
  bool has_turned = false;
  for (;;) {
    const Status turned = controller.turn(connection.clock.wall_ms() / 1000);
    if (connection.clock.stopped()) break;
    const std::string now = turned.ok() ? "" : turned.error().text();
    if (!has_turned && !turned.ok() && turned.error().code == ErrorCode::refused)
      return context.failed(turned.error());  // a permission that is missing
    if (now != problem) context.note(now.empty() ? "Slurm and Kubernetes answer again" : now);
    if (!has_turned && turned.ok()) context.note(fmt::format("namespaces of Slurm jobs: instance {}", *instance));
    has_turned = has_turned || turned.ok();
    problem = now;
    if (context.arguments().has("once") || !connection.clock.sleep(period)) break;
  }
  return problem.empty() ? Exit::ok : Exit::unavailable;
}

Exit run_list(Context& context) {
  const Result<kube::ClusterAccess> access = serve::read_kube_access(kube_access_settings(context));
  if (!access.ok()) return context.failed(access.error());
  serve::KubeConnection connection(*access, "job namespaces");
  const Result<kube::ObjectList> list = connection.client.list(kube::kNamespaces, {"", job_namespace::kKeyLabel, ""});
  if (!list.ok()) return context.failed(list.error());
  Document document;
  document.kind = "namespaces";
  TableSection table;
  table.key = "namespaces";
  table.columns = {{"namespace", "NAMESPACE"}, {"job", "JOB", Column::Align::right},
                   {"state", "STATE"},         {"nodes", "NODES"},
                   {"created", "CREATED"},     {"instance", "INSTANCE"}};
  for (const Value& object : list->items) {
    const std::string phase = kube::raw_text(object, {"status", "phase"});
    table.rows.push_back({printable(kube::raw_text(object, {"metadata", "name"})),
                          printable(kube::label_of(object, job_namespace::kJobLabel)),
                          phase == "Terminating" ? "deleting" : "active",
                          printable(kube::annotation_of(object, job_namespace::kNodesAnnotation)),
                          printable(kube::raw_text(object, {"metadata", "creationTimestamp"})),
                          printable(kube::label_of(object, job_namespace::kInstanceLabel))});
  }
  if (table.rows.empty()) document.notes.emplace_back("No Slurm job has a namespace.");
  document.sections.emplace_back(std::move(table));
  return context.deliver(document);
}

// Id and start of the run that this process is part of, as Slurm lists it.
Result<std::string> own_key(Context& context) {
  const std::string id = context.io().environment("SLURM_JOB_ID");
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc() || end != id.data() + id.size())
    return Error{
        ErrorCode::invalid_input, "$SLURM_JOB_ID is not set, or not the id of a job: run it in a Slurm job", {}};
  world::CliClient slurm(slurm_cli_options(context));
  const Result<std::string> text = slurm.list({"squeue", "--noheader", "--job", id, "--format", "%A %S"});
  if (!text.ok()) return text.error();
  for (const std::string_view line : split_lines(*text)) {
    const std::vector<std::string_view> words = split_at_spaces(line);
    if (words.size() == 2 && words[0] == id) return fmt::format("{}-{}", number, words[1]);
  }
  return Error{ErrorCode::not_found, fmt::format("Slurm does not list job {}", id), {}};
}

Exit run_wait(Context& context) {
  OptionReader reader(context.arguments());
  const Duration limit = reader.time("wait").value_or(milliseconds(120'000));
  if (!reader.ok()) return context.usage_error(reader.problem());
  const std::string state = state_of(context);
  if (state.empty()) return context.usage_error("--state DIR or $WEFT_NAMESPACES is needed");
  const Result<std::string> key = own_key(context);
  if (!key.ok()) return context.failed(key.error());
  const std::string config = job_namespace::kubeconfig_path(state, *key);
  const std::string problem = job_namespace::problem_path(state, *key);
  oob::SystemClock clock;
  const Duration end = clock.now() + limit;
  while (::access(config.c_str(), R_OK) != 0) {
    if (const Result<std::string> reason = read_file(problem, kMaxProblem); reason.ok())
      return context.failed({ErrorCode::refused, printable(std::string(trim(*reason))), {}});
    if (clock.now() >= end)
      return context.failed(
          {ErrorCode::timeout,
           "the job has no namespace yet: it needs --comment=weft:namespace, and `weft namespace run` must be running",
           config});
    (void)clock.sleep(milliseconds(200));
  }
  return context.deliver(
      fmt::format("export KUBECONFIG={}\nexport WEFT_NAMESPACE=slurm-{}\n", shell_quote(config), *key));
}

Exit run_script(Context& context) {
  return context.deliver(context.arguments().word(0) == "role" ? asset<"job_namespace/role.yaml">()
                                                               : asset<"job_namespace/epilog.sh">());
}

Option state_option() {
  return {.name = "state",
          .value = "DIR",
          .help = "directory of the kubeconfigs, on a file system that the nodes share",
          .fallback = "$WEFT_NAMESPACES",
          .hint = Hint::file};
}

Command run_command() {
  Command command;
  command.name = "namespace run";
  command.summary = "Give Slurm jobs a Kubernetes namespace on their nodes";
  command.usage = "--state DIR [OPTIONS]";
  command.description = {
      "Each job with `--comment=weft:namespace` gets one when it starts: its pods run on the nodes of the job only, "
      "within the GPUs, CPUs and memory of the job. It is deleted, with everything in it, when Slurm says that the job "
      "has ended, also if it was killed. The kubeconfig is a file that only the user of the job can read.",
      "Runs until SIGTERM or SIGINT, one per state directory. It may be stopped or killed at any time: the next one "
      "continues. Needs squeue, sinfo and sacct, and in Kubernetes the role of `weft namespace script role`."};
  command.examples = {{"weft namespace run --state /shared/weft/namespaces", "On the machine of slurmctld"},
                      {"weft namespace run --state /shared/weft/namespaces --once", "One comparison, for a timer"}};
  command.options = {state_option(),
                     {.name = "every", .value = "TIME", .help = "how often the jobs are listed", .fallback = "2s"},
                     {.name = "once", .help = "compare once, then exit"},
                     {.name = "gpu-resource",
                      .value = "NAME",
                      .help = "GPUs as the device plug-in names them",
                      .fallback = "nvidia.com/gpu"},
                     {.name = "pod-security",
                      .value = "LEVEL",
                      .help = "Pod Security Standard that the namespaces enforce, from Kubernetes 1.23",
                      .fallback = "baseline",
                      .choices = choices_named({"privileged", "baseline", "restricted"})},
                     slurm_conf_option()};
  for (const Option& option : kube_access_options()) command.options.push_back(option);
  command.run = run_controller;
  return command;
}

Command wait_command() {
  Command command;
  command.name = "namespace wait";
  command.summary = "In a Slurm job, wait for its Kubernetes namespace";
  command.usage = "[OPTIONS]";
  command.description = {
      "Prints the commands that set KUBECONFIG and WEFT_NAMESPACE, for `eval` in a batch script. Exit code 4: the job "
      "gets none, with the reason; 5: there is none yet."};
  command.examples = {
      {"weft namespace wait --state /shared/weft/namespaces", "In a batch script, within eval \"$(...)\""}};
  command.options = {state_option(),
                     {.name = "wait", .value = "TIME", .help = "at most so long", .fallback = "2m"},
                     slurm_conf_option()};
  command.run = run_wait;
  return command;
}

}  // namespace

std::vector<Command> namespace_commands() {
  std::vector<Command> commands;
  commands.push_back(run_command());
  commands.push_back(wait_command());
  Command list;
  list.name = "namespace list";
  list.summary = "List the Kubernetes namespaces of Slurm jobs";
  list.usage = "[OPTIONS]";
  list.examples = {{"weft namespace list", "Which jobs have one"}};
  list.options = kube_access_options();
  list.options.push_back(output_option());
  list.run = run_list;
  commands.push_back(std::move(list));
  Command script;
  script.name = "namespace script";
  script.summary = "Print the Epilog of Slurm and the role for Kubernetes";
  script.usage = "SCRIPT [OPTIONS]";
  script.examples = {{"weft namespace script epilog -f /etc/slurm/epilog.d/90-namespace", "On every node"},
                     {"weft namespace script role -f role.yaml", "For kubectl apply"}};
  script.arguments = {{.name = "SCRIPT", .help = "which", .choices = choices_named({"epilog", "role"})}};
  script.options = {file_option()};
  script.run = run_script;
  commands.push_back(std::move(script));
  return commands;
}

}  // namespace weft::cli
