// The result of a review as tables: incidents, nodes, and why nothing was said about some jobs.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "health/core/explain.h"
#include "health/intake/review.h"

namespace weft::health {
namespace {

std::string format_moment(sched::Moment at) { return format_utc_seconds(at.count() / 1'000'000); }

std::string describe_plan(const std::vector<Action>& plan) {
  std::string out;
  for (const Action action : plan) out += fmt::format("{}{}", out.empty() ? "" : ", then ", verb_of(action));
  return out;
}

std::string list_findings(const Incident& incident) {
  std::vector<const Finding*> worst;
  for (const Finding& each : incident.findings) worst.push_back(&each);
  std::stable_sort(worst.begin(), worst.end(),
                   [](const Finding* a, const Finding* b) { return a->rule->severity > b->rule->severity; });
  std::string out;
  for (const Finding* each : worst) out += fmt::format("{}{}", out.empty() ? "" : "; ", describe(*each));
  return out;
}

}  // namespace

TableSection Review::incident_table() const {
  TableSection table{"incidents", "Incidents", {}, {}};
  table.columns = {{"node", "Node"},
                   {"opened", "Opened", Column::Align::left, false, 3},
                   {"severity", "Severity", Column::Align::left, false, 4},
                   {"findings", "Findings", Column::Align::left, false, 5},
                   {"closed", "Closed", Column::Align::left, false, 1},
                   {"reason", "Why closed", Column::Align::left, true, 0}};
  const auto add = [&](const Incident& incident) {
    table.rows.push_back({monitor_->name(incident.node), format_moment(incident.opened),
                          std::string(model::text_of(incident.severity)), list_findings(incident),
                          incident.is_open() ? std::string("open") : format_moment(incident.closed),
                          incident.why_closed});
  };
  for (const Incident& incident : monitor_->closed()) add(incident);
  for (NodeIndex i = 0; i < monitor_->node_count(); ++i) {
    if (const Incident* incident = monitor_->open_incident(i)) add(*incident);
  }
  return table;
}

TableSection Review::node_table(bool all_nodes) const {
  TableSection table{"nodes", "Nodes", {}, {}};
  table.columns = {{"node", "Node"},
                   {"health", "Health", Column::Align::left, false, 5},
                   {"score", "Score", Column::Align::right, false, 2},
                   {"reason", "Reason", Column::Align::left, false, 3},
                   {"plan", "What is to be done", Column::Align::left, false, 4},
                   {"driver_decides", "Asked for by the driver", Column::Align::left, true, 0}};
  for (NodeIndex i = 0; i < monitor_->node_count(); ++i) {
    const NodeHealth& health = monitor_->health(i);
    if (!all_nodes && health.state == HealthState::healthy && health.score == 100) continue;
    table.rows.push_back({monitor_->name(i), to_text(health.state), health.score, health.reason,
                          describe_plan(health.plan), health.driver_decides});
  }
  return table;
}

Document Review::document(bool all_nodes) const {
  Document document;
  document.kind = "health-check";
  std::size_t healthy = 0;
  for (NodeIndex i = 0; i < monitor_->node_count(); ++i)
    healthy += monitor_->health(i).state == HealthState::healthy ? 1U : 0U;
  FactsSection facts{"summary", "", {}};
  facts.facts = {
      {"nodes", "Nodes", monitor_->node_count()},
      {"healthy", "Without a finding that counts", healthy},
      {"read", "Lines, samples and reports read", Cell(lines_, group_digits(lines_))},
      {"signals", "Signals", Cell(entries_.size(), group_digits(entries_.size()))},
      {"recorded", "Recorded only", Cell(monitor_->info_count(), group_digits(monitor_->info_count()))},
      {"unmatched", "Without a rule", Cell(monitor_->unmatched_count(), group_digits(monitor_->unmatched_count()))}};
  document.sections.emplace_back(std::move(facts));
  TableSection incidents = incident_table();
  if (!incidents.rows.empty()) document.sections.emplace_back(std::move(incidents));
  TableSection nodes = node_table(all_nodes);
  if (!nodes.rows.empty()) document.sections.emplace_back(std::move(nodes));
  for (const JobNote& note : jobs_.notes()) {
    document.notes.push_back(
        fmt::format("job {}{}: {}", note.job, note.stage.empty() ? "" : ", stage " + note.stage, to_text(note.limit)));
  }
  return document;
}

}  // namespace weft::health
