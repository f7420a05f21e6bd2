// weft sim sweep: one job timeline per combination of some keys' values, on all cores, resumable.
#include "workload/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "cli/framework/progress.h"
#include "cli/sim/life_input.h"
#include "workload/sweep/results.h"
#include "workload/sweep/slurm.h"

namespace weft::cli {
namespace {

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
      const Status written = workload::append_sweep_row(results_, row);
      const std::lock_guard lock(mutex_);
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

  [[nodiscard]] bool shows() const { return context_.io().err_is_terminal && !context_.quiet(); }
  void progress() {
    constexpr std::size_t kWidth = 20;
    const std::size_t filled = done_ * kWidth / todo_->size();
    context_.io().write_err(fmt::format("\r\x1b[Ksweep [{}{}] {} of {} points", std::string(filled, '#'),
                                        std::string(kWidth - filled, '.'), done_, todo_->size()));
  }

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
  Result<std::string> cluster = read_file(files.cluster_path);
  if (!cluster.ok()) return context.failed(cluster.error());
  Result<std::string> job = read_file(files.job_path);
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

// The command line without --slurm, --file and --threads, as every task of the array runs it.
std::vector<std::string> task_command(Context& context, const std::string& results) {
  std::vector<std::string> words{"weft", "sim", "sweep", context.arguments().word(0), context.arguments().word(1)};
  for (const std::string& axis : context.arguments().values("set")) {
    words.emplace_back("--set");
    words.push_back(axis);
  }
  for (std::string& word : run_words(context)) words.push_back(std::move(word));
  for (const std::string& file : context.arguments().values("catalog")) {
    words.emplace_back("--catalog");
    words.push_back(file);
  }
  words.emplace_back("--results");
  words.push_back(results);
  return words;
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

Exit run_sweep(Context& context) {
  workload::SweepFiles files;
  if (const auto exit = read_files(context, files)) return *exit;
  std::vector<workload::SweepAxis> axes;
  for (const std::string& text : context.arguments().values("set")) {
    Result<workload::SweepAxis> axis = workload::parse_sweep_axis(text);
    if (!axis.ok()) return context.usage_error(axis.error().text());
    axes.push_back(std::move(*axis));
  }
  if (axes.empty())
    return context.usage_error("no parameter to sweep: give --set",
                               {"for example: --set job.training.parallel.tensor=1,2,4,8"});
  LifeInput base;
  if (const auto exit = open_life(context, files.cluster_path, files.job_path, base)) return *exit;
  OptionReader reader(context.arguments());
  LifeRequest request;
  read_life_options(reader, *base.loaded->cluster, request);
  const auto threads = reader.integer("threads", 1, 1'024);
  const auto point = reader.integer("point", 0, static_cast<std::int64_t>(workload::Sweep::kMaxPoints));
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const std::string options =
      fmt::format("{} {}", to_text(request.fidelities.back()), fmt::join(run_words(context), " "));
  const Result<workload::Sweep> sweep = workload::Sweep::make(files, std::move(axes), options);
  if (!sweep.ok()) return context.failed(sweep.error());
  std::string results = context.arguments().value("results");
  if (results.empty()) results = "sweep.ndjson";
  if (context.arguments().has("slurm")) {
    workload::SlurmSweep slurm;
    slurm.points = sweep->size();
    slurm.command = task_command(context, results);
    return context.deliver(workload::slurm_sweep_script(slurm));
  }
  Result<std::vector<workload::SweepRow>> known = workload::load_sweep_rows(results);
  if (!known.ok()) return context.failed(known.error());
  std::vector<std::uint64_t> points = workload::missing_points(*sweep, *known, context.arguments().has("again"));
  if (point) {
    const auto wanted = static_cast<std::uint64_t>(*point);
    if (wanted >= sweep->size()) {
      return context.usage_error(fmt::format("the points of the sweep are 0 to {}", sweep->size() - 1));
    }
    if (std::find(points.begin(), points.end(), wanted) == points.end()) return Exit::ok;
    points = {wanted};
  } else if (points.size() < sweep->size()) {
    context.note(
        fmt::format("{} of {} points are already in {}", sweep->size() - points.size(), sweep->size(), results));
  }
  SweepRunner runner(context, *sweep, files, std::move(request));
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned used = threads ? static_cast<unsigned>(*threads) : cores;
  if (!runner.run(points, results, used)) return Exit::unavailable;
  if (point) return Exit::ok;
  return show(context, results, SweepRunner::stopped() ? Exit::partial : Exit::ok);
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
      "interrupted sweep continues where it stopped; several processes can share one file."};
  command.examples = {
      {"weft sim sweep pod.yaml job.yaml --set job.training.parallel.tensor=1,2,4,8",
       "Find the best tensor parallelism"},
      {"weft sim sweep pod.yaml job.yaml --set cluster.fabrics.backend.oversubscription=1:1,2:1,4:1 --sort step_s",
       "Cost of oversubscription"},
      {"weft sim sweep pod.yaml job.yaml --set job.nodes=8,16,32 --slurm > sweep.sbatch", "As a Slurm job array"},
  };
  command.arguments = {cluster_argument(),
                       {.name = "JOB", .help = "job file with a training section", .hint = Hint::file}};
  command.options = {{.name = "set",
                      .value = "KEY=VALUE",
                      .help = "a parameter of the sweep with comma-separated values",
                      .repeatable = true},
                     {.name = "results",
                      .value = "FILE",
                      .help = "results file, one line of JSON per point",
                      .fallback = "sweep.ndjson",
                      .hint = Hint::file},
                     {.name = "sort",
                      .value = "COLUMN",
                      .help = "column that the table is sorted by, best first",
                      .fallback = "tokens_per_s"},
                     {.name = "again", .help = "rerun points that failed"},
                     {.name = "point", .value = "N", .help = "run only this point, and print nothing"},
                     {.name = "slurm", .help = "print a batch script that runs the sweep as a Slurm job array"}};
  for (const Option& option : life_run_options()) {
    if (option.name == "threads") {
      Option threads = option;
      threads.help = "points simulated in parallel";
      threads.fallback = "all cores";
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
