#include "workload/life/fidelity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "workload/life/view_cells.h"
#include "workload/training/model_shape.h"

namespace weft::workload {
namespace {

// The call that the finer engine slows down most relative to the coarser one.
std::string explanation(const LifeResult& coarse, const LifeResult& fine) {
  std::string words = "no call differs";
  double most = 0.005;
  for (const CommunicationRow& row : fine.communication) {
    for (const CommunicationRow& other : coarse.communication) {
      if (other.what != row.what || other.bytes != row.bytes || other.time <= SimTime(0)) continue;
      const double change = static_cast<double>(row.time.count()) / static_cast<double>(other.time.count()) - 1;
      if (std::abs(change) <= most) continue;
      most = std::abs(change);
      words = fmt::format("{}: {} instead of {} (x{:.2f} against x{:.2f} of a perfect fabric)", row.what,
                          format_time(other.time), format_time(row.time), other.slowdown, row.slowdown);
    }
  }
  return words;
}

Column left(const char* key, const char* title) { return {key, title, Column::Align::left, false}; }
Column right(const char* key, const char* title) { return {key, title, Column::Align::right, false}; }

}  // namespace

void add_fidelities(const std::vector<LifeResult>& lives, Document& document) {
  TableSection table;
  table.key = "fidelities";
  table.title = "The same job at each fidelity";
  table.columns = {left("fidelity", "Fidelity"), right("step_s", "Step"), right("exposed_s", "Exposed communication"),
                   right("difference_percent", "Difference"), left("because", "Because")};
  const LifeResult& finest = lives.back();
  for (const LifeResult& life : lives) {
    const StepParts& p = life.parts;
    const SimTime exposed = p.tensor + p.context + p.expert + p.pipeline + p.data;
    const double difference = seconds(life.step) / seconds(finest.step) - 1;
    table.rows.push_back({std::string(to_text(life.fidelity)), fine_seconds_cell(life.step), fine_seconds_cell(exposed),
                          Cell(100 * difference, format_signed_percent(difference)),
                          &life == &finest ? std::string("highest fidelity") : explanation(life, finest)});
  }
  document.sections.emplace_back(std::move(table));
}

Document models_document() {
  Document document;
  document.kind = "models";
  TableSection table;
  table.key = "models";
  table.title = "Built-in models";
  table.columns = {left("model", "Model"),        right("parameters", "Parameters"),
                   right("active", "Active"),     right("layers", "Layers"),
                   right("hidden", "Hidden"),     right("heads", "Heads"),
                   right("kv_heads", "KV heads"), right("ffn", "FFN"),
                   right("vocab", "Vocabulary"),  right("experts", "Experts"),
                   right("sequence", "Sequence")};
  for (const ModelShape& model : known_models()) {
    const auto billions = [](double count) { return Cell(count, fmt::format("{:.2f} B", count / 1e9)); };
    const std::string experts =
        model.mixture() ? fmt::format("{} of {}", model.active_experts, model.experts) : std::string("-");
    table.rows.push_back({std::string(model.name), billions(total_parameters(model)),
                          billions(active_parameters(model)), model.layers, model.hidden, model.heads, model.kv_heads,
                          model.mixture() && model.dense_layers == 0 ? model.expert_ffn : model.ffn, model.vocab,
                          experts, model.sequence});
  }
  document.sections.emplace_back(std::move(table));
  document.notes.emplace_back("`dimensions` in a job file overrides any of them, or describes another model");
  return document;
}

}  // namespace weft::workload
