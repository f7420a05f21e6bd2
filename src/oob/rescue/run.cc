#include "oob/rescue/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "oob/rescue/step.h"

namespace weft::oob {

std::string_view to_text(RescueEnd end) {
  constexpr std::array<std::string_view, 5> kWords = {"done", "partly done", "failed", "waits for a person", "stopped"};
  return kWords[static_cast<std::size_t>(end)];
}

Result<RescueReport> run_rescue(const RescuePlan& plan, RescueActions& hands, Journal& journal, Clock& clock,
                                const RescueTerms& terms) {
  return RescueRunner(plan, hands, journal, clock, terms).run();
}

Result<RescueReport> RescueRunner::run() {
  if (plan_.refused()) return Error{ErrorCode::refused, "the plan depends on what it recovers: see its findings", {}};
  for (const std::set<std::string>* ids : {&terms_.confirmed, &terms_.repeated}) {
    for (const std::string& id : *ids) {
      if (plan_.find(id) == nullptr)
        return Error{ErrorCode::invalid_input, fmt::format("the runbook has no step {}", in_backticks(id)), {}};
    }
  }
  if (const Status status = terms_.resume.empty() ? begin() : take_up(); !status.ok()) return status.error();
  const RescueEnd end = follow();
  if (!broken_.ok()) return broken_.error();
  return report(end);
}

Status RescueRunner::open_folder() {
  Result<std::unique_ptr<RescueFolder>> folder = RescueFolder::open(terms_.state + "/rescue/" + record_.operation);
  if (!folder.ok()) return folder.error();
  folder_ = std::move(folder).value();
  return {};
}

Status RescueRunner::begin() {
  record_.operation = terms_.operation.empty() ? new_operation_id() : terms_.operation;
  if (Status status = open_folder(); !status.ok()) return status;
  Value parameters = Value::map();
  for (const auto& [name, value] : plan_.parameters) parameters.set(name, value);
  (void)log_operation(Phase::begin, Value::map()
                                        .set("runbook", plan_.runbook)
                                        .set("hash", plan_.hash)
                                        .set("plan", plan_.digest)
                                        .set("cluster", plan_.cluster)
                                        .set("parameters", std::move(parameters))
                                        .set("reason", terms_.reason));
  return broken_;
}

Status RescueRunner::take_up() {
  record_.operation = terms_.resume;
  if (terms_.resume.size() != 16 || terms_.resume.find_first_not_of("0123456789abcdef") != std::string::npos)
    return Error{
        ErrorCode::invalid_input, fmt::format("{} is not the ID of a rescue", in_backticks(terms_.resume)), {}};
  // Lock before reading: the previous holder may have written until it released the lock.
  if (Status status = open_folder(); !status.ok()) return status;
  const Result<std::vector<JournalEntry>> entries = journal_.read();
  if (!entries.ok()) return entries.error();
  std::optional<RescueRecord> record = read_rescue(*entries, terms_.resume);
  if (!record)
    return Error{ErrorCode::not_found, fmt::format("the journal contains no rescue `{}`", terms_.resume), {}};
  if (record->ended)
    return Error{ErrorCode::refused, fmt::format("rescue {} has ended: {}", terms_.resume, record->result), {}};
  if (record->hash != plan_.hash)
    return Error{ErrorCode::refused,
                 fmt::format("runbook `{}` is not the runbook of rescue {}", plan_.runbook, terms_.resume),
                 {}};
  if (record->digest != plan_.digest)
    return Error{ErrorCode::refused,
                 fmt::format("the cluster or the parameters changed since rescue {} began: its steps would not be the "
                             "same",
                             terms_.resume),
                 {}};
  record_ = std::move(*record);
  tell(fmt::format("continuing rescue {}", record_.operation));
  return {};
}

RescueEnd RescueRunner::follow() {
  for (const RescueStep& step : plan_.steps) {
    if (clock_.stopped()) return RescueEnd::stopped;
    const Next next = take(step);
    if (!broken_.ok()) return RescueEnd::stopped;
    if (!next) continue;
    if (*next == RescueEnd::failed) (void)log_operation(Phase::end, Value::map().set("result", "failed"));
    return *next;
  }
  const RescueEnd end = partial_ ? RescueEnd::partial : RescueEnd::done;
  (void)log_operation(Phase::end, Value::map().set("result", std::string(to_text(end))));
  return end;
}

bool RescueRunner::log(Phase phase, const RescueStep& step, const Value& detail) {
  JournalEntry entry;
  entry.operation = record_.operation;
  entry.phase = phase;
  entry.verb = std::string(kRescueStepVerb);
  entry.detail = Value::map().set("step", step.id).set("at_ms", clock_.wall_ms());
  for (const Value::Entry& one : detail.entries()) entry.detail.set(one.key, one.value);
  broken_ = journal_.append(std::move(entry));
  return broken_.ok();
}

bool RescueRunner::log_operation(Phase phase, Value detail) {
  JournalEntry entry;
  entry.operation = record_.operation;
  entry.phase = phase;
  entry.verb = std::string(kRescueVerb);
  entry.detail = std::move(detail);
  broken_ = journal_.append(std::move(entry));
  return broken_.ok();
}

void RescueRunner::tell(const std::string& text) const {
  if (terms_.tell) terms_.tell(text);
}

Duration RescueRunner::left(const RescueStep& step) const {
  return std::max(Duration(0), started_ + step.within - clock_.now());
}

std::string RescueRunner::file_name(const RescueStep& step, std::string_view ending) const {
  const auto at =
      std::find_if(plan_.steps.begin(), plan_.steps.end(), [&](const RescueStep& one) { return one.id == step.id; });
  return fmt::format("{:03}-{}.{}", at - plan_.steps.begin() + 1, step.id, ending);
}

RescueReport RescueRunner::report(RescueEnd end) const {
  RescueReport report;
  report.operation = record_.operation;
  report.runbook = plan_.runbook;
  report.cluster = plan_.cluster;
  report.folder = folder_->path();
  report.end = end;
  report.person = person_;
  report.steps.reserve(plan_.steps.size());
  for (const RescueStep& step : plan_.steps) {
    RescueStepReport line{.id = step.id, .title = step.title, .outcome = RescueOutcome::none, .why = {}, .file = {}};
    if (const auto found = record_.steps.find(step.id); found != record_.steps.end()) {
      line.outcome = found->second.outcome;
      line.why = found->second.why;
      line.took_ms = found->second.took_ms;
      line.file = found->second.file;
      if (line.outcome == RescueOutcome::none && found->second.begun) line.why = "in progress";
    }
    report.steps.push_back(std::move(line));
  }
  return report;
}

Document rescue_report_document(const RescueReport& report) {
  Document document;
  document.kind = "rescue-report";
  FactsSection facts{.key = "rescue", .title = "Rescue", .facts = {}};
  facts.facts = {{"runbook", "Runbook", report.runbook},
                 {"cluster", "Cluster", report.cluster},
                 {"operation", "Rescue", report.operation},
                 {"result", "Result", std::string(to_text(report.end))},
                 {"folder", "Folder", report.folder}};
  document.sections.emplace_back(std::move(facts));
  TableSection table{.key = "steps", .title = "Steps", .columns = {}, .rows = {}};
  table.columns = {{"step", "Step"},       {"title", "Purpose", Column::Align::left, true},
                   {"outcome", "Outcome"}, {"took_s", "Seconds", Column::Align::right},
                   {"why", "Evidence"},    {"file", "File"}};
  for (const RescueStepReport& step : report.steps) {
    const double seconds = static_cast<double>(step.took_ms) / 1000;
    table.rows.push_back({step.id, step.title, std::string(to_text(step.outcome)),
                          step.outcome == RescueOutcome::none ? Cell() : Cell(seconds, fmt::format("{:.1f}", seconds)),
                          printable(step.why), step.file});
  }
  document.sections.emplace_back(std::move(table));
  for (const std::string& line : report.person) document.notes.push_back("The operator must: " + line + ".");
  if (report.end == RescueEnd::waiting || report.end == RescueEnd::stopped)
    document.notes.push_back(
        fmt::format("Continue with: weft rescue {} CLUSTER --resume {}", report.runbook, report.operation));
  return document;
}

std::string rescue_report_markdown(const RescueReport& report) {
  const auto cell = [](const std::string& text) {
    std::string out;
    for (const char c : printable(text)) out += c == '|' ? "\\|" : std::string(1, c);
    return out;
  };
  std::string text = fmt::format("# Rescue {}: {} on {}\n\nResult: {}\n\n", report.operation, report.runbook,
                                 report.cluster, to_text(report.end));
  text += "| step | outcome | seconds | evidence | file |\n|---|---|---:|---|---|\n";
  for (const RescueStepReport& step : report.steps)
    text += fmt::format("| {} | {} | {:.1f} | {} | {} |\n", step.id, to_text(step.outcome),
                        static_cast<double>(step.took_ms) / 1000, cell(step.why), step.file);
  if (!report.person.empty()) text += "\nThe operator must:\n\n";
  for (const std::string& line : report.person) text += fmt::format("- {}\n", line);
  return text;
}

}  // namespace weft::oob
