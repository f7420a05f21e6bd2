// Training step times: published ones, and our own on one H200.
#include <algorithm>
#include <cmath>

#include "base/test_places.h"
#include "jobs.h"
#include "report.h"
#include "workload/training/memory_model.h"
#include "workload/training/published_steps.h"

namespace weft::validation {
namespace {

using workload::PublishedStep;
using workload::PublishedSteps;
using Align = Column::Align;

// By how much the step time grows when the GPUs double (and the batch with them), over rows of one layout: slope of a
// line through time against log2(GPUs), as a fraction of the first time.
double weak_slope(const PublishedSteps& table, const std::vector<double>& seconds) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, first = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const workload::TrainingPlan& plan = table.rows[i].plan;
    const workload::TrainingPlan& last = table.rows.back().plan;
    if (table.rows[i].model != table.rows.back().model || plan.shape.layers != last.shape.layers ||
        plan.sequence != last.sequence || plan.global_batch * last.gpus != last.global_batch * plan.gpus) {
      continue;
    }
    if (first == 0) first = seconds[i];
    const double at = std::log2(static_cast<double>(plan.gpus));
    n += 1;
    x += at;
    y += seconds[i];
    xx += at * at;
    xy += at * seconds[i];
  }
  return n < 3 ? std::nan("") : (n * xy - x * y) / (n * xx - x * x) / first;
}

std::string layout_of(const PublishedStep& row) {
  const workload::TrainingPlan& plan = row.plan;
  return fmt::format("{} layers, {}, micro-batch {}, batch {}, {} tokens", plan.shape.layers, plan.layout(),
                     plan.micro_batch, plan.global_batch, plan.sequence);
}

struct Played {
  const PublishedSteps* table;
  std::vector<JobRun> runs;
  std::vector<double> seconds;
  std::vector<double> errors;
  double mean = 0;
  double bias = 0;
  double worst = 0;
};

Played play(const PublishedSteps& table, JobRunner& runner) {
  Played played{&table, {}, {}, {}};
  for (const PublishedStep& row : table.rows) {
    played.runs.push_back(runner.run(table.gpu, row.plan.gpus, training_of(table, row)));
    const double seconds = played.runs.back().seconds;
    const double error = seconds / row.seconds - 1;
    played.seconds.push_back(seconds);
    played.errors.push_back(error);
    played.mean += std::abs(error) / static_cast<double>(table.rows.size());
    played.bias += error / static_cast<double>(table.rows.size());
    played.worst = std::max(played.worst, std::abs(error));
  }
  return played;
}

std::size_t warned(const Played& played) {
  return static_cast<std::size_t>(
      std::count_if(played.runs.begin(), played.runs.end(), [](const JobRun& run) { return run.warned; }));
}

Cell slope_cell(double slope) {
  if (!std::isfinite(slope)) return "";  // all rows on as many GPUs
  return {100 * slope, fmt::format("{:+.2f} %", 100 * slope)};
}

void print_summary(const Report& report, const std::vector<Played>& all) {
  TableSection table{"step_tables",
                     "Training steps, by table",
                     {{"table", "Table", Align::left, false},
                      {"rows", "Rows", Align::right, false},
                      {"mean", "Mean abs. error", Align::right, false},
                      {"bias", "Mean error", Align::right, false},
                      {"worst", "Worst", Align::right, false},
                      {"slope_measured", "Per doubling, measured", Align::right, false},
                      {"slope_weft", "weft", Align::right, false},
                      {"warned", "Memory warnings", Align::right, false},
                      {"role", "Role", Align::left, false},
                      {"source", "Source", Align::left, false}},
                     {}};
  for (const Played& one : all) {
    std::vector<double> measured;
    for (const PublishedStep& row : one.table->rows) measured.push_back(row.seconds);
    table.rows.push_back({one.table->title, one.table->rows.size(), percent(one.mean, false), percent(one.bias),
                          percent(one.worst, false), slope_cell(weak_slope(*one.table, measured)),
                          slope_cell(weak_slope(*one.table, one.seconds)), warned(one), one.table->role,
                          one.table->source});
  }
  report.print(table);
}

void print_rows(const Report& report, const std::vector<Played>& all) {
  TableSection table{"steps",
                     "Training steps, by row",
                     {{"table", "Table", Align::left, false},
                      {"gpus", "GPUs", Align::right, false},
                      {"layout", "Layout", Align::left, false},
                      {"measured_s", "Measured (s)", Align::right, false},
                      {"weft_s", "weft (s)", Align::right, false},
                      {"error", "Error", Align::right, false},
                      {"memory_gb", "Memory (GB)", Align::right, false},
                      {"memory", "Memory check", Align::left, false}},
                     {}};
  for (const Played& one : all) {
    for (std::size_t i = 0; i < one.seconds.size(); ++i) {
      const PublishedStep& row = one.table->rows[i];
      const std::string model = one.table->model == "by row" ? row.model.substr(0, row.model.find(' ')) + ": " : "";
      table.rows.push_back({one.table->title, row.plan.gpus, model + layout_of(row),
                            Cell(row.seconds, fmt::format("{:.3f}", row.seconds)),
                            Cell(one.seconds[i], fmt::format("{:.3f}", one.seconds[i])), percent(one.errors[i]),
                            Cell(one.runs[i].memory / 1e9, fmt::format("{:.1f}", one.runs[i].memory / 1e9)),
                            one.runs[i].refused  ? "refused"
                            : one.runs[i].warned ? "warning"
                                                 : ""});
    }
  }
  report.print_detail(table);
}

struct OwnStep {
  std::string name;
  std::string training;  // of its job file
  double milliseconds = 0;
  std::string source;
};

// Columns as written by bench/calibration/measure_gpu.py.
OwnStep own_step(const std::vector<std::string>& fields) {
  OwnStep step;
  step.name = fields[0];
  step.training = fmt::format(
      "  dimensions: {{hidden: {}, layers: {}, heads: {}, kv_heads: {}, ffn: {}, vocab: {}}}\n"
      "  micro_batch: {}\n  sequence: {}\n  framework: {}\n  recompute: {}\n  bf16_optimizer: true\n  "
      "attention_kernel: cudnn\n",
      fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7], fields[8],
      fields[9] == "1" ? "compiled" : "eager", fields[10] == "1" ? "full" : "none");
  step.milliseconds = std::stod(fields[11]);
  step.source = "bench/calibration/h200_steps.csv";
  return step;
}

std::vector<OwnStep> read_own_steps() {
  const Result<std::string> text = read_file(source_dir() + "/bench/calibration/h200_steps.csv");
  CHECK(text.ok(), "bench/calibration/h200_steps.csv is there");
  std::vector<OwnStep> steps;
  bool first = true;
  for (const std::string& line : workload::published_steps::split(text.value(), '\n')) {
    if (!std::exchange(first, false) && !line.empty())
      steps.push_back(own_step(workload::published_steps::split(line, ',')));
  }
  // Another run of the first two, on another machine of the same kind and with another PyTorch.
  for (const auto& [name, milliseconds] : {std::pair("1.3b", 254.6), std::pair("1.3b-eager", 273.1)}) {
    const auto same =
        std::find_if(steps.begin(), steps.end(), [&wanted = name](const OwnStep& s) { return s.name == wanted; });
    CHECK(same != steps.end(), "h200_steps.csv has the 1.3B model");
    OwnStep again = *same;
    again.milliseconds = milliseconds;
    again.source = "the same model on another host";
    steps.push_back(again);
  }
  return steps;
}

}  // namespace

void steps(Report& report, const std::string& file) {
  const std::vector<PublishedSteps> tables = workload::read_published_steps(file);
  JobRunner runner;
  std::vector<Played> all;
  all.reserve(tables.size());
  for (const PublishedSteps& table : tables) all.push_back(play(table, runner));
  report.heading("Training steps");
  print_summary(report, all);
  print_rows(report, all);
  std::size_t rows = 0, refused = 0, warnings = 0;
  for (const Played& one : all) {
    rows += one.runs.size();
    warnings += warned(one);
    for (const JobRun& run : one.runs) {
      if (run.refused) report.say(fmt::format("Refused: {}: {}", one.table->title, run.messages));
      refused += run.refused ? 1 : 0;
    }
  }
  report.say(
      fmt::format("`weft sim life` refuses {} of {} rows and warns about the memory of {}.", refused, rows, warnings));
  report.say("Bars:");
  report.hold("Rows refused", static_cast<double>(refused) / static_cast<double>(rows), 0);
  for (const Played& one : all) {
    const std::string& id = one.table->id;
    if (id == "llama70-bf16" || id == "llama8-bf16" || id == "gpt175-bf16") {
      report.hold(one.table->title + ", mean", one.mean, 0.05);
      report.hold(one.table->title + ", worst", one.worst, 0.10);
    } else if (id == "megatron-seqsel") {
      report.hold(one.table->title + ", mean", one.mean, 0.05);
    }
  }
}

void own_steps(Report& report) {
  JobRunner runner;
  TableSection table{"own_steps",
                     "Whole steps on one H200, PyTorch, bf16 weights and optimizer",
                     {{"model", "Model", Align::left, false},
                      {"measured_ms", "Measured (ms)", Align::right, false},
                      {"weft_ms", "weft (ms)", Align::right, false},
                      {"error", "Error", Align::right, false},
                      {"source", "Source", Align::left, false}},
                     {}};
  for (const OwnStep& step : read_own_steps()) {
    const double ms = 1000 * runner.run("h200-sxm", 1, step.training).seconds;
    table.rows.push_back({step.name, Cell(step.milliseconds, fmt::format("{:.1f}", step.milliseconds)),
                          Cell(ms, fmt::format("{:.1f}", ms)), percent(ms / step.milliseconds - 1), step.source});
  }
  report.print(table);
}

// Korthikanti et al., arXiv 2205.05198, figure 7: activations of a GPU of the first stage as a share of those without
// any recomputation, and table 2's formulas, which the figures follow.
void activations(Report& report) {
  struct Published {
    const char* model;
    std::int64_t tensor, micro_batch;
    double sequence, selective, both, full;
  };
  TableSection table{"activations",
                     "Activations of a layer, % of those with tensor parallelism alone (arXiv 2205.05198, figure 7)",
                     {{"model", "Model", Align::left, false},
                      {"what", "Saved by", Align::left, false},
                      {"published", "Published", Align::right, false},
                      {"weft", "weft", Align::right, false},
                      {"error", "Error", Align::right, false}},
                     {}};
  for (const Published& p :
       {Published{"gpt3-22b", 8, 4, 66.84, 49.42, 16.18, 7.64}, Published{"gpt3-175b", 8, 1, 62.04, 56.53, 18.49, 8.71},
        Published{"gpt3-530b", 8, 1, 58.31, 62.04, 20.27, 9.42},
        Published{"gpt3-1t", 8, 1, 58.31, 62.04, 20.27, 9.42}}) {
    workload::TrainingPlan plan;
    plan.shape = *workload::find_model(p.model);
    plan.tensor = p.tensor;
    plan.micro_batch = p.micro_batch;
    plan.sequence = plan.shape.sequence;
    plan.attention = model::AttentionKernel::unfused;
    plan.dropout = true;
    const double whole = workload::layer_activations(plan, false);
    const auto add = [&](const char* what, bool sequence, model::Recompute recompute, double published) {
      workload::TrainingPlan saved = plan;
      saved.sequence_parallel = sequence;
      saved.recompute = recompute;
      const double share = 100 * workload::layer_activations(saved, false) / whole;
      table.rows.push_back({p.model, what, Cell(published, fmt::format("{:.2f}", published)),
                            Cell(share, fmt::format("{:.2f}", share)), percent(share / published - 1)});
    };
    add("sequence parallelism", true, model::Recompute::none, p.sequence);
    add("selective recomputation", false, model::Recompute::selective, p.selective);
    add("both", true, model::Recompute::selective, p.both);
    add("full recomputation", false, model::Recompute::full, p.full);
  }
  report.heading("Activations");
  report.print(table);
}

}  // namespace weft::validation
