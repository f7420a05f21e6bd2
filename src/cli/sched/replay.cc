// weft sched replay: replays a job trace in the scheduler under several policies.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/framework/progress.h"
#include "cli/sched/input.h"
#include "cli/sched/pace.h"
#include "sched/replay/page.h"
#include "sched/replay/plot.h"
#include "sched/replay/policies.h"

namespace weft::cli {
namespace {

constexpr std::string_view kDefaultPolicies = "fifo,easy,weft";
constexpr int kPieces = 200;  // parts of a replay, for progress

std::vector<sched::NamedPolicy> read_policies(OptionReader& reader) {
  const std::string given = reader.arguments().value("policy");
  std::vector<sched::NamedPolicy> policies;
  for (const std::string& name : comma_parts(given.empty() ? kDefaultPolicies : std::string_view(given))) {
    const sched::NamedPolicy* policy = sched::find_policy(name);
    if (policy == nullptr) {
      std::vector<std::string> names;
      for (const sched::NamedPolicy& each : sched::named_policies()) names.push_back(each.name);
      reader.bad("policy", fmt::format("unknown policy {}", in_backticks(name)),
                 fmt::format("comma-separated list of: {}", fmt::join(names, ", ")));
      return {};
    }
    const auto same = [&](const sched::NamedPolicy& each) { return each.name == name; };
    if (std::none_of(policies.begin(), policies.end(), same)) policies.push_back(*policy);
  }
  const Arguments& arguments = reader.arguments();
  for (sched::NamedPolicy& each : policies) {
    if (arguments.has("no-preemption")) each.policy.preemption = false;
    if (arguments.has("no-elastic")) each.policy.elastic = false;
    if (arguments.has("no-topology")) each.policy.placement.topology = false;
    if (arguments.has("defragment")) each.policy.defragment = true;
    if (const auto count = reader.integer("reservations", 0, 100'000)) {
      if (each.policy.backfill == sched::Backfill::reserved) {
        each.policy.reservations = static_cast<std::int32_t>(*count);
      }
    }
    if (const auto depth = reader.integer("depth", 1, 1'000'000)) {
      each.policy.backfill_depth = static_cast<std::int32_t>(*depth);
    }
  }
  return policies;
}

// Replays in parts of one two-hundredth of the arrivals. False if the user stopped it.
bool play(Context& context, const SchedInput& input, const sched::NamedPolicy& policy, sched::ReplayOptions options,
          sched::ReplayRun& run) {
  options.policy = policy.policy;
  options.tenants = input.tenants;
  const std::vector<sched::Job>& jobs = input.workload.jobs;
  sched::Replay replay(input.machine, jobs, std::move(options));
  SimProgressLine line(context.io(), context.io().err_is_terminal && !context.quiet(), policy.name);
  for (int piece = 1; piece < kPieces; ++piece) {
    const sched::Moment until = jobs[jobs.size() * static_cast<std::size_t>(piece) / kPieces].submitted;
    if (!replay.run_until(until)) break;
    netsim::SimProgress progress;
    progress.done = static_cast<std::uint64_t>(piece);
    progress.total = kPieces;
    progress.events = replay.scheduler().job_count();
    if (!line.on_progress(progress)) return false;
  }
  (void)replay.run_until(sched::kNever);
  run.result = replay.result();
  run.metrics = sched::measure(policy.name, jobs, run.result);
  context.detail(fmt::format("{}: {} decisions in {:.1f} s", policy.name, run.result.decisions, line.seconds()));
  return true;
}

std::optional<Exit> write_text(Context& context, const char* option, const std::string& text) {
  const std::string path = context.arguments().value(option);
  const Status written = write_file(path, text);
  if (!written.ok()) return context.failed(written.error());
  context.note(fmt::format("wrote {} ({:.1f} MB)", path, static_cast<double>(text.size()) / 1e6));
  return std::nullopt;
}

std::optional<Exit> write_files(Context& context, const SchedInput& input, const sched::ReplayReport& report) {
  const Arguments& arguments = context.arguments();
  if (arguments.has("jobs")) {
    std::string lines;
    for (const sched::ReplayRun& run : report.runs) {
      (void)sched::write_jobs(report, run, *input.machine, [&](std::string_view piece) {
        lines += piece;
        return true;
      });
    }
    if (const auto exit = write_text(context, "jobs", lines)) return exit;
  }
  if (arguments.has("page")) {
    if (const auto exit = write_text(context, "page", sched::replay_page(report))) return exit;
  }
  if (arguments.has("plot")) {
    if (const auto exit = write_text(context, "plot", sched::replay_picture(report))) return exit;
  }
  return std::nullopt;
}

Exit run_replay(Context& context) {
  OptionReader reader(context.arguments());
  const std::vector<sched::NamedPolicy> policies = read_policies(reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  SchedInput input;
  if (const std::optional<Exit> exit = open_sched(context, input)) return *exit;
  sched::ReplayOptions options;
  options.failures = read_failures(reader, *input.machine);
  options.kill_at_limit = !context.arguments().has("no-kill");
  options.keep_nodes = context.arguments().has("jobs");
  if (const auto every = reader.time("sample")) options.sample_every = *every;
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  SchedPace pace;
  if (const std::optional<Exit> exit = pace.open(context, input)) return *exit;
  if (pace.any()) {
    options.pace = [&](const sched::Job& job, const sched::Machine& machine, const sched::Placement& placement) {
      return pace.of(job, machine, placement);
    };
  }
  const InterruptGuard guard;
  sched::ReplayReport report;
  report.trace = std::filesystem::path(input.trace_name).filename().string();
  report.format = to_text(input.workload.format);
  report.machine = input.machine_name;
  report.nodes = static_cast<std::int64_t>(input.machine->nodes().size());
  report.gpus = input.machine->gpus();
  report.jobs = input.workload.jobs;
  report.notes = input.notes;
  bool whole = true;
  for (const sched::NamedPolicy& policy : policies) {
    sched::ReplayRun run;
    whole = play(context, input, policy, options, run);
    if (!whole) break;
    report.runs.push_back(std::move(run));
  }
  if (!whole) context.note("interrupted: only completed policies are shown");
  if (report.runs.empty()) return Exit::partial;
  for (std::string& note : pace.notes()) report.notes.push_back(std::move(note));
  if (const std::optional<Exit> exit = write_files(context, input, report)) return *exit;
  const OutputFormat format = context.output_format();
  const bool people = format == OutputFormat::table || format == OutputFormat::wide;
  return context.deliver(sched::replay_document(report, !people), whole ? Exit::ok : Exit::partial);
}

}  // namespace

Command sched_replay_command() {
  Command command;
  command.name = "sched replay";
  command.summary = "Replay a trace of jobs under several policies";
  command.usage = "[CLUSTER] TRACE [OPTIONS]";
  command.description = {
      "Jobs arrive and run as in the trace; the scheduler decides in virtual time which job starts where and when. "
      "Policies are compared side by side: utilization, wait times by size, run time and tenant, slowdown, fairness, "
      "fragmentation, backfill, cost of preemption, and why jobs waited.",
      "Backfill depends on time limits. If the trace has none, they are the run times multiplied by --limits."};
  command.examples = {
      {"weft sched replay cluster.yaml trace.csv", "On the GPU servers of a cluster, with its tenants and quotas"},
      {"weft sched replay --plain 60x8 philly.csv.gz --policy greedy,easy,weft", "On 60 servers of 8 GPUs"},
      {"weft sched replay --nodes nodes.csv pods.csv --page replay.html", "An openb trace, and a page with plots"},
      {"weft sched replay cluster.yaml trace.csv --lose 'train[01-04]@3d+2h'", "Four servers fail for two hours"},
  };
  command.arguments = sched_arguments();
  std::vector<std::string> names;
  for (const sched::NamedPolicy& each : sched::named_policies()) names.push_back(each.name);
  command.options = {
      {.name = "policy",
       .value = "NAMES",
       .help = fmt::format("comma-separated list of policies: {}", listed(names)),
       .fallback = std::string(kDefaultPolicies)},
      {.name = "no-preemption", .help = "disable preemption"},
      {.name = "no-elastic", .help = "elastic jobs keep their initial size"},
      {.name = "no-topology", .help = "ignore topology when placing jobs"},
      {.name = "defragment", .help = "migrate jobs to make room"},
      {.name = "reservations",
       .value = "N",
       .help = "number of pending jobs with a reservation, if the policy has reservations"},
      {.name = "depth", .value = "N", .help = "jobs considered for backfill per decision", .fallback = "200"},
      {.name = "no-kill", .help = "do not kill jobs that exceed their time limit"},
      {.name = "lose",
       .value = "NODES@TIME[+TIME]",
       .help = "servers fail at this time of the trace, for this duration",
       .repeatable = true},
      {.name = "sample", .value = "TIME", .help = "sampling interval of the plots", .fallback = "10m"},
      {.name = "jobs", .value = "FILE", .help = "write NDJSON, one line per job and policy", .hint = Hint::file},
      {.name = "page", .value = "FILE", .help = "write a self-contained web page", .hint = Hint::file},
      {.name = "plot", .value = "FILE", .help = "write the plots as SVG", .hint = Hint::file}};
  for (const Option& option : sched_input_options()) command.options.push_back(option);
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_replay;
  return command;
}

}  // namespace weft::cli
