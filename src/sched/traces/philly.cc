#include <fmt/format.h>

#include <algorithm>

#include "sched/traces/reader.h"

namespace weft::sched {

// Microsoft's Philly trace (Jeon et al., ATC 2019) in the form used by simulators, one row per job: submission time,
// run time, GPUs and virtual cluster.
std::optional<Workload> read_philly(const TraceInput& input, TraceBuilder& builder) {
  CellReader& cells = builder.cells();
  TraceTable table(input.file, *input.sources, cells.diagnostics());
  if (!table.open()) return std::nullopt;
  const int submitted = table.need("submit_time");
  const int duration = table.need("duration_s");
  const int gpus = table.need("num_gpus");
  const int tenant = table.need("vc");
  const int user = table.find("user");
  const int name = table.find("jobid");
  if (std::min({submitted, duration, gpus, tenant}) < 0) return std::nullopt;
  for (std::int64_t row = 1; table.next(); ++row) {
    Job job;
    job.name = name < 0 ? fmt::format("job-{}", row) : table.cell(name).field.str();
    job.tenant = table.cell(tenant).field.str();
    job.user = table.cell(user).field.str();
    std::int64_t time = 0;
    std::int32_t count = 0;
    if (cells.time(table.cell(submitted), time)) builder.submitted_at(job, time);
    cells.seconds(table.cell(duration), job.run_time);
    if (cells.whole(table.cell(gpus), 0, kMaxTasks, count) && count == 0) {
      if (!cells.take_failure()) builder.skip("they request no GPU");
      continue;
    }
    const Split split = split_gpus(count, builder.options().node_gpus);
    job.tasks = split.tasks;
    job.task.gpus = split.gpus;
    builder.add(std::move(job), table.start());
  }
  return builder.finish(name < 0);
}

}  // namespace weft::sched
