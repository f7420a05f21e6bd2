// weft sim sweep: one job timeline per combination of some keys' values, on all cores or as an array of Slurm or
// Kubernetes, resumable.
#include "workload/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/human_format.h"
#include "base/text.h"
#include "cli/framework/kube_input.h"
#include "cli/framework/paths.h"
#include "cli/framework/progress.h"
#include "cli/framework/slurm_input.h"
#include "cli/sim/life_input.h"
#include "cli/sim/sweep_array.h"
#include "cli/sim/sweep_engines.h"
#include "model/yaml_file.h"
#include "serve/daemon/kube_connection.h"
#include "workload/sweep/results.h"
#include "workload/sweep/slurm.h"

namespace weft::cli {
namespace {

constexpr std::string_view kPrinted = "-";  // as the results file: standard output
// Limits of requests to an API server: the output of each task is one.
constexpr double kRequestsPerSecond = 100;

bool shows_progress(Context& context) { return context.io().err_is_terminal && !context.quiet(); }

std::string progress_bar(std::uint64_t done, std::uint64_t points) {
  constexpr std::uint64_t kWidth = 20;
  const std::uint64_t filled = done * kWidth / std::max<std::uint64_t>(1, points);
  return fmt::format("\r\x1b[Ksweep [{}{}] {} of {} points", std::string(filled, '#'),
                     std::string(kWidth - filled, '.'), done, points);
}

class SweepRunner {
 public:
  SweepRunner(Context& context, const workload::Sweep& sweep, const workload::SweepFiles& files, LifeRequest request)
      : context_(context), sweep_(sweep), files_(files), request_(std::move(request)) {
    request_.options.fidelity = request_.fidelities.back();
    request_.options.what_ifs = request_.options.timeline = request_.options.heat_maps = false;
    request_.options.iterations = 1;
  }

  // Simulates these points and appends each result when it is available. False if one could not be written.
  bool run(const std::vector<std::uint64_t>& points, const std::string& results, unsigned threads) {
    const InterruptGuard guard;
    results_ = results;
    todo_ = &points;
    std::vector<std::thread> workers;
    for (unsigned i = 1; i < threads; ++i) workers.emplace_back([this] { work(); });
    work();
    for (std::thread& worker : workers) worker.join();
    if (shows()) context_.io().write_err("\r\x1b[K");
    if (problem_) (void)context_.failed(*problem_);
    return !problem_;
  }
  [[nodiscard]] static bool stopped() { return InterruptGuard::interrupted(); }

 private:
  void work() {
    for (;;) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= todo_->size() || stopped()) return;
      const workload::SweepPoint point = sweep_.point((*todo_)[next]);
      const workload::SweepRow row = workload::sweep_row(point, play(point));
      Status written;
      if (results_ != kPrinted) written = workload::append_sweep_row(results_, row);
      const std::lock_guard lock(mutex_);
      if (results_ == kPrinted) written = context_.io().write_out(workload::sweep_line(row));
      ++done_;
      if (!written.ok() && !problem_) problem_ = written.error();
      if (problem_) return;
      if (shows()) progress();
    }
  }

  Result<workload::LifeResult> play(const workload::SweepPoint& point) const {
    LifeInput input;
    const bool usable = read_life_texts(files_.cluster_path, point.cluster_text, files_.job_path, point.job_text,
                                        context_.arguments().values("catalog"), input);
    std::optional<workload::LifeResult> life;
    if (usable) {
      life = workload::play_life(*input.loaded->cluster, *input.job, request_.options, input.loaded->diagnostics);
    }
    if (life && !life->faults.restarts) {
      return Error{ErrorCode::invalid_input,
                   "the servers cannot run the job after the faults: " + join(life->faults.causes, "; "),
                   {}};
    }
    if (life) return std::move(*life);
    std::string reason = "cannot be simulated";
    for (const Diagnostic& one : input.loaded->diagnostics.sorted()) {
      if (one.severity == Severity::error) {
        reason = one.message + (one.hint.empty() ? "" : " (" + one.hint + ")");
        break;
      }
    }
    return Error{ErrorCode::invalid_input, reason, {}};
  }

  [[nodiscard]] bool shows() const { return shows_progress(context_); }
  void progress() { context_.io().write_err(progress_bar(done_, todo_->size())); }

  Context& context_;
  const workload::Sweep& sweep_;
  const workload::SweepFiles& files_;
  LifeRequest request_;
  std::string results_;
  const std::vector<std::uint64_t>* todo_ = nullptr;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::optional<Error> problem_;
};

std::optional<Exit> read_files(Context& context, workload::SweepFiles& files) {
  files.cluster_path = context.arguments().word(0);
  files.job_path = context.arguments().word(1);
  Result<std::string> cluster = model::read_yaml_file(files.cluster_path);
  if (!cluster.ok()) return context.failed(cluster.error());
  Result<std::string> job = model::read_yaml_file(files.job_path);
  if (!job.ok()) return context.failed(job.error());
  files.cluster_text = std::move(*cluster);
  files.job_text = std::move(*job);
  return std::nullopt;
}

// The options that affect the result of a point, as given: array tasks get them, ids depend on them.
std::vector<std::string> run_words(Context& context) {
  std::vector<std::string> words;
  for (const Option& option : life_run_options()) {
    if (option.name == "threads") continue;
    if (option.value.empty()) {
      if (context.arguments().has(option.name)) words.push_back("--" + option.name);
      continue;
    }
    for (const std::string& value : context.arguments().values(option.name)) {
      words.push_back("--" + option.name);
      words.push_back(value);
    }
  }
  return words;
}

// The command line of an array's task: what affects results, and where they go.
struct TaskFiles {
  std::string cluster;
  std::string job;
  std::vector<std::string> catalogs;
  std::string results;
};
std::vector<std::string> task_command(Context& context, const std::string& program, const TaskFiles& files) {
  const Arguments& arguments = context.arguments();
  std::vector<std::string> words{program, "sim", "sweep", files.cluster, files.job};
  for (const std::string& axis : arguments.values("set")) {
    words.emplace_back("--set");
    words.push_back(axis);
  }
  for (std::string& word : run_words(context)) words.push_back(std::move(word));
  for (const std::string& file : files.catalogs) {
    words.emplace_back("--catalog");
    words.push_back(file);
  }
  words.emplace_back("--threads");
  words.push_back(arguments.has("threads") ? arguments.value("threads") : "1");
  words.emplace_back("--results");
  words.push_back(files.results);
  return words;
}

// Slurm's tasks share the files and the results with weft.
std::vector<std::string> slurm_task_command(Context& context, const std::string& program, const std::string& results) {
  const Arguments& arguments = context.arguments();
  std::vector<std::string> words =
      task_command(context, program, {arguments.word(0), arguments.word(1), arguments.values("catalog"), results});
  if (arguments.has("again")) words.emplace_back("--again");
  return words;
}

// The array for --slurm and --array slurm.
workload::SlurmSweep array_plan(Context& context, OptionReader& reader, std::uint64_t points) {
  workload::SlurmSweep plan;
  plan.points = points;
  plan.partition = context.arguments().value("partition");
  plan.cpus = static_cast<std::uint32_t>(reader.integer("threads", 1, 1'024).value_or(1));
  plan.at_once = static_cast<std::uint32_t>(reader.integer("at-once", 0, 100'000).value_or(plan.at_once));
  if (context.arguments().has("task-memory")) plan.memory = context.arguments().value("task-memory");
  return plan;
}

Exit show(Context& context, const std::string& results, Exit outcome) {
  Result<std::vector<workload::SweepRow>> rows = workload::load_sweep_rows(results);
  if (!rows.ok()) return context.failed(rows.error());
  std::string sort = context.arguments().value("sort");
  if (sort.empty()) sort = "tokens_per_s";
  Result<Document> document = workload::sweep_document(std::move(*rows), sort);
  if (!document.ok()) return context.usage_error(document.error().text());
  return context.deliver(*document, outcome);
}

// "7", "7-9" or "3,7-9".
std::optional<std::set<std::uint64_t>> parse_points(std::string_view text, std::uint64_t size) {
  const auto number = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  std::set<std::uint64_t> points;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    std::uint64_t first = 0;
    if (!number(part.substr(0, dash), first)) return std::nullopt;
    std::uint64_t last = first;
    if (dash != std::string_view::npos && !number(part.substr(dash + 1), last)) return std::nullopt;
    if (first > last || last >= size) return std::nullopt;
    for (std::uint64_t point = first; point <= last; ++point) points.insert(point);
  }
  return points;
}

// --point, through --points-file where it is given.
Result<std::string> wanted_points(Context& context) {
  const std::string point = context.arguments().value("point");
  const std::string path = context.arguments().value("points-file");
  if (path.empty()) return point;
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return text.error();
  const std::vector<std::string_view> lines = split_lines(*text);
  std::size_t line = 0;
  const auto [end, error] = std::from_chars(point.data(), point.data() + point.size(), line);
  if (error != std::errc() || end != point.data() + point.size() || line >= lines.size())
    return Error{ErrorCode::invalid_input, fmt::format("there is no line {}, counted from 0", point), path};
  return std::string(trim(lines[line]));
}

// Submits, waits and shows. `logs` says where the output of tasks that failed is.
Exit run_as_array(Context& context, SweepEngine& engine, const workload::Sweep& sweep, const std::string& results,
                  const std::string& logs) {
  const InterruptGuard guard;
  const bool shows = shows_progress(context);
  const auto clear = [&] {
    if (shows) context.io().write_err("\r\x1b[K");
  };
  ArrayHooks hooks;
  hooks.note = [&](const std::string& text) {
    clear();
    context.note(text);
  };
  hooks.progress = [&](const ArrayProgress& now) {
    if (shows)
      context.io().write_err(
          fmt::format("{}, {} running, {} waiting", progress_bar(now.done, now.points), now.running, now.waiting));
  };
  hooks.wait = [](Duration period) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(period.count());
    while (std::chrono::steady_clock::now() < end && !InterruptGuard::interrupted())
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return !InterruptGuard::interrupted();
  };
  const Result<ArrayOutcome> outcome = run_array(engine, sweep, results, context.arguments().has("again"), hooks);
  clear();
  if (!outcome.ok()) return context.failed(outcome.error());
  for (const auto& [state, tasks] : outcome->ends)
    context.note(fmt::format("{} ended as {}: see {}", plural(tasks, "task"), state, logs));
  if (outcome->missing > 0 && !outcome->interrupted)
    context.note(fmt::format("{} without a result: run the same command again", plural(outcome->missing, "point")));
  return show(context, results, outcome->missing > 0 || outcome->interrupted ? Exit::partial : Exit::ok);
}

Exit run_on_slurm(Context& context, const workload::Sweep& sweep, workload::SlurmSweep plan,
                  const std::string& results) {
  std::error_code problem;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", problem).string();
  plan.command = slurm_task_command(context, problem ? "weft" : program, results);
  plan.directory = std::filesystem::current_path(problem).string();
  plan.log = plan.directory + "/" + plan.log;
  world::CliClient client(slurm_cli_options(context));
  world::SlurmArrays arrays(client);
  SlurmSweepEngine engine(arrays, std::move(plan));
  return run_as_array(context, engine, sweep, results, "sweep-*.log");
}

// The files of the tasks, by the names that they have in containers.
Result<std::vector<std::string>> add_files(Context& context, const workload::SweepFiles& files,
                                           std::map<std::string, std::string>& into) {
  const auto path = [](const std::string& name) { return fmt::format("{}/{}", world::kArrayFiles, name); };
  into["cluster.yaml"] = files.cluster_text;
  into["job.yaml"] = files.job_text;
  TaskFiles names{path("cluster.yaml"), path("job.yaml"), {}, std::string(kPrinted)};
  for (const std::string& catalog : context.arguments().values("catalog")) {
    Result<std::string> text = model::read_yaml_file(catalog);
    if (!text.ok()) return text.error();
    const std::string name = fmt::format("catalog-{}.yaml", names.catalogs.size());
    into[name] = std::move(*text);
    names.catalogs.push_back(path(name));
  }
  std::vector<std::string> words = task_command(context, "weft", names);
  for (const std::string& word : {std::string("--points-file"), path(KubeSweepEngine::kPointsFile),
                                  std::string("--point"), std::string(world::kTaskIndexWord)})
    words.push_back(word);
  return words;
}

Exit run_on_kubernetes(Context& context, const workload::Sweep& sweep, const workload::SlurmSweep& limits,
                       const workload::SweepFiles& files, const std::string& results) {
  serve::KubeSettings settings = kube_access_settings(context);
  settings.kube_namespace = context.arguments().value("namespace");
  const Result<kube::ClusterAccess> access = serve::read_kube_access(settings);
  if (!access.ok()) return context.failed(access.error());
  world::KubeArrayPlan plan;
  plan.kube_namespace = access->kube_namespace;
  plan.image = context.arguments().value("image");
  plan.at_once = limits.at_once;
  plan.cpus = limits.cpus;
  plan.memory = limits.memory + "i";  // 8G of Slurm are 8Gi
  Result<std::vector<std::string>> command = add_files(context, files, plan.files);
  if (!command.ok()) return context.failed(command.error());
  plan.command = std::move(*command);
  kube::ClientOptions pace;
  pace.requests_per_second = kRequestsPerSecond;
  pace.burst = 2 * kRequestsPerSecond;
  serve::KubeConnection connection(*access, "sweep", pace);
  world::KubeArrays arrays(connection.client, plan.kube_namespace);
  const std::string logs =
      fmt::format("`kubectl logs -n {} -l {}={}`", plan.kube_namespace, world::kArrayLabel, array_name(sweep, results));
  KubeSweepEngine engine(arrays, std::move(plan));
  return run_as_array(context, engine, sweep, results, logs);
}

std::optional<Exit> read_axes(Context& context, std::vector<workload::SweepAxis>& axes) {
  for (const std::string& text : context.arguments().values("set")) {
    Result<workload::SweepAxis> axis = workload::parse_sweep_axis(text);
    if (!axis.ok()) return context.usage_error(axis.error().text());
    axes.push_back(std::move(*axis));
  }
  if (!axes.empty()) return std::nullopt;
  return context.usage_error("no parameter to sweep: give --set",
                             {"for example: --set job.training.parallel.tensor=1,2,4,8"});
}

// Simulates what is missing, in this process.
Exit run_here(Context& context, const workload::Sweep& sweep, const workload::SweepFiles& files, LifeRequest request,
              const std::string& results, unsigned threads) {
  Result<std::vector<workload::SweepRow>> known = std::vector<workload::SweepRow>();
  if (results != kPrinted) known = workload::load_sweep_rows(results);
  if (!known.ok()) return context.failed(known.error());
  std::vector<std::uint64_t> points = workload::missing_points(sweep, *known, context.arguments().has("again"));
  const Result<std::string> named = wanted_points(context);
  if (!named.ok()) return context.failed(named.error());
  const std::string& wanted = *named;
  if (!wanted.empty()) {
    const auto chosen = parse_points(wanted, sweep.size());
    if (!chosen)
      return context.usage_error(
          fmt::format("--point {}: the points of the sweep are 0 to {}", wanted, sweep.size() - 1));
    const auto outside = [&](std::uint64_t point) { return !chosen->contains(point); };
    points.erase(std::remove_if(points.begin(), points.end(), outside), points.end());
  } else if (points.size() < sweep.size()) {
    context.note(fmt::format("{} of {} points are already in {}", sweep.size() - points.size(), sweep.size(), results));
  }
  SweepRunner runner(context, sweep, files, std::move(request));
  if (!runner.run(points, results, threads)) return Exit::unavailable;
  if (!wanted.empty()) return Exit::ok;
  return show(context, results, SweepRunner::stopped() ? Exit::partial : Exit::ok);
}

// Options that need or exclude others.
void check_combination(Context& context, OptionReader& reader) {
  const Arguments& arguments = context.arguments();
  const std::string engine = arguments.value("array");
  const std::string memory = arguments.value("task-memory");
  if (!reader.ok()) return;
  if (!engine.empty() && arguments.has("point")) reader.bad("point", "excludes --array");
  if (arguments.has("points-file") && !arguments.has("point")) reader.bad("points-file", "needs --point");
  if (arguments.value("results") == kPrinted && !arguments.has("point"))
    reader.bad("results", "is - (standard output) only with --point");
  if (engine == "kubernetes" && arguments.value("image").empty())
    reader.bad("image", "is needed by --array kubernetes: a container image with weft");
  if (engine != "kubernetes") {
    for (const char* option : {"image", "namespace", "kubeconfig", "kube-context", "service-account"}) {
      if (arguments.has(option)) reader.bad(option, "needs --array kubernetes");
    }
  }
  const bool is_size = memory.size() > 1 && memory.find_first_not_of("0123456789") == memory.size() - 1 &&
                       (memory.back() == 'M' || memory.back() == 'G');
  if (!memory.empty() && !is_size) reader.bad("task-memory", "is a number of mebibytes or gibibytes, as 512M or 8G");
}

Exit run_sweep(Context& context) {
  workload::SweepFiles files;
  if (const auto exit = read_files(context, files)) return *exit;
  std::vector<workload::SweepAxis> axes;
  if (const auto exit = read_axes(context, axes)) return *exit;
  LifeInput base;
  if (const auto exit = open_life(context, files.cluster_path, files.job_path, base)) return *exit;
  OptionReader reader(context.arguments());
  LifeRequest request;
  read_life_options(reader, *base.loaded->cluster, request);
  const auto threads = reader.integer("threads", 1, 1'024);
  const std::string options =
      fmt::format("{} {}", to_text(request.fidelities.back()), fmt::join(run_words(context), " "));
  const Result<workload::Sweep> sweep = workload::Sweep::make(files, std::move(axes), options);
  if (!sweep.ok()) return context.failed(sweep.error());
  workload::SlurmSweep plan = array_plan(context, reader, sweep->size());
  const std::string engine = context.arguments().value("array");
  check_combination(context, reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  std::string results = context.arguments().value("results");
  if (results.empty()) results = "sweep.ndjson";
  if (context.arguments().has("slurm")) {
    plan.command = slurm_task_command(context, "weft", results);
    return context.deliver(workload::slurm_sweep_script(plan));
  }
  if (engine == "slurm") return run_on_slurm(context, *sweep, std::move(plan), absolute_path(results));
  if (engine == "kubernetes") return run_on_kubernetes(context, *sweep, plan, files, absolute_path(results));
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  return run_here(context, *sweep, files, std::move(request), results,
                  threads ? static_cast<unsigned>(*threads) : cores);
}

}  // namespace

Command sim_sweep_command() {
  Command command;
  command.name = "sim sweep";
  command.summary = "Simulate a job for all combinations of parameter values";
  command.usage = "CLUSTER JOB --set KEY=VALUE,VALUE,... [OPTIONS]";
  command.description = {
      "KEY is a path into the job or cluster file, such as job.training.parallel.tensor or cluster.pools.train.count. "
      "Several --set give the cross product. Each point is written to the results file when it is finished, so an "
      "interrupted sweep continues where it stopped; several processes can share one file.",
      "With --array slurm the missing points run as a Slurm job array, and weft waits for it. The directory, the "
      "files and the weft executable must be on a file system that the nodes share. Interrupted, the array "
      "continues: the same command finds it and waits for it.",
      "With --array kubernetes they run as an Indexed Job. The image needs weft and nothing else: the files come in a "
      "ConfigMap, and weft collects what the tasks print. When all points have a result, the Job is deleted."};
  command.examples = {
      {"weft sim sweep pod.yaml job.yaml --set job.training.parallel.tensor=1,2,4,8",
       "Find the best tensor parallelism"},
      {"weft sim sweep pod.yaml job.yaml --set cluster.fabrics.backend.oversubscription=1:1,2:1,4:1 --sort step_s",
       "Cost of oversubscription"},
      {"weft sim sweep pod.yaml job.yaml --set job.nodes=8,16,32 --array slurm", "As a Slurm job array"},
      {"weft sim sweep pod.yaml job.yaml --set job.nodes=8,16,32 --array kubernetes --image registry.example/weft:1",
       "As an Indexed Job of Kubernetes"},
  };
  command.arguments = {cluster_argument(),
                       {.name = "JOB", .help = "job file with a training section", .hint = Hint::file}};
  command.options = {
      {.name = "set",
       .value = "KEY=VALUE",
       .help = "a parameter of the sweep with comma-separated values",
       .repeatable = true},
      {.name = "results",
       .value = "FILE",
       .help = "results file, one line of JSON per point; with --point also - (standard output)",
       .fallback = "sweep.ndjson",
       .hint = Hint::file},
      {.name = "sort",
       .value = "COLUMN",
       .help = "column that the table is sorted by, best first",
       .fallback = "tokens_per_s"},
      {.name = "again", .help = "rerun points that failed"},
      {.name = "point", .value = "N[-M],...", .help = "run only these points, and print nothing"},
      {.name = "points-file",
       .value = "FILE",
       .help = "with --point N: line N of this file, from 0, names the points",
       .hint = Hint::file},
      {.name = "array",
       .value = "ENGINE",
       .help = "run the missing points as a job array of this engine, and wait for it",
       .choices = choices_named({"slurm", "kubernetes"})},
      {.name = "slurm", .help = "print the batch script of the Slurm job array instead of running it"},
      {.name = "at-once",
       .value = "N",
       .help = "tasks of the array that run at the same time; 0: no limit",
       .fallback = "16"},
      {.name = "task-memory", .value = "SIZE", .help = "memory of a task of the array", .fallback = "8G"},
      {.name = "image", .value = "IMAGE", .help = "container image with weft, for Kubernetes"},
      {.name = "namespace",
       .value = "NAME",
       .help = "Kubernetes namespace of the tasks",
       .fallback = "that of the context"},
      partition_option(),
      slurm_conf_option()};
  for (const Option& option : kube_access_options()) command.options.push_back(option);
  for (const Option& option : life_run_options()) {
    if (option.name == "threads") {
      Option threads = option;
      threads.help = "points simulated in parallel, per task of an array";
      threads.fallback = "all cores; 1 per task of an array";
      command.options.push_back(threads);
    } else {
      command.options.push_back(option);
    }
  }
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_sweep;
  return command;
}

}  // namespace weft::cli
