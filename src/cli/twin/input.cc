#include "cli/twin/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/human_format.h"
#include "cli/framework/fault_file.h"
#include "cli/sim/life_input.h"
#include "model/yaml_file.h"
#include "twin/life_job.h"
#include "workload/life/play_life.h"

namespace weft::cli {
namespace {

constexpr double kDefaultDays = 30;
constexpr double kMaxDays = 3660;
constexpr Duration kPlainLaunch = sched::seconds(60);  // without a job file: the image is on the nodes

// What the command line says about every job of the run.
struct Times {
  std::optional<Duration> interval;
  std::optional<Duration> stall;
  std::optional<Duration> restart;
};

void finish_job(twin::TwinJob& job, const Times& times) {
  if (times.interval) job.spec.checkpoint.interval = *times.interval;
  if (times.stall) job.stall = job.write = *times.stall;
  if (times.restart) {
    job.launch = std::min(*times.restart / 4, kPlainLaunch);
    job.load = *times.restart / 4;
    job.restore = *times.restart - job.launch - job.load;
  }
  twin::prepare_job(job);
}

// The nodes that a job without a file of its own runs on: those of the GPU model with the most GPUs, without spares.
struct Pool {
  std::int64_t nodes = 0;
  std::int32_t gpus = 0;
  std::int32_t number = 0;
};
Pool largest_pool(const sched::Machine& machine) {
  std::map<std::pair<std::int32_t, std::int32_t>, Pool> pools;
  for (const sched::NodeShape& node : machine.nodes()) {
    if (node.gpus == 0) continue;
    Pool& pool = pools[{node.pool, node.gpus}];
    pool.gpus = node.gpus;
    pool.number = node.pool;
    ++pool.nodes;
  }
  for (const sched::NodeId spare : machine.spares()) {
    const sched::NodeShape& node = machine.node(spare);
    const auto found = pools.find({node.pool, node.gpus});
    if (found != pools.end()) --found->second.nodes;
  }
  Pool largest;
  for (const auto& [key, pool] : pools) {
    if (pool.nodes * pool.gpus > largest.nodes * largest.gpus) largest = pool;
  }
  return largest;
}

class TwinReader {
 public:
  TwinReader(Context& context, TwinInput& input)
      : context_(context), arguments_(context.arguments()), reader_(context.arguments()), input_(input) {}

  std::optional<Exit> read() {
    if (!arguments_.has("plain") && arguments_.words().empty()) {
      return context_.missing_cluster("usage: weft twin run [CLUSTER] [OPTIONS], or --plain SERVERSxGPUS");
    }
    if (arguments_.has("plain") && !arguments_.words().empty()) {
      return context_.usage_error("CLUSTER cannot be combined with --plain", {"omit one of them"});
    }
    if (const std::optional<Exit> exit = open_sched_machine(context_, arguments_.word(0), input_.sched)) return exit;
    input_.plan.cluster = input_.sched.machine_name;
    input_.plan.machine = input_.sched.machine;
    input_.plan.options.tenants = input_.sched.tenants;
    numbers();
    if (!reader_.ok()) return context_.usage_error(reader_.problem(), {reader_.hint()});
    if (const auto exit = read_fault_file(context_, *input_.sched.loaded, input_.plan.faults)) return exit;
    if (const std::optional<Exit> exit = jobs()) return exit;
    for (const twin::TwinJob& job : input_.plan.jobs) {
      const Duration interval = job.spec.checkpoint.interval;
      if (interval.count() == 0 || interval > job.stall) continue;
      return context_.usage_error(
          fmt::format("{} would write checkpoints all the time: one each {}, and each stalls it for {}",
                      job.spec.shape.name, to_text(interval), to_text(job.stall)),
          {"give a longer --interval or a shorter --checkpoint-stall"});
    }
    twin::number_jobs(input_.plan.jobs);
    note_slow_starts();
    return std::nullopt;
  }

 private:
  void numbers() {
    twin::TwinPlan& plan = input_.plan;
    const double days = reader_.real("days", 0.01, kMaxDays).value_or(kDefaultDays);
    plan.length = milliseconds(std::llround(days * 86'400'000));
    plan.seed = reader_.seed("seed").value_or(1);
    plan.fault_scale = reader_.real("fault-rate", 0, 1000).value_or(1);
    plan.options.repair = !arguments_.has("no-repair");
    times_.interval = reader_.time("interval");
    times_.stall = reader_.time("checkpoint-stall");
    times_.restart = reader_.time("restart");
    if (times_.interval && times_.interval->count() < 1'000'000'000) {
      reader_.bad("interval", "at least one second", "a time such as 30m");
    }
    spares_ = reader_.integer("spares", 0, 1'000'000);
    if (const auto timeout = reader_.time("start-timeout")) {
      if (timeout->count() <= 0) reader_.bad("start-timeout", "must be above zero");
      plan.options.start_timeout = *timeout;
    }
  }

  void note_slow_starts() {
    const Duration timeout = input_.plan.options.start_timeout;
    const auto slow = std::count_if(input_.plan.jobs.begin(), input_.plan.jobs.end(),
                                    [&](const twin::TwinJob& job) { return job.launch >= timeout; });
    if (slow == 0) return;
    input_.plan.notes.push_back(fmt::format(
        "{} of the jobs need longer than {} until their processes run: the controller stops such starts, as weft serve "
        "does. Keep the image on the nodes, or give a longer --start-timeout to both.",
        slow, format_duration(timeout)));
  }

  std::optional<Exit> jobs() {
    if (arguments_.has("job")) {
      if (const std::optional<Exit> exit = training_job()) return exit;
    }
    if (arguments_.has("jobs")) {
      if (const std::optional<Exit> exit = trace()) return exit;
    }
    if (input_.plan.jobs.empty()) return whole_cluster();
    return std::nullopt;
  }

  std::optional<Exit> whole_cluster() {
    const Pool pool = largest_pool(*input_.plan.machine);
    const std::int64_t nodes = pool.nodes - spares_.value_or(0);
    if (pool.nodes < 1) return context_.usage_error("the cluster has no nodes with GPUs", {"give a pool with GPUs"});
    if (nodes < 1) {
      return context_.usage_error(
          fmt::format("no nodes are left for the job: {} GPU nodes, {} spares", pool.nodes, spares_.value_or(0)),
          {"lower --spares"});
    }
    twin::TwinJob job;
    job.spec.shape.name = "training";
    job.spec.shape.user = "twin";
    job.spec.shape.tasks = static_cast<std::int32_t>(nodes);
    job.spec.shape.task.gpus = pool.gpus;
    job.restore = sched::seconds(180);
    finish_job(job, times_);
    input_.plan.jobs.push_back(std::move(job));
    input_.plan.notes.push_back(fmt::format(
        "One job on {} of {} nodes for the whole time. Restart {} and stall per checkpoint {} are {}; a job file "
        "(--job) lets its model and the storage fabric decide.",
        nodes, input_.plan.machine->nodes().size(),
        to_text(input_.plan.jobs[0].launch + input_.plan.jobs[0].load + input_.plan.jobs[0].restore),
        to_text(input_.plan.jobs[0].stall), times_.stall && times_.restart ? "given" : "assumed"));
    return std::nullopt;
  }

  std::optional<Exit> training_job();
  std::optional<Exit> trace();

  Context& context_;
  const Arguments& arguments_;
  OptionReader reader_;
  TwinInput& input_;
  Times times_;
  std::optional<std::int64_t> spares_;
};

// The times of a job file: play_life() on this cluster, without failures.
std::optional<Exit> TwinReader::training_job() {
  model::Loaded& loaded = *input_.sched.loaded;
  const std::string path = arguments_.value("job");
  if (loaded.cluster == nullptr) {
    return context_.usage_error("--job needs a cluster file: its fabrics decide how fast the job is",
                                {"give a cluster file instead of --plain"});
  }
  Result<std::string> text = model::read_yaml_file(path);
  if (!text.ok()) return context_.failed(text.error());
  const std::optional<model::JobSpec> spec = read_training_job(path, std::move(text).value(), loaded);
  if (!context_.report(loaded) || !spec) return Exit::usage;
  workload::LifeOptions options;
  options.what_ifs = options.timeline = options.heat_maps = false;
  options.iterations = 1;
  options.image_cached = 1;  // weft serve stops starts that take longer than two minutes: cold pulls often do
  const std::optional<workload::LifeResult> life =
      workload::play_life(*loaded.cluster, *spec, options, loaded.diagnostics);
  if (!context_.report(loaded) || !life) return Exit::usage;
  loaded.diagnostics = Diagnostics();
  twin::TwinJob job = twin::job_from_life(*life, *spec);
  finish_job(job, times_);
  input_.plan.notes.push_back(
      fmt::format("{}: {} steps of {:.3g} s; a restart takes {} with the image on the nodes, of it {} to load the "
                  "checkpoint; a checkpoint stalls the job for "
                  "{} and is complete after {}.",
                  job.spec.shape.name, life->steps, static_cast<double>(life->step.count()) / 1e12,
                  format_duration(job.launch + job.load + job.restore), format_duration(job.restore),
                  format_duration(job.stall), format_duration(job.write)));
  input_.plan.jobs.push_back(std::move(job));
  return std::nullopt;
}

std::optional<Exit> TwinReader::trace() {
  if (const std::optional<Exit> exit = open_sched_trace(context_, arguments_.value("jobs"), input_.sched)) return exit;
  if (const std::optional<Exit> exit = input_.pace.open(context_, input_.sched)) return exit;
  const sched::Moment first = input_.sched.workload.jobs.front().submitted;
  std::uint64_t late = 0;
  for (sched::Job& shape : input_.sched.workload.jobs) {
    const Duration submitted = shape.submitted - first;
    if (submitted >= input_.plan.length) {
      ++late;
      continue;
    }
    twin::TwinJob job;
    job.submitted = milliseconds(submitted.count() / 1'000'000);
    job.work = shape.run_time == sched::kUnlimited ? shape.run_time : milliseconds(shape.run_time.count() / 1'000'000);
    job.launch = sched::seconds(20);
    job.load = job.restore = sched::seconds(20);
    if (shape.restart_cost.count() > 0) job.restore = milliseconds(shape.restart_cost.count() / 1'000'000);
    job.spec.checkpoint.interval = shape.checkpoint_interval;
    job.spec.shape = std::move(shape);
    if (job.spec.shape.user.empty()) job.spec.shape.user = "twin";
    job.spec.shape.submitted = {};
    finish_job(job, times_);
    input_.plan.jobs.push_back(std::move(job));
  }
  input_.sched.workload.jobs.clear();
  input_.plan.notes.insert(input_.plan.notes.end(), input_.sched.notes.begin(), input_.sched.notes.end());
  if (late > 0) {
    input_.plan.notes.push_back(fmt::format("{} jobs of the trace are submitted after the end of the run.", late));
  }
  return std::nullopt;
}

}  // namespace

std::vector<Argument> twin_arguments() {
  Argument cluster = cluster_argument_or({"plain"});
  cluster.help = "a cluster file; omitted with --plain";
  return {cluster};
}

std::vector<Option> twin_input_options() {
  std::vector<Option> options = {
      {.name = "job",
       .letter = 'j',
       .value = "FILE",
       .help = "job file with a training section, run once",
       .hint = Hint::file},
      {.name = "jobs",
       .value = "FILE",
       .help = "job trace in the format of openb, Philly, Helios, Acme, SWF or weft; may be gzip-compressed",
       .hint = Hint::file},
      {.name = "days", .value = "N", .help = "days to simulate", .fallback = "30"},
      {.name = "seed", .value = "N", .help = "seed of all random choices", .fallback = "1"},
      {.name = "spares",
       .value = "N",
       .help = "nodes that the job on the whole cluster leaves free, beside the spares of the cluster file"},
      {.name = "interval",
       .value = "TIME",
       .help = "time between checkpoints [default: from the failure rate, as weft serve chooses it]"},
      {.name = "checkpoint-stall",
       .value = "TIME",
       .help = "time that a job waits per checkpoint [default: by the job file; else 30s]"},
      {.name = "restart",
       .value = "TIME",
       .help = "time from the start of a job to its first step [default: by the job file; else 5m]"},
      {.name = "faults",
       .value = "FILE",
       .help = "fault file: causes, rates, repair (see `weft schema faults`) [default: built in]",
       .hint = Hint::file},
      {.name = "fault-rate", .value = "FACTOR", .help = "multiplies all failure rates", .fallback = "1"},
      {.name = "no-repair", .help = "no automatic repair: people repair every node"},
      {.name = "start-timeout",
       .value = "TIME",
       .help = "limit of the time from the start of an attempt until all its processes run, as in weft serve",
       .fallback = "2m"},
  };
  for (const Option& option : sched_input_options()) {
    if (option.name != "nodes") options.push_back(option);
  }
  return options;
}

std::optional<Exit> open_twin(Context& context, TwinInput& input) { return TwinReader(context, input).read(); }

}  // namespace weft::cli
