#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/quoting.h"
#include "base/text.h"
#include "sched/explain/view.h"
#include "serve/api/views.h"

namespace weft::serve {

using control::EndedJob;
using control::Job;
using control::JobState;
using sched::Moment;

namespace {

constexpr Column::Align kRight = Column::Align::right;

Cell duration_cell(Duration duration) { return Cell(sched::seconds_of(duration), format_duration(duration)); }

std::string nodes_text(const sched::Machine& machine, const control::Attempt& attempt) {
  std::vector<std::string> names;
  for (const control::Part& part : attempt.parts) names.push_back(machine.node(part.node).name);
  return fold_hosts(std::move(names));
}

std::string tasks_text(const sched::Job& shape) {
  return shape.min_tasks > 0 && shape.min_tasks < shape.tasks ? fmt::format("{}:{}", shape.min_tasks, shape.tasks)
                                                              : std::to_string(shape.tasks);
}

// What a job waits for, or what happened to it last.
std::string note_of(const ViewContext& context, const Job& job) {
  if (job.cancel || job.held) return job.reason;
  if (job.state == JobState::queued && job.not_before > context.now) {
    return fmt::format("restarts in {}: {}", format_duration(job.not_before - context.now), job.reason);
  }
  if (job.current && job.current->cause != control::StopCause::none) return job.current->cause_text;
  return job.reason;
}

TableSection jobs_table() {
  TableSection table{"jobs", "", {}, {}};
  table.columns = {{"job", "Job", kRight},
                   {"name", "Name"},
                   {"user", "User"},
                   {"tenant", "Tenant", Column::Align::left, true},
                   {"state", "State"},
                   {"tasks", "Tasks", kRight},
                   {"gpus", "GPUs", kRight},
                   {"attempt", "Attempt", kRight},
                   {"submitted", "Submitted", kRight},
                   {"since", "Since", kRight},
                   {"nodes", "Nodes"},
                   {"note", "Note"}};
  return table;
}

std::vector<Cell> job_row(const ViewContext& context, const Job& job) {
  const sched::Job& shape = job.spec->shape;
  const bool runs = job.current && job.current->running != Moment();
  const std::int64_t gpus = shape.gpu_milli();
  return {job.number,
          shape.name,
          job.user,
          shape.tenant,
          shown_state(job),
          tasks_text(shape),
          Cell(static_cast<double>(gpus) / 1000.0, sched::text_of_gpus(gpus)),
          job.attempts,
          time_cell(job.submitted, context.now),
          time_cell(runs ? job.current->running : job.queued, context.now),
          job.current ? Cell(nodes_text(context.controller.state().machine(), *job.current)) : Cell(),
          note_of(context, job)};
}

std::vector<Cell> ended_row(const ViewContext& context, const EndedJob& job) {
  return {job.number,
          job.name,
          job.user,
          job.tenant,
          to_text(job.state),
          std::to_string(job.tasks),
          Cell(),
          job.attempts,
          time_cell(job.submitted, context.now),
          time_cell(job.ended, context.now),
          Cell(),
          job.reason};
}

// The program as submitted, without the script that weft puts before it (assets/serve/launch.sh); of a script only its
// length.
std::string command_text(const std::vector<std::string>& command) {
  const bool launched = command.size() > 4 && command[1] == "-c" && command[3] == "launch";
  std::vector<std::string> words;
  for (std::size_t i = launched ? 4 : 0; i < command.size(); ++i) {
    const bool is_script = contains(command[i], "\n");
    words.push_back(is_script ? fmt::format("(script of {} bytes)", command[i].size()) : shell_quote(command[i]));
  }
  return join(words, " ");
}

void add_checkpoint_facts(const ViewContext& context, const Job& job, FactsSection& facts) {
  const control::CheckpointPolicy& policy = job.spec->checkpoint;
  if (policy.volumes.empty()) return;
  facts.facts.push_back({"checkpoint_volumes", "Checkpoint volumes", join(policy.volumes, ", ")});
  if (job.checkpoint.empty()) {
    facts.facts.push_back({"checkpoint", "Last checkpoint", Cell()});
    return;
  }
  facts.facts.push_back({"checkpoint", "Last checkpoint", job.checkpoint});
  facts.facts.push_back({"checkpoint_step", "Its step", job.step});
  facts.facts.push_back({"checkpoint_time", "Written", time_cell(job.checkpointed, context.now)});
}

void add_attempt_facts(const ViewContext& context, const Job& job, FactsSection& facts) {
  const control::Attempt& attempt = *job.current;
  facts.facts.push_back({"nodes", "Nodes", nodes_text(context.controller.state().machine(), attempt)});
  facts.facts.push_back({"running_since", "Running since",
                         attempt.running == Moment() ? Cell() : time_cell(attempt.running, context.now)});
  if (attempt.chosen) {
    facts.facts.push_back({"restored", "Restored from", attempt.checkpoint.empty() ? "nothing" : attempt.checkpoint});
    if (!attempt.checkpoint.empty()) facts.facts.push_back({"restored_step", "Restored step", attempt.step});
  }
  if (attempt.cause != control::StopCause::none) {
    facts.facts.push_back({"stop", "Stops because", fmt::format("{}: {}", to_text(attempt.cause), attempt.cause_text)});
  }
}

FactsSection job_facts(const ViewContext& context, const Job& job) {
  const control::JobSpec& spec = *job.spec;
  FactsSection facts{"job", fmt::format("Job {}", job.number), {}};
  facts.facts = {
      {"job", "Job", job.number},
      {"name", "Name", spec.shape.name},
      {"user", "User", job.user},
      {"tenant", "Tenant", spec.shape.tenant},
      {"state", "State", shown_state(job)},
      {"reason", "Reason", note_of(context, job)},
      {"tasks", "Tasks", tasks_text(spec.shape)},
      {"gpus_per_task", "GPUs per task",
       Cell(static_cast<double>(spec.shape.task.gpu_total()) / 1000.0,
            sched::text_of_gpus(spec.shape.task.gpu_total()))},
      {"submitted", "Submitted", time_cell(job.submitted, context.now)},
      {"time_limit_s", "Time limit", spec.shape.limit == sched::kUnlimited ? Cell() : duration_cell(spec.shape.limit)},
      {"attempt", "Attempt", job.attempts},
      {"failures", "Failures",
       Cell(job.failures, fmt::format("{} of the application (held after {}), {} of "
                                      "nodes, {}",
                                      job.failures, spec.restart.max_failures + 1, job.node_failures,
                                      plural(job.preemptions, "preemption")))},
      {"node_failures", "Node failures", job.node_failures},
      {"preemptions", "Preemptions", job.preemptions}};
  add_checkpoint_facts(context, job, facts);
  if (job.drill) {
    facts.facts.push_back({"drill", "Last drill", describe(*job.drill, context.controller.state().machine())});
    facts.facts.push_back({"drill_result", "Its result", to_text(job.drill->result)});
  }
  if (job.current) add_attempt_facts(context, job, facts);
  if (context.access.may_change(spec.shape.tenant, job.user)) {  // a command line may contain secrets
    facts.facts.push_back({"command", "Command", command_text(spec.command)});
    facts.facts.push_back({"directory", "Directory", spec.directory});
    if (!spec.output.empty()) facts.facts.push_back({"output", "Output", spec.output});
  }
  return facts;
}

TableSection parts_table(const ViewContext& context, const control::Attempt& attempt) {
  TableSection table{"parts", fmt::format("Attempt {} per node", attempt.number), {}, {}};
  table.columns = {
      {"node", "Node"}, {"tasks", "Tasks"}, {"state", "State"}, {"exit", "Exit", kRight}, {"text", "Note"}};
  for (const control::Part& part : attempt.parts) {
    std::vector<std::string> tasks;
    for (std::size_t task = 0; task < attempt.slots.size(); ++task) {
      if (attempt.slots[task].node == part.node) tasks.push_back(std::to_string(task));
    }
    const std::string_view state = part.sealed ? to_text(part.end) : (part.running ? "running" : "not seen yet");
    table.rows.push_back({context.controller.state().machine().node(part.node).name, join(tasks, ","), state,
                          part.sealed && part.end == control::PartEnd::exited ? Cell(part.code) : Cell(), part.text});
  }
  return table;
}

Document ended_view(const ViewContext& context, const EndedJob& job) {
  Document document;
  document.kind = "job";
  FactsSection facts{"job", fmt::format("Job {}", job.number), {}};
  facts.facts = {
      {"job", "Job", job.number},
      {"name", "Name", job.name},
      {"user", "User", job.user},
      {"tenant", "Tenant", job.tenant},
      {"state", "State", to_text(job.state)},
      {"reason", "Reason", job.reason},
      {"exit", "Exit status", job.code},
      {"tasks", "Tasks", std::to_string(job.tasks)},
      {"attempt", "Attempt", job.attempts},
      {"submitted", "Submitted", time_cell(job.submitted, context.now)},
      {"first_start", "First start", job.first_start == Moment() ? Cell() : time_cell(job.first_start, context.now)},
      {"ended", "Ended", time_cell(job.ended, context.now)}};
  if (!job.drill.empty()) facts.facts.push_back({"drill", "Last drill", job.drill});
  document.sections.emplace_back(std::move(facts));
  return document;
}

// Why a job that is not waiting for the scheduler does not run.
Document plain_reason(const Job& job, std::string sentence) {
  Document document;
  document.kind = "job-why";
  FactsSection facts{"job", fmt::format("Job {}", job.number), {}};
  facts.facts = {{"job", "Job", job.number},
                 {"name", "Name", job.spec->shape.name},
                 {"state", "State", shown_state(job)},
                 {"sentence", "Why", std::move(sentence)}};
  document.sections.emplace_back(std::move(facts));
  return document;
}

}  // namespace

bool is_visible(const Job& job, const access::Access& access) { return access.sees(job.spec->shape.tenant, job.user); }

VisibleJob find_visible(const control::ControlState& state, const access::Access& access, control::JobNumber number) {
  // For a number that was never given to a job, another job is looked up and compared, anywhere among all: what differs
  // otherwise is whether the memory is in a cache of the processor, which the time shows.
  static const std::string kNoUser = "-";
  const control::JobNumber last = std::max<control::JobNumber>(1, state.last_job());
  const control::JobNumber probe = number <= last ? number : 1 + (number * 0x9E3779B97F4A7C15U >> 20U) % last;
  const Job* job = state.find_job(probe);
  const EndedJob* ended = state.find_ended(probe);
  const bool sees_job =
      access.sees(job != nullptr ? job->spec->shape.tenant : kNoUser, job != nullptr ? job->user : kNoUser);
  const bool sees_ended =
      access.sees(ended != nullptr ? ended->tenant : kNoUser, ended != nullptr ? ended->user : kNoUser);
  const bool exists = probe == number;
  return {exists && sees_job ? job : nullptr, exists && sees_ended ? ended : nullptr};
}

sched::Audience audience_of(const access::Access& access) {
  if (access.sees_everything()) return {};
  return {[&access](const sched::Job& job) { return access.sees(job.tenant, job.user); },
          [&access](std::string_view tenant) { return access.sees_tenant(tenant); }};
}

std::string utc_text(Moment at) { return format_utc_seconds(at.count() / 1'000'000); }

Cell time_cell(Moment at, Moment now) {
  const Duration age = now - at;
  return Cell(utc_text(at), age.count() < 0 ? utc_text(at) : fmt::format("{} ago", format_duration(age)));
}

std::string shown_state(const Job& job) {
  if (job.cancel) return "canceling";
  if (job.held && job.state == JobState::queued) return "held";
  return std::string(to_text(job.state));
}

Document jobs_view(const ViewContext& context, const JobFilter& filter) {
  Document document;
  document.kind = "jobs";
  TableSection table = jobs_table();
  const control::ControlState& state = context.controller.state();
  const auto wanted = [&](const std::string& user, std::string_view shown) {
    return (filter.user.empty() || filter.user == user) && (filter.state.empty() || filter.state == shown);
  };
  for (const auto& [number, job] : state.jobs()) {
    if (is_visible(job, context.access) && wanted(job.user, shown_state(job)))
      table.rows.push_back(job_row(context, job));
  }
  std::size_t left = 0;
  if (filter.ended) {
    std::vector<const EndedJob*> ended;
    for (const EndedJob& job : state.ended()) {
      if (context.access.sees(job.tenant, job.user) && wanted(job.user, to_text(job.state))) ended.push_back(&job);
    }
    std::sort(ended.begin(), ended.end(), [](const auto* a, const auto* b) { return a->number > b->number; });
    left = ended.size() - std::min(filter.limit, ended.size());
    ended.resize(std::min(filter.limit, ended.size()));
    for (const EndedJob* job : ended) table.rows.push_back(ended_row(context, *job));
  }
  if (table.rows.empty())
    document.notes.push_back(filter.ended ? "No jobs." : "No jobs that have not ended (--all shows those too).");
  if (left > 0) document.notes.push_back(fmt::format("{} more jobs have ended (--limit).", left));
  document.sections.emplace_back(std::move(table));
  return document;
}

std::optional<Document> job_view(const ViewContext& context, control::JobNumber number) {
  const auto [job, ended] = find_visible(context.controller.state(), context.access, number);
  if (job != nullptr) {
    Document document;
    document.kind = "job";
    document.sections.emplace_back(job_facts(context, *job));
    if (job->current) document.sections.emplace_back(parts_table(context, *job->current));
    return document;
  }
  if (ended == nullptr) return std::nullopt;
  return ended_view(context, *ended);
}

std::optional<Document> why_view(const ViewContext& context, control::JobNumber number) {
  const auto [job, ended] = find_visible(context.controller.state(), context.access, number);
  if (job == nullptr) {
    if (ended == nullptr) return std::nullopt;
    return ended_view(context, *ended);
  }
  const sched::Scheduler& scheduler = context.controller.scheduler();
  if (job->held)
    return plain_reason(*job, fmt::format("held: {}; `weft job release {}` lets it start", job->reason, number));
  if (job->state == JobState::queued && job->not_before > context.now) {
    return plain_reason(*job, note_of(context, *job));
  }
  const std::optional<sched::JobId> id = context.controller.scheduler_id(number);
  if (!id) return plain_reason(*job, note_of(context, *job));
  if (job->state == JobState::queued) {
    sched::ExplainOptions options;
    options.audience = audience_of(context.access);
    Document document = sched::explanation_view(scheduler, sched::explain(scheduler, *id, context.now, options),
                                                sched::TimeOrigin::epoch);
    document.kind = "job-why";
    return document;
  }
  if (scheduler.record(*id).phase != sched::JobPhase::running) return plain_reason(*job, note_of(context, *job));
  Document document =
      sched::placement_view(scheduler, sched::explain_placement(scheduler, *id, sched::demand_of(scheduler)));
  document.kind = "job-why";
  return document;
}

}  // namespace weft::serve
