// Sizes of checkpoints, and what failures cost.
#include <fmt/format.h>

#include <cmath>

#include "report.h"
#include "workload/storage/reliability.h"
#include "workload/training/checkpoint_size.h"

namespace weft::validation {
namespace {

using Align = Column::Align;

Duration seconds(double s) { return Duration(std::llround(s * 1e9)); }
double in_seconds(Duration d) { return static_cast<double>(d.count()) / 1e9; }

std::vector<Column> columns() {
  return {{"source", "Source", Align::left, false},
          {"what", "Quantity", Align::left, false},
          {"published", "Published", Align::right, false},
          {"weft", "weft", Align::right, false},
          {"error", "Error", Align::right, false}};
}

std::vector<Cell> row(const std::string& source, const std::string& what, double published, double weft,
                      const char* unit) {
  return {source, what, Cell(published, fmt::format("{:g} {}", published, unit)),
          Cell(weft, fmt::format("{:.4g} {}", weft, unit)), percent(weft / published - 1)};
}

}  // namespace

void checkpoints(Report& report) {
  constexpr double kGi = 1024.0 * 1024 * 1024;
  struct Published {
    const char* what;
    const char* model;
    std::int64_t heads;  // as the source lists them
    double gib;
  };
  TableSection table{"checkpoints", "Checkpoints", columns(), {}};
  report.heading("Checkpoints");
  double worst = 0;
  for (const Published& p : {Published{"Llama 3.1 8B", "llama-3.1-8b", 32, 105},
                             Published{"Llama 3.1 70B (128 heads)", "llama-3.1-70b", 128, 912},
                             Published{"Llama 3.1 405B", "llama-3.1-405b", 128, 5290}}) {
    workload::TrainingPlan plan;
    plan.shape = *workload::find_model(p.model);
    plan.shape.heads = p.heads;
    plan.shape.head_dim = plan.shape.hidden / p.heads;
    const double gib = static_cast<double>(workload::checkpoint_size(plan).total.count()) / kGi;
    table.rows.push_back(
        row("MLPerf Storage v2.0, table 2 (its GB are GiB: DLIO divides by 1024^3)", p.what, p.gib, gib, "GiB"));
    worst = std::max(worst, std::abs(gib / p.gib - 1));
  }
  workload::TrainingPlan large;
  large.shape = *workload::find_model("llama-3.1-405b");
  large.shape.layers = 128;
  large.shape.hidden = 25'872;
  large.shape.ffn = 98'304;
  large.shape.heads = 192;
  large.shape.head_dim = large.shape.hidden / large.shape.heads;
  large.shape.kv_heads = 32;
  table.rows.push_back(row("the same; weights counted twice there, not held to the bar", "1T", 18'000,
                           static_cast<double>(workload::checkpoint_size(large).total.count()) / kGi, "GiB"));
  const double each =
      static_cast<double>(workload::checkpoint_size(large).total.count()) / workload::total_parameters(large.shape);
  const double bloom = 176.25e9 * each / (kGi * 1024);
  table.rows.push_back(row("BLOOM-176B, as du rounds it up", "176.25e9 parameters", 2.3, bloom, "TiB"));
  report.print(table);
  report.say("Bars:");
  report.hold("checkpoint sizes of 8B, 70B and 405B, worst", worst, 0.02);
}

void reliability(Report& report) {
  TableSection table{"reliability", "Failures", columns(), {}};
  const Duration days54 = seconds(54 * 86400.0);
  const std::string llama = "Llama 3, arXiv 2407.21783, table 5";
  const double unexpected = workload::failures_per_1000_node_days(419, 2048, days54);
  const Duration mtbf = workload::mtbf_of(unexpected, 2048);
  table.rows.push_back(row(llama, "unexpected failures in 1,000 node-days", 3.79, unexpected, ""));
  table.rows.push_back(row(llama, "time between unexpected interruptions", 3.09, in_seconds(mtbf) / 3600, "h"));
  table.rows.push_back(
      row(llama, "time between all interruptions", 2.78,
          in_seconds(workload::mtbf_of(workload::failures_per_1000_node_days(466, 2048, days54), 2048)) / 3600, "h"));
  struct Young {
    double write, minutes, lost;
  };
  for (const Young& y : {Young{60, 19.3, 10.4}, Young{30, 13.6, 7.3}, Young{5, 5.6, 3.0}}) {
    const Duration interval = workload::young_interval(seconds(y.write), seconds(3.09 * 3600));
    const workload::Losses losses = workload::losses_of(interval, seconds(y.write), Duration(0), seconds(3.09 * 3600));
    const std::string what = fmt::format(", checkpoints of {:g} s every 3.09 h of failures", y.write);
    table.rows.push_back(row("Young, worked example", "interval" + what, y.minutes, in_seconds(interval) / 60, "min"));
    table.rows.push_back(row("Young, worked example", "lost" + what, y.lost, 100 * (1 - losses.effective), "%"));
  }
  const std::string rsc = "Meta RSC, arXiv 2410.21680";
  table.rows.push_back(
      row(rsc, "MTTF of 16,384 GPUs at 6.50", 1.8, in_seconds(workload::mtbf_of(6.50, 16384 / 8)) / 3600, "h"));
  table.rows.push_back(
      row(rsc, "MTTF of 131,072 GPUs at 6.50", 0.23, in_seconds(workload::mtbf_of(6.50, 131072 / 8)) / 3600, "h"));
  table.rows.push_back(
      row(rsc, "MTTF of 1,024 GPUs, measured", 7.9, in_seconds(workload::mtbf_of(6.50, 128)) / 3600, "h"));
  report.heading("Failures");
  report.print(table);
}

}  // namespace weft::validation
