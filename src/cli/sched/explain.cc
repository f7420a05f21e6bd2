// weft sched explain, weft sched status: replays a trace up to a point in time and shows the scheduler's state then.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "cli/sched/input.h"
#include "sched/explain/view.h"
#include "sched/replay/policies.h"

namespace weft::cli {
namespace {

constexpr std::string_view kDefaultPolicy = "weft";

std::optional<sched::ReplayOptions> read_replay(OptionReader& reader, const SchedInput& input) {
  const std::string given = reader.arguments().value("policy");
  const sched::NamedPolicy* policy = sched::find_policy(given.empty() ? kDefaultPolicy : std::string_view(given));
  if (policy == nullptr) {
    std::vector<std::string> names;
    for (const sched::NamedPolicy& each : sched::named_policies()) names.push_back(each.name);
    reader.bad("policy", fmt::format("unknown policy {}", in_backticks(given)),
               fmt::format("policies: {}", fmt::join(names, ", ")));
    return std::nullopt;
  }
  sched::ReplayOptions options;
  options.policy = policy->policy;
  options.tenants = input.tenants;
  options.failures = read_failures(reader, *input.machine);
  options.kill_at_limit = !reader.arguments().has("no-kill");
  return options;
}

sched::Moment moment_of(OptionReader& reader, sched::Moment otherwise) {
  const std::optional<Duration> at = reader.time("at");
  return at ? sched::Moment() + *at : otherwise;
}

Exit run_explain(Context& context) {
  SchedInput input;
  if (const std::optional<Exit> exit = open_sched(context, input, 1)) return *exit;
  const std::string name = context.arguments().word(0);
  const std::vector<sched::Job>& jobs = input.workload.jobs;
  const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const sched::Job& each) { return each.name == name; });
  if (job == jobs.end()) {
    return context.usage_error(
        fmt::format("the trace has no job {}", in_backticks(name)),
        {fmt::format("the first is {}, the last {}", in_backticks(jobs.front().name), in_backticks(jobs.back().name))});
  }
  OptionReader reader(context.arguments());
  std::optional<sched::ReplayOptions> options = read_replay(reader, input);
  const sched::Moment at = moment_of(reader, job->submitted);
  sched::ExplainOptions explain;
  if (const auto most = reader.integer("changes", 0, 15)) explain.most_changes = static_cast<std::size_t>(*most);
  if (reader.ok() && at < job->submitted) {
    reader.bad("at", fmt::format("is before the job is submitted, {:.0f} s into the trace", job->submitted.seconds()));
  }
  if (!reader.ok() || !options) return context.usage_error(reader.problem(), {reader.hint()});
  sched::Replay replay(input.machine, jobs, std::move(*options));
  (void)replay.run_until(at);
  const sched::Scheduler& scheduler = replay.scheduler();
  const sched::JobId id = replay.id_of(static_cast<std::size_t>(job - jobs.begin()));
  const sched::JobRecord& record = scheduler.record(id);
  if (record.phase == sched::JobPhase::running || record.phase == sched::JobPhase::stopping) {
    return context.deliver(
        sched::placement_view(scheduler, sched::explain_placement(scheduler, id, sched::demand_of(scheduler))));
  }
  return context.deliver(sched::explanation_view(scheduler, sched::explain(scheduler, id, at, explain)));
}

Exit run_status(Context& context) {
  SchedInput input;
  if (const std::optional<Exit> exit = open_sched(context, input)) return *exit;
  OptionReader reader(context.arguments());
  std::optional<sched::ReplayOptions> options = read_replay(reader, input);
  const sched::Moment at = moment_of(reader, input.workload.jobs.back().submitted);
  sched::StatusOptions status;
  if (const auto most = reader.integer("queue", 0, 1'000'000)) status.most_queue = static_cast<std::size_t>(*most);
  if (!reader.ok() || !options) return context.usage_error(reader.problem(), {reader.hint()});
  sched::Replay replay(input.machine, input.workload.jobs, std::move(*options));
  (void)replay.run_until(at);
  return context.deliver(sched::status_view(replay.scheduler(), sched::cluster_status(replay.scheduler(), at, status)));
}

std::vector<Option> options_of(Option own, std::string_view at_fallback) {
  std::vector<std::string> names;
  for (const sched::NamedPolicy& each : sched::named_policies()) names.push_back(each.name);
  std::vector<Option> options = {
      {.name = "at", .value = "TIME", .help = "time in the trace", .fallback = std::string(at_fallback)},
      {.name = "policy",
       .value = "NAMES",
       .help = fmt::format("scheduling policy: {}", listed(names)),
       .fallback = std::string(kDefaultPolicy)},
      std::move(own),
      {.name = "no-kill", .help = "do not kill jobs that exceed their time limit"},
      {.name = "lose",
       .value = "NODES@TIME[+TIME]",
       .help = "servers fail at this time of the trace, for this duration",
       .repeatable = true}};
  for (const Option& option : sched_input_options()) options.push_back(option);
  for (const Option& option : {output_option(), file_option(), catalog_option()}) options.push_back(option);
  return options;
}

}  // namespace

Command sched_explain_command() {
  Command command;
  command.name = "sched explain";
  command.summary = "Explain why a job waits and what would start it sooner";
  command.usage = "JOB [CLUSTER] TRACE [--at TIME] [OPTIONS]";
  command.description = {
      "Replays the trace up to --at. For a pending job it shows what the job waits for, which jobs block it, the "
      "expected start, and the smallest changes that start it sooner: fewer tasks, a shorter time limit, a wider "
      "domain, more quota, servers that return, a job that ends. Each listed change was verified on a copy of the "
      "scheduler.",
      "For a running job it shows its placement, the cost of that placement to other jobs, and the cost of the "
      "alternatives."};
  command.examples = {
      {"weft sched explain bert-7 cluster.yaml trace.csv", "Why the job did not start immediately"},
      {"weft sched explain bert-7 --plain 60x8 trace.csv --at 2h --policy easy", "Two hours into the trace"}};
  command.arguments = {{.name = "JOB", .help = "name of a job of the trace"}};
  for (const Argument& argument : sched_arguments()) command.arguments.push_back(argument);
  command.options = options_of(
      {.name = "changes", .value = "N", .help = "maximum number of changes to list; 0: none", .fallback = "5"},
      "when the job is submitted");
  command.run = run_explain;
  return command;
}

Command sched_status_command() {
  Command command;
  command.name = "sched status";
  command.summary = "Show queue, quotas and fragmentation at a given time";
  command.usage = "[CLUSTER] TRACE [--at TIME] [OPTIONS]";
  command.description = {
      "Replays the trace up to --at and shows running jobs, pending jobs with the reason, the queue with expected "
      "starts and dependencies, what tenants use, borrow and lend, and how much idle capacity is fragmented, per "
      "topology level."};
  command.examples = {{"weft sched status cluster.yaml trace.csv --at 6h", "Six hours into the trace"}};
  command.arguments = sched_arguments();
  command.options =
      options_of({.name = "queue", .value = "N", .help = "maximum number of pending jobs to list", .fallback = "20"},
                 "the last submission");
  command.run = run_status;
  return command;
}

}  // namespace weft::cli
