#include "check/qos/class_trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::check {

namespace {

std::string decided_by(const TraceStep& step, const Sources& sources) {
  const std::string where = sources.describe(step.place);
  std::string out = where;
  if (!step.path.empty()) out += (out.empty() ? "" : " ") + step.path;
  if (step.said_by == SaidBy::intent) return out + (step.place.known() ? "" : " (default)");
  if (step.said_by == SaidBy::vendor && !step.path.empty()) return out + " (default)";
  return out.empty() ? "-" : out;
}

std::string leg_title(const TraceLeg& leg) {
  return fmt::format("{} {} to {}", leg.notice ? "Notifications" : "Data", leg.from, leg.to);
}

TableSection leg_table(const TraceLeg& leg, std::size_t number, const Sources& sources) {
  TableSection table;
  table.key = fmt::format("{}_{}_{}", leg.notice ? "cnp" : "data", leg.backward ? "backward" : "forward", number);
  table.title = leg_title(leg);
  table.columns = {{"hop", "Hop"},
                   {"what", "What"},
                   {"value", "Value"},
                   {"verdict", "Verdict"},
                   {"decided_by", "Decided by"},
                   {"said_by", "Source", Column::Align::left, true},
                   {"why", "Why", Column::Align::left, true}};
  static constexpr const char* kSaidBy[] = {"file", "cluster file", "default", "none"};
  std::string last;
  for (const TraceStep& step : leg.steps) {
    Cell hop(step.hop);
    if (step.hop == last) hop.shown = " ";
    last = step.hop;
    table.rows.push_back({hop, step.what, step.value, to_text(step.verdict), decided_by(step, sources),
                          kSaidBy[static_cast<std::size_t>(step.said_by)], step.why});
  }
  return table;
}

}  // namespace

std::string_view to_text(Flow flow) {
  switch (flow) {
    case Flow::nccl:
      return "nccl";
    case Flow::ucx:
      return "ucx";
    case Flow::nvmeof:
      break;
  }
  return "nvmeof";
}

std::string_view to_text(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::ok:
      return "ok";
    case StepVerdict::warning:
      return "warning";
    case StepVerdict::lossy:
      return "LOSSY";
    case StepVerdict::unmarked:
      return "UNMARKED";
    case StepVerdict::unknown:
      break;
  }
  return "unknown";
}

const TraceStep* TraceLeg::first(StepVerdict wanted) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const TraceStep& s) { return s.verdict == wanted; });
  return found == steps.end() ? nullptr : &*found;
}

StepVerdict TraceLeg::verdict() const {
  for (const StepVerdict wanted :
       {StepVerdict::lossy, StepVerdict::unmarked, StepVerdict::unknown, StepVerdict::warning}) {
    if (first(wanted) != nullptr) return wanted;
  }
  return StepVerdict::ok;
}

std::string verdict_sentence(const TraceLeg& leg, const Sources& sources) {
  const std::string way = fmt::format("{} to {}", leg.from, leg.to);
  const auto told = [&](std::string_view what, const TraceStep& step) {
    return fmt::format("{} {} at {}: {}; decided by {}", way, what, step.hop, step.why, decided_by(step, sources));
  };
  const TraceStep* lossy = leg.first(StepVerdict::lossy);
  const TraceStep* unmarked = leg.first(StepVerdict::unmarked);
  const TraceStep* unknown = leg.first(StepVerdict::unknown);
  const TraceStep* warning = leg.first(StepVerdict::warning);
  if (leg.notice) {
    if (warning != nullptr) return told("notifications are impaired", *warning);
    if (unknown != nullptr) {
      return fmt::format("{} notifications: no setting found for {} at {}", way, unknown->what, unknown->hop);
    }
    return fmt::format("{} notifications arrive independently of the data", way);
  }
  std::string out;
  if (lossy != nullptr) out = told("data leaves the lossless class", *lossy);
  if (unmarked != nullptr) out += (out.empty() ? "" : "; ") + told("data is not marked", *unmarked);
  if (!out.empty()) return out;
  if (unknown != nullptr) {
    return fmt::format("{} data: no setting found for {} at {}, so it is not proven lossless", way, unknown->what,
                       unknown->hop);
  }
  out = fmt::format("{} data is lossless and marked on the whole path", way);
  if (warning != nullptr) out += fmt::format("; warning at {}: {}", warning->hop, warning->why);
  return out;
}

Document trace_document(const Trace& trace, const Sources& sources) {
  Document document;
  document.kind = "class_trace";
  FactsSection facts{"trace", "Trace", {}};
  facts.facts.push_back({"flow", "Flow", to_text(trace.flow)});
  if (trace.has_fabric) facts.facts.push_back({"fabric", "Fabric", model::to_text(trace.fabric)});
  facts.facts.push_back({"from", "From", trace.from});
  facts.facts.push_back({"to", "To", trace.to});
  StepVerdict worst = StepVerdict::ok;
  for (const TraceLeg& leg : trace.legs) {
    const StepVerdict own = leg.verdict();
    const auto rank = [](StepVerdict v) {
      static constexpr int kRank[] = {0, 1, 4, 3, 2};  // ok, warning, lossy, unmarked, unknown
      return kRank[static_cast<std::size_t>(v)];
    };
    if (rank(own) > rank(worst)) worst = own;
  }
  facts.facts.push_back({"verdict", "Verdict", to_text(worst)});
  document.sections.emplace_back(std::move(facts));
  for (std::size_t i = 0; i < trace.legs.size(); ++i) {
    document.sections.emplace_back(leg_table(trace.legs[i], i + 1, sources));
  }
  for (const TraceLeg& leg : trace.legs) document.notes.push_back(verdict_sentence(leg, sources));
  return document;
}

}  // namespace weft::check
