#include "sched/explain/view.h"

#include <fmt/format.h>

#include <cmath>

#include "base/human_format.h"

namespace weft::sched {
namespace {

constexpr Column::Align kRight = Column::Align::right;

// The time at which a view is taken.
struct ViewTime {
  Moment now{};
  TimeOrigin origin = TimeOrigin::trace;
};

std::string text_of_moment(Moment at, TimeOrigin origin) {
  if (origin == TimeOrigin::trace) return fmt::format("{:.0f} s", at.seconds());
  return format_utc_seconds(at.count() / 1'000'000);
}

// Seconds since the origin, and for people the time from now.
Cell moment_cell(Moment at, const ViewTime& time) {
  if (at == kNever) return {};
  return Cell(at.seconds(), fmt::format("{} (at {})", text_of_wait(at, time.now), text_of_moment(at, time.origin)));
}

Cell start_cell(Moment at, Known known, const ViewTime& time) {
  if (at != kNever) return moment_cell(at, time);
  Cell cell;
  cell.shown =
      known == Known::never ? "never" : (known == Known::unlimited ? "unknown: no time limits" : "beyond the forecast");
  return cell;
}

Cell gpus_cell(std::int64_t gpu_milli) {
  return Cell(static_cast<double>(gpu_milli) / 1000.0, text_of_gpus(gpu_milli));
}

Cell percent_cell(double share) { return Cell(share, format_percent(share, 1)); }

TableSection blockers_table(const Scheduler& scheduler, const std::vector<Blocker>& blockers, const ViewTime& time) {
  TableSection table{"waits_on", "Waits for", {}, {}};
  table.columns = {
      {"job", "Job"}, {"tenant", "Tenant"}, {"state", "State"}, {"gpus", "GPUs", kRight}, {"until_s", "Until", kRight}};
  for (const Blocker& blocker : blockers) {
    if (!blocker.job) {
      table.rows.push_back({kForeignJobs, Cell(), blocker.waiting ? "queued ahead" : "running", Cell(), Cell()});
      continue;
    }
    const Job& job = scheduler.record(*blocker.job).job;
    table.rows.push_back({job.name, job.tenant, blocker.waiting ? "queued ahead" : "running",
                          gpus_cell(blocker.gpu_milli), moment_cell(blocker.ends, time)});
  }
  return table;
}

TableSection changes_table(const Explanation& explanation, const ViewTime& time) {
  TableSection table{"changes", "Changes that would start it sooner (each was simulated)", {}, {}};
  table.columns = {{"kind", "Kind", Column::Align::left, true},
                   {"what", "Change"},
                   {"from", "From"},
                   {"to", "To"},
                   {"starts_s", "Starts", kRight},
                   {"note", "Note"},
                   {"victims", "Preempts", kRight, true},
                   {"planned", "Planned", Column::Align::left, true}};
  for (const Change& change : explanation.changes) {
    table.rows.push_back({to_text(change.kind), change.what, change.from, change.to, moment_cell(change.starts, time),
                          change.note, change.foreign_victims ? Cell() : Cell(change.victims.size()), change.planned});
  }
  return table;
}

std::vector<Cell> score_row(const std::string& how, const PlacementScore& score) {
  const auto count = [&](Level level) { return Cell(score.domains[static_cast<std::size_t>(level)]); };
  return {how,
          to_text(score.level),
          count(Level::node),
          count(Level::nvlink),
          count(Level::rack),
          count(Level::leaf),
          count(Level::pod),
          score.rails_aligned,
          percent_cell(score.fragmentation)};
}

std::string blocker_names(const Scheduler& scheduler, const std::vector<Blocker>& blockers) {
  std::string names;
  for (const Blocker& blocker : blockers) {
    names += names.empty() ? "" : ", ";
    names += blocker.job ? scheduler.record(*blocker.job).job.name : std::string(kForeignJobs);
  }
  return names;
}

}  // namespace

Document explanation_view(const Scheduler& scheduler, const Explanation& explanation, TimeOrigin origin) {
  const ViewTime time{explanation.now, origin};
  const Job& job = scheduler.record(explanation.job).job;
  Document document;
  document.kind = "sched-explain";
  FactsSection facts{"job", "Job " + job.name, {}};
  facts.facts = {{"name", "Name", job.name},
                 {"tenant", "Tenant", job.tenant},
                 {"asks", "Requests", fmt::format("{} x {} GPUs", job.tasks, text_of_gpus(job.task.gpu_total()))},
                 {"now_s", "Now", Cell(explanation.now.seconds(), text_of_moment(explanation.now, origin))},
                 {"reason", "Reason", to_text(explanation.reason)},
                 {"sentence", "Why", explanation.sentence}};
  if (explanation.reason != Reason::none) {
    facts.facts.push_back({"expected_s", "Starts", start_cell(explanation.expected, explanation.known, time)});
    facts.facts.push_back({"known", "Basis", to_text(explanation.known)});
  }
  document.sections.emplace_back(std::move(facts));
  if (!explanation.blockers.empty()) {
    document.sections.emplace_back(blockers_table(scheduler, explanation.blockers, time));
  }
  if (explanation.reason == Reason::none) return document;
  if (!explanation.changes.empty()) {
    document.sections.emplace_back(changes_table(explanation, time));
  } else {
    document.notes.push_back("No single change starts the job now or halves its wait.");
  }
  return document;
}

Document placement_view(const Scheduler& scheduler, const PlacementExplanation& explanation) {
  const JobRecord& record = scheduler.record(explanation.job);
  Document document;
  document.kind = "sched-placement";
  FactsSection facts{"job", "Job " + record.job.name, {}};
  facts.facts = {{"name", "Name", record.job.name},
                 {"tenant", "Tenant", record.job.tenant},
                 {"tasks", "Tasks", record.running_tasks()},
                 {"charge", "Charged as", to_text(record.charge)},
                 {"sentence", "Placement", explanation.sentence},
                 {"fragmentation_before", "Fragmentation without it", percent_cell(explanation.fragmentation_before)}};
  document.sections.emplace_back(std::move(facts));
  TableSection table{"places", "Its placement and alternatives", {}, {}};
  table.columns = {{"how", "Placement"},
                   {"level", "Within one"},
                   {"nodes", "Nodes", kRight},
                   {"nvlink", "NVLink domains", kRight},
                   {"racks", "Racks", kRight},
                   {"leaves", "Leaf groups", kRight},
                   {"pods", "Pods", kRight},
                   {"rails_aligned", "Rails aligned"},
                   {"fragmentation", "Fragmentation", kRight}};
  table.rows.push_back(score_row("current", explanation.chosen));
  for (const PlacementChoice& other : explanation.alternatives) table.rows.push_back(score_row(other.how, other.score));
  document.sections.emplace_back(std::move(table));
  return document;
}

Document status_view(const Scheduler& scheduler, const ClusterStatus& status, TimeOrigin origin) {
  const ViewTime time{status.now, origin};
  Document document;
  document.kind = "sched-status";
  const double up = static_cast<double>(status.up_gpu_milli);
  FactsSection facts{"cluster", "Cluster", {}};
  facts.facts = {{"now_s", "At", Cell(status.now.seconds(), text_of_moment(status.now, origin))},
                 {"nodes", "Nodes", status.nodes},
                 {"nodes_down", "Nodes down", status.nodes_down},
                 {"nodes_spare", "Nodes spare", status.nodes_spare},
                 {"running", "Jobs running", status.running},
                 {"waiting", "Jobs waiting", status.waiting},
                 {"used_gpus", "GPUs in use", gpus_cell(status.used_gpu_milli)},
                 {"up_gpus", "GPUs up", gpus_cell(status.up_gpu_milli)},
                 {"down_gpus", "GPUs down", gpus_cell(status.down_gpu_milli)},
                 {"spare_gpus", "GPUs spare", gpus_cell(status.spare_gpu_milli)},
                 {"utilisation",  // JSON key (words: allow)
                  "Utilization", percent_cell(up > 0 ? static_cast<double>(status.used_gpu_milli) / up : 0)},
                 {"fragmentation", "Unusable idle GPUs", percent_cell(status.fragmentation.total)}};
  document.sections.emplace_back(std::move(facts));

  TableSection parts{"fragmentation", "Fragmentation of idle GPUs", {}, {}};
  parts.columns = {{"level", "Level"}, {"share", "Of idle GPUs", kRight}};
  parts.rows.push_back({"gpu", percent_cell(status.fragmentation.gpu)});
  for (std::size_t level = 0; level < kLevels; ++level) {
    const auto at = static_cast<Level>(level);
    if (at != Level::node && at != Level::cluster && !scheduler.machine().distinct(at)) continue;
    parts.rows.push_back({to_text(at), percent_cell(status.fragmentation.at[level])});
  }
  document.sections.emplace_back(std::move(parts));

  TableSection reasons{"reasons", "Waiting jobs by reason", {}, {}};
  reasons.columns = {
      {"reason", "Reason"}, {"jobs", "Jobs", kRight}, {"gpus", "GPUs", kRight}, {"longest_s", "Longest wait", kRight}};
  for (const ReasonCount& count : status.reasons) {
    reasons.rows.push_back({to_text(count.reason), count.jobs, gpus_cell(count.gpu_milli),
                            Cell(seconds_of(count.longest), text_of_duration(count.longest))});
  }
  document.sections.emplace_back(std::move(reasons));

  TableSection tenants{"tenants", "Tenants", {}, {}};
  tenants.columns = {{"tenant", "Tenant"},
                     {"cohort", "Cohort"},
                     {"quota_gpus", "Quota GPUs", kRight},
                     {"used_gpus", "Used", kRight},
                     {"borrowed_gpus", "Borrowed", kRight},
                     {"lent_gpus", "Lent", kRight},
                     {"running", "Running", kRight},
                     {"waiting", "Waiting", kRight},
                     {"waiting_gpus", "Waiting GPUs", kRight}};
  for (const TenantStatus& tenant : status.tenants) {
    const bool limited = tenant.limited && tenant.quota.gpu_milli < kNoLimit;
    tenants.rows.push_back({tenant.name, tenant.cohort, limited ? gpus_cell(tenant.quota.gpu_milli) : Cell(),
                            gpus_cell(tenant.used.gpu_milli), gpus_cell(tenant.borrowed_gpu_milli),
                            gpus_cell(tenant.lent_gpu_milli), tenant.running, tenant.waiting,
                            gpus_cell(tenant.waiting_gpu_milli)});
  }
  document.sections.emplace_back(std::move(tenants));

  TableSection queue{"queue", "Queue", {}, {}};
  queue.columns = {{"job", "Job"},
                   {"tenant", "Tenant"},
                   {"gpus", "GPUs", kRight},
                   {"reason", "Reason"},
                   {"expected_s", "Starts", kRight},
                   {"known", "Basis", Column::Align::left, true},
                   {"sentence", "Why"},
                   {"waits_on", "Waits for"}};
  for (const QueueEntry& entry : status.queue) {
    const Job& job = scheduler.record(entry.job).job;
    queue.rows.push_back({job.name, job.tenant, gpus_cell(job.gpu_milli()), to_text(entry.reason),
                          start_cell(entry.expected, entry.known, time), to_text(entry.known), entry.sentence,
                          blocker_names(scheduler, entry.waits_on)});
  }
  document.sections.emplace_back(std::move(queue));
  if (status.queued > status.queue.size()) {
    document.notes.push_back(fmt::format("{} more jobs are waiting.", status.queued - status.queue.size()));
  }
  return document;
}

}  // namespace weft::sched
