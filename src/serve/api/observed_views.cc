#include "serve/api/observed_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/human_format.h"
#include "base/text.h"
#include "control/stages.h"
#include "world/core/observed_wait.h"

namespace weft::serve {

using world::ObservedCluster;
using world::ObservedJob;
using world::ObservedNode;
using world::ObservedPhase;

namespace {

constexpr Column::Align kAlignRight = Column::Align::right;
constexpr std::size_t kMaxShownAhead = 20;

sched::Moment moment_of(std::int64_t seconds) { return sched::Moment(seconds * 1'000'000'000); }

Cell engine_time(const ViewContext& context, std::int64_t seconds) {
  return seconds == 0 ? Cell() : time_cell(moment_of(seconds), context.now);
}

Cell future_time(std::int64_t seconds) { return seconds == 0 ? Cell() : Cell(utc_text(moment_of(seconds))); }

Cell limit_cell(const ObservedJob& job) {
  if (job.limit == 0) return {};
  return Cell(job.limit, format_duration(sched::seconds(job.limit)));
}

// A reason says why a job waits or how it ended; for a running one it is "None".
std::string note_of(const ObservedJob& job) {
  if (job.phase == ObservedPhase::running || job.reason == "None") return {};
  return job.reason_text.empty() ? job.reason : job.reason_text;
}

void add_age_note(const ViewContext& context, Document& document) {
  const world::Observation& observation = *context.observed;
  if (observation.problem.empty()) return;
  document.notes.push_back(fmt::format("{} does not answer ({}): this is what it showed {} ago.",
                                       observation.cluster->engine, observation.problem,
                                       format_duration(context.now - observation.cluster->observed)));
}

// Order of people: what runs, then what waits by priority, then what ended.
std::vector<const ObservedJob*> sort_jobs(const ObservedCluster& cluster) {
  std::vector<const ObservedJob*> jobs;
  jobs.reserve(cluster.jobs.size());
  for (const ObservedJob& job : cluster.jobs) jobs.push_back(&job);
  const auto rank = [](const ObservedJob& job) {
    return job.phase == ObservedPhase::running ? 0 : job.phase == ObservedPhase::ended ? 2 : 1;
  };
  std::stable_sort(jobs.begin(), jobs.end(), [&](const ObservedJob* a, const ObservedJob* b) {
    if (rank(*a) != rank(*b)) return rank(*a) < rank(*b);
    if (a->phase == ObservedPhase::waiting && a->priority != b->priority) return a->priority > b->priority;
    return a->submitted < b->submitted;
  });
  return jobs;
}

Column queue_column(const ObservedCluster& cluster) {
  if (cluster.engine == "Kubernetes") return {"namespace", "Namespace"};
  return {"partition", "Partition"};
}

Fact queue_fact(const ViewContext& context, const ObservedJob& job) {
  const Column column = queue_column(*context.observed->cluster);
  return {column.key, column.title, job.queue};
}

FactsSection facts_of(const ViewContext& context, const ObservedJob& job) {
  FactsSection facts{"job", fmt::format("Job {}", job.id), {}};
  facts.facts = {{"job", "Job", job.id},
                 {"name", "Name", job.name},
                 {"user", "User", job.user},
                 {"account", context.observed->cluster->engine == "Kubernetes" ? "Owner" : "Account", job.account},
                 queue_fact(context, job),
                 {"qos", "QOS", job.qos},
                 {"state", "State", job.state},
                 {"reason", "Reason", note_of(job)},
                 {"priority", "Priority", job.priority},
                 {"tasks", "Tasks", job.tasks},
                 {"node_count", "Number of nodes", job.node_count},
                 {"cpus", "CPUs", job.cpus},
                 {"gpus", "GPUs", job.gpus},
                 {"nodes", "Nodes", job.nodes},
                 {"submitted", "Submitted", engine_time(context, job.submitted)}};
  const bool started = job.phase != ObservedPhase::waiting;
  facts.facts.push_back({"started", "Started", started ? engine_time(context, job.started) : Cell()});
  if (job.phase == ObservedPhase::running) facts.facts.push_back({"ends", "Ends by", future_time(job.ends)});
  if (job.phase == ObservedPhase::ended) {
    facts.facts.push_back({"ended", "Ended", engine_time(context, job.ends)});
    facts.facts.push_back({"exit_status", "Exit status", job.exit_status >> 8});
  }
  facts.facts.push_back({"time_limit_s", "Time limit", limit_cell(job)});
  facts.facts.push_back({"restarts", "Restarts", job.restarts});
  if (!job.required_nodes.empty()) facts.facts.push_back({"required_nodes", "Asks for nodes", job.required_nodes});
  if (!job.excluded_nodes.empty()) facts.facts.push_back({"excluded_nodes", "Excludes nodes", job.excluded_nodes});
  if (!job.dependency.empty()) facts.facts.push_back({"dependency", "Depends on", job.dependency});
  facts.facts.push_back({"observed", "Observed", time_cell(context.observed->cluster->observed, context.now)});
  return facts;
}

TableSection ahead_table(const world::WaitFacts& wait) {
  TableSection table{"ahead", "Jobs ahead of it", {}, {}};
  table.columns = {{"job", "Job"},
                   {"name", "Name"},
                   {"user", "User"},
                   {"priority", "Priority", kAlignRight},
                   {"node_count", "Nodes", kAlignRight},
                   {"gpus", "GPUs", kAlignRight},
                   {"reason", "Reason"}};
  for (std::size_t i = 0; i < std::min(wait.ahead.size(), kMaxShownAhead); ++i) {
    const ObservedJob& job = *wait.ahead[i];
    table.rows.push_back({job.id, job.name, job.user, job.priority, job.node_count, job.gpus, note_of(job)});
  }
  return table;
}

TableSection out_of_service_table(const world::WaitFacts& wait, bool all) {
  TableSection table{"out_of_service", "Nodes that it may use and that are out of service", {}, {}};
  table.columns = {{"node", "Node"}, {"state", "State"}, {"why", "Why"}};
  for (const ObservedNode* node : wait.out_of_service) {
    table.rows.push_back(
        {node->name, all ? Cell(node->state) : Cell("out of service"), all ? Cell(node->out_of_service) : Cell()});
  }
  return table;
}

void add_wait(const ViewContext& context, const ObservedJob& job, Document& document, FactsSection& facts) {
  const ObservedCluster& cluster = *context.observed->cluster;
  const bool all = context.access.sees_everything();
  const world::SeesObserved sees =
      all ? world::SeesObserved()
          : world::SeesObserved([&](const ObservedJob& other) { return is_visible(other, context); });
  const world::WaitFacts wait = explain_wait(cluster, job, sees);
  facts.facts.push_back({"engine_reason", cluster.engine + "'s reason", job.reason});
  if (!job.reason_text.empty()) facts.facts.push_back({"engine_text", "It says", job.reason_text});
  facts.facts.push_back({"sentence", "Why", wait.sentence});
  facts.facts.push_back({"nodes_wanted", "Nodes asked for", job.node_count});
  facts.facts.push_back({"gpus_wanted", "GPUs asked for", job.gpus});
  facts.facts.push_back({"candidate_nodes", "Nodes that it may use", wait.candidates});
  facts.facts.push_back({"fitting_nodes", "With its CPUs and GPUs free", wait.fitting});
  facts.facts.push_back(
      {"free_gpus", "GPUs free", Cell(wait.free_gpus, fmt::format("{} of {}", wait.free_gpus, wait.queue_gpus))});
  // Its position in the queue would count the jobs of others.
  facts.facts.push_back({"ahead_count", "Jobs ahead of it", all ? Cell(wait.ahead.size()) : Cell()});
  facts.facts.push_back({"enough_nodes_at", "Enough nodes free by", future_time(wait.enough_at)});
  facts.facts.push_back(
      {"engine_start", fmt::format("{} expects its start", cluster.engine), future_time(job.started)});
  document.sections.emplace_back(std::move(facts));
  if (!wait.ahead.empty()) document.sections.emplace_back(ahead_table(wait));
  if (!wait.out_of_service.empty()) document.sections.emplace_back(out_of_service_table(wait, all));
  if (wait.enough_at != 0) {
    document.notes.emplace_back(
        "\"Enough nodes free by\" follows from the time limits of running jobs; jobs ahead of it may use them first.");
  }
}

const ObservedJob* find_visible_job(const ViewContext& context, std::string_view id) {
  static const ObservedJob kNone;  // compared in place of a job that does not exist: the time is the same
  const ObservedJob* job = context.observed->cluster->find_job(id);
  const bool visible = is_visible(job != nullptr ? *job : kNone, context);
  return visible ? job : nullptr;
}

}  // namespace

Document observed_jobs_view(const ViewContext& context, const JobFilter& filter) {
  Document document;
  document.kind = "jobs";
  TableSection table{"jobs", "", {}, {}};
  table.columns = {{"job", "Job"},
                   {"name", "Name"},
                   {"user", "User"},
                   {"account", "Account", Column::Align::left, true},
                   queue_column(*context.observed->cluster),
                   {"state", "State"},
                   {"node_count", "Nodes", kAlignRight},
                   {"gpus", "GPUs", kAlignRight},
                   {"priority", "Priority", kAlignRight, true},
                   {"submitted", "Submitted", kAlignRight},
                   {"started", "Started", kAlignRight},
                   {"nodes", "Where"},
                   {"note", "Reason"}};
  std::size_t ended = 0;
  std::size_t left = 0;
  for (const ObservedJob* job : sort_jobs(*context.observed->cluster)) {
    if (!is_visible(*job, context)) continue;
    if (!filter.user.empty() && job->user != filter.user) continue;
    if (!filter.state.empty() && job->state != filter.state) continue;
    if (job->phase == ObservedPhase::ended && !filter.ended && filter.state.empty()) continue;
    if (job->phase == ObservedPhase::ended && ++ended > filter.limit) {
      ++left;
      continue;
    }
    const bool waits = job->phase == ObservedPhase::waiting;
    table.rows.push_back({job->id, job->name, job->user, job->account, job->queue, job->state, job->node_count,
                          job->gpus, job->priority, engine_time(context, job->submitted),
                          waits ? Cell() : engine_time(context, job->started), job->nodes, note_of(*job)});
  }
  if (table.rows.empty()) document.notes.push_back("No jobs.");
  if (left > 0) document.notes.push_back(fmt::format("{} more jobs have ended (--limit).", left));
  add_age_note(context, document);
  document.sections.emplace_back(std::move(table));
  return document;
}

std::optional<Document> observed_job_view(const ViewContext& context, std::string_view id) {
  const ObservedJob* job = find_visible_job(context, id);
  if (job == nullptr) return std::nullopt;
  Document document;
  document.kind = "job";
  document.sections.emplace_back(facts_of(context, *job));
  add_age_note(context, document);
  return document;
}

std::optional<Document> observed_why_view(const ViewContext& context, std::string_view id) {
  const ObservedJob* job = find_visible_job(context, id);
  if (job == nullptr) return std::nullopt;
  Document document;
  document.kind = "job-why";
  if (job->phase != ObservedPhase::waiting) {
    FactsSection facts = facts_of(context, *job);
    const std::string& engine = context.observed->cluster->engine;
    facts.facts.push_back({"sentence", "Why",
                           job->phase == ObservedPhase::running
                               ? fmt::format("{} runs it on {}", engine, job->nodes.empty() ? "its nodes" : job->nodes)
                               : fmt::format("{} shows it as {}", engine, job->state)});
    document.sections.emplace_back(std::move(facts));
  } else {
    FactsSection facts{"job", fmt::format("Job {}", job->id), {}};
    facts.facts = {{"job", "Job", job->id}, {"name", "Name", job->name}, {"state", "State", job->state}};
    add_wait(context, *job, document, facts);
  }
  add_age_note(context, document);
  return document;
}

Document observed_queue_view(const ViewContext& context, std::size_t limit) {
  const ObservedCluster& cluster = *context.observed->cluster;
  Document document;
  document.kind = "queue";
  TableSection waiting{"queue", "Waiting jobs, by priority", {}, {}};
  waiting.columns = {{"job", "Job"},
                     {"name", "Name"},
                     {"user", "User"},
                     queue_column(cluster),
                     {"priority", "Priority", kAlignRight},
                     {"node_count", "Nodes", kAlignRight},
                     {"gpus", "GPUs", kAlignRight},
                     {"submitted", "Submitted", kAlignRight},
                     {"engine_start", "Expected start"},
                     {"reason", "Reason"}};
  std::size_t count = 0;
  for (const ObservedJob* job : sort_jobs(cluster)) {
    if (job->phase != ObservedPhase::waiting || !is_visible(*job, context) || ++count > limit) continue;
    waiting.rows.push_back({job->id, job->name, job->user, job->queue, job->priority, job->node_count, job->gpus,
                            engine_time(context, job->submitted), future_time(job->started), note_of(*job)});
  }
  if (count == 0) document.notes.emplace_back("No jobs wait.");
  if (count > limit) document.notes.push_back(fmt::format("{} more jobs wait (--limit).", count - limit));
  document.sections.emplace_back(std::move(waiting));
  struct Use {
    std::uint32_t nodes = 0, usable = 0, idle = 0, gpus = 0, free_gpus = 0;
  };
  std::map<std::string, Use> partitions;
  for (const ObservedNode& node : cluster.nodes) {
    for (const std::string& queue : node.queues) {
      Use& use = partitions[queue];
      ++use.nodes;
      use.gpus += node.gpus;
      if (!node.usable) continue;
      ++use.usable;
      use.idle += node.jobs.empty() ? 1U : 0U;
      use.free_gpus += node.gpus - std::min(node.gpus, node.gpus_used);
    }
  }
  TableSection table{"partitions", "Partitions", {}, {}};
  table.columns = {{"partition", "Partition"},
                   {"nodes", "Nodes", kAlignRight},
                   {"usable_nodes", "In service", kAlignRight},
                   {"idle_nodes", "Without jobs", kAlignRight},
                   {"gpus", "GPUs", kAlignRight},
                   {"free_gpus", "Free GPUs", kAlignRight}};
  for (const auto& [name, use] : partitions) {
    table.rows.push_back({name, use.nodes, use.usable, use.idle, use.gpus, use.free_gpus});
  }
  if (!table.rows.empty()) document.sections.emplace_back(std::move(table));
  add_age_note(context, document);
  return document;
}

const ObservedNode* find_observed_node(const ViewContext& context, const std::string& name) {
  const bool known = context.observed != nullptr && context.observed->cluster != nullptr;
  return known ? context.observed->cluster->find_node(name) : nullptr;
}

bool is_visible(const ObservedJob& job, const ViewContext& context) {
  const bool has_namespaces = context.observed->cluster->engine == "Kubernetes";
  return context.access.sees(has_namespaces ? job.queue : job.account, job.user);
}

std::uint32_t observed_gpus_used(const ViewContext& context, const ObservedNode& node) {
  if (context.access.sees_everything()) return node.gpus_used;
  std::uint32_t used = 0;
  for (const std::uint32_t j : node.jobs) {
    const ObservedJob& job = context.observed->cluster->jobs[j];
    if (is_visible(job, context)) used += job.gpus_per_node;
  }
  return std::min(used, node.gpus);
}

std::string observed_jobs_text(const ViewContext& context, const ObservedNode& node) {
  std::vector<std::string> jobs;
  for (const std::uint32_t j : node.jobs) {
    const ObservedJob& job = context.observed->cluster->jobs[j];
    if (is_visible(job, context)) jobs.push_back(job.id);
  }
  return join(jobs, ", ");
}

void add_watch_facts(const ViewContext& context, const ServerFacts& server, FactsSection& facts) {
  facts.facts.push_back({"mode", "Mode", context.observed == nullptr ? "drive" : "watch"});
  if (context.observed == nullptr) return;
  facts.facts.push_back({"enabled", "Enabled", server.enabled.empty() ? "nothing" : server.enabled});
  const ObservedCluster* cluster = context.observed->cluster.get();
  facts.facts.push_back(
      {"observed", "Observed", cluster == nullptr ? Cell() : time_cell(cluster->observed, context.now)});
  facts.facts.push_back(
      {"engine_problem", "Engine", context.observed->problem.empty() ? "answers" : context.observed->problem});
  std::size_t running = 0;
  std::size_t waiting = 0;
  for (const ObservedJob& job : cluster == nullptr ? std::vector<ObservedJob>() : cluster->jobs) {
    running += job.phase == ObservedPhase::running ? 1U : 0U;
    waiting += job.phase == ObservedPhase::waiting ? 1U : 0U;
  }
  facts.facts.push_back({"running_jobs", "Jobs that run", running});
  facts.facts.push_back({"waiting_jobs", "Jobs that wait", waiting});
}

void add_proposals(const ViewContext& context, Document& document) {
  if (!context.access.sees_everything()) return;  // advice for operators: its reasons name jobs and people
  const control::ControlState& state = context.controller.state();
  TableSection table{"proposals", "What weft would do", {}, {}};
  table.columns = {{"node", "Node"}, {"stage", "Stage"}, {"since", "Since", kAlignRight}, {"reason", "Reason"}};
  for (std::uint32_t n = 0; n < state.node_count(); ++n) {
    const auto& proposal = state.node(sched::NodeId{n}).proposal;
    if (!proposal) continue;
    table.rows.push_back({state.machine().node(sched::NodeId{n}).name, to_text(proposal->stage),
                          time_cell(proposal->at, context.now), proposal->reason});
  }
  if (table.rows.empty()) return;
  document.sections.emplace_back(std::move(table));
}

void add_proposal_facts(const ViewContext& context, sched::NodeId node, FactsSection& facts) {
  const auto& proposal = context.controller.state().node(node).proposal;
  if (!proposal || !context.access.sees_everything()) return;
  facts.facts.push_back({"proposal", "weft would", verb_of(proposal->stage)});
  facts.facts.push_back({"proposal_stage", "Stage to enable", to_text(proposal->stage)});
  facts.facts.push_back({"proposal_reason", "Because", proposal->reason});
  facts.facts.push_back({"proposal_since", "Proposed", time_cell(proposal->at, context.now)});
}

}  // namespace weft::serve
