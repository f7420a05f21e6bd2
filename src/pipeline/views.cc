#include "pipeline/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "pipeline/reference.h"

namespace weft::pipeline {
namespace {

constexpr Column::Align kRight = Column::Align::right;
constexpr std::size_t kShownResult = 40;

bool has_state(const RunState& state, StepState wanted) {
  return std::any_of(state.steps.begin(), state.steps.end(),
                     [&](const auto& each) { return each.second.state == wanted; });
}

Cell result_cell(const StepRun& run) {
  const auto found = run.outputs.find(std::string(kResult));
  if (found == run.outputs.end()) return {};
  return {found->second, printable(found->second, kShownResult)};
}

std::vector<Cell> step_row(const Step& step, const StepRun& run) {
  return {step.name, to_text(run.state),    to_text(step.engine), run.job == 0 ? Cell() : Cell(run.job),
          run.tries, join(step.needs, ","), result_cell(run),     Cell(run.reason, printable(run.reason, 200))};
}

}  // namespace

std::string_view summary_of(const RunState& state) {
  if (!state.ended()) return "running";
  if (has_state(state, StepState::failed)) return "failed";
  return has_state(state, StepState::canceled) || has_state(state, StepState::skipped) ? "canceled" : "done";
}

Document plan_view(const Pipeline& pipeline) {
  Document document;
  document.kind = "pipeline-plan";
  TableSection table{"steps", fmt::format("Pipeline {}", pipeline.name), {}, {}};
  table.columns = {{"step", "Step"},   {"engine", "Engine"},           {"gpus_per_node", "GPUs per node", kRight},
                   {"needs", "Needs"}, {"retries", "Retries", kRight}, {"outputs", "Outputs"}};
  for (const Step& step : pipeline.steps) {
    std::vector<std::string> outputs;
    for (const OutputFile& output : step.outputs) outputs.push_back(output.name);
    if (step.result_used) outputs.emplace_back(kResult);
    table.rows.push_back(
        {step.name, to_text(step.engine), step.gpus, join(step.needs, ","), step.retries, join(outputs, ",")});
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

Document run_view(const Pipeline& pipeline, const RunState& state) {
  Document document;
  document.kind = "pipeline-run";
  FactsSection facts{"run", fmt::format("Run {}", state.name), {}};
  facts.facts = {{"run", "Run", state.name},
                 {"pipeline", "Pipeline", pipeline.name},
                 {"state", "State", summary_of(state)},
                 {"file", "File", state.file},
                 {"started", "Started", format_utc_seconds(state.started)}};
  document.sections.emplace_back(std::move(facts));
  TableSection table{"steps", "Steps", {}, {}};
  table.columns = {{"step", "Step"},           {"state", "State"}, {"engine", "Engine"}, {"job", "Job", kRight},
                   {"tries", "Tries", kRight}, {"needs", "Needs"}, {"result", "Result"}, {"reason", "Note"}};
  for (std::size_t i = 0; i < pipeline.steps.size(); ++i)
    table.rows.push_back(step_row(pipeline.steps[i], state.steps[i].second));
  document.sections.emplace_back(std::move(table));
  return document;
}

Document runs_view(const std::vector<RunState>& runs) {
  Document document;
  document.kind = "pipeline-runs";
  TableSection table{"runs", "Pipeline runs", {}, {}};
  table.columns = {
      {"run", "Run"}, {"state", "State"}, {"ended", "Steps ended", kRight}, {"started", "Started"}, {"file", "File"}};
  for (const RunState& run : runs) {
    const auto ended =
        std::count_if(run.steps.begin(), run.steps.end(), [](const auto& each) { return is_final(each.second.state); });
    table.rows.push_back({run.name, summary_of(run),
                          Cell(static_cast<std::int64_t>(ended), fmt::format("{} of {}", ended, run.steps.size())),
                          format_utc_seconds(run.started), run.file});
  }
  if (runs.empty()) document.notes.emplace_back("No pipeline has run.");
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::pipeline
