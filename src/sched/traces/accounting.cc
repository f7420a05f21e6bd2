#include <algorithm>
#include <array>

#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kMaxCpus = 100'000'000;

// How tables exported by pandas or Slurm represent a missing value.
bool is_none(const Cell& cell) {
  constexpr std::array<std::string_view, 6> words = {"", "None", "nan", "NaN", "NaT", "Unknown"};
  return std::find(words.begin(), words.end(), cell.text()) != words.end();
}

// The servers the job had, if its GPUs divide evenly among them; otherwise as few as possible.
Split split_over(std::int32_t gpus, std::int32_t nodes, std::int32_t node_gpus) {
  if (nodes > 0 && gpus % nodes == 0 && gpus / nodes <= node_gpus) return {nodes, gpus / nodes};
  return split_gpus(gpus, node_gpus);
}

enum class Span { known, never_started, not_ended, backwards, failed };

// From start to end. `duration` is used only if a time is missing: in Acme's Kalos it starts at the submission.
Span read_span(const TraceTable& table, const AccountingColumns& at, Duration& run_time, CellReader& cells) {
  const Cell begin = table.cell(at.started);
  const Cell end = table.cell(at.ended);
  const Cell duration = table.cell(at.duration);
  if (at.started >= 0 && is_none(begin)) return Span::never_started;
  if (at.started >= 0 && !is_none(end)) {
    std::int64_t from = 0;
    std::int64_t to = 0;
    if (!cells.time(begin, from) || !cells.time(end, to)) return Span::failed;
    run_time = Duration(to - from);
    return to < from ? Span::backwards : Span::known;
  }
  if (is_none(duration)) return Span::not_ended;
  return cells.seconds(duration, run_time) ? Span::known : Span::failed;
}

}  // namespace

std::optional<AccountingColumns> accounting_columns(TraceTable& table) {
  const AccountingColumns at = {table.need("job_id"),     table.find("user"),     table.need("gpu_num"),
                                table.find("cpu_num"),    table.find("node_num"), table.need("submit_time"),
                                table.find("start_time"), table.find("end_time"), table.find("duration")};
  if (std::min({at.name, at.gpus, at.submitted}) < 0) return std::nullopt;
  if (at.duration < 0 && std::min(at.started, at.ended) < 0) {
    (void)table.need("duration");
    return std::nullopt;
  }
  return at;
}

bool set_accounting(const TraceTable& table, const AccountingColumns& at, Job& job, TraceBuilder& builder) {
  CellReader& cells = builder.cells();
  job.name = table.cell(at.name).field.str();
  job.user = table.cell(at.user).field.str();
  std::int32_t gpus = 0;
  if (cells.whole(table.cell(at.gpus), 0, kMaxTasks, gpus) && gpus == 0) {
    builder.skip("they request no GPU");
    return false;
  }
  std::int64_t time = 0;
  if (cells.time(table.cell(at.submitted), time)) builder.submitted_at(job, time);
  switch (read_span(table, at, job.run_time, cells)) {
    case Span::never_started:
      builder.skip("they never started");
      return false;
    case Span::not_ended:
      builder.skip("they had not ended");
      return false;
    case Span::backwards:
      builder.skip("they end before they start");
      return false;
    case Span::known:
    case Span::failed:
      break;
  }
  std::int32_t nodes = 0;
  std::int32_t cpus = 0;
  if (at.nodes >= 0 && !is_none(table.cell(at.nodes))) cells.whole(table.cell(at.nodes), 0, kMaxTasks, nodes);
  if (at.cpus >= 0 && !is_none(table.cell(at.cpus))) cells.whole(table.cell(at.cpus), 0, kMaxCpus, cpus);
  const Split split = split_over(gpus, nodes, builder.options().node_gpus);
  job.tasks = split.tasks;
  job.task.gpus = split.gpus;
  const std::int64_t milli = std::int64_t{cpus} * 1000 / split.tasks;
  job.task.cpu = static_cast<Milli>(std::min<std::int64_t>(milli, kMaxMilli));
  return true;
}

}  // namespace weft::sched
