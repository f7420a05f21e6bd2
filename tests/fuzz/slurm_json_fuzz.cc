// Bytes as an answer of Slurm: read as jobs and as nodes, whatever they are. What was cut off is never a shorter list.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "world/slurm/job_array.h"
#include "world/slurm/job_runs.h"
#include "world/slurm/job_table.h"
#include "world/slurm/slurm_json.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::world;
  if (size > 65536) return 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto jobs = parse_slurm_jobs(text, ""); jobs.ok()) {
    for (const SlurmJob& job : *jobs) CHECK(job.id != 0 && job.submitted > 0, "a job can be told apart from others");
    const std::size_t end = text.find_last_of('}');
    CHECK(!parse_slurm_jobs(text.substr(0, end), "").ok(), "a truncated answer is an error");
  }
  if (const auto jobs = parse_job_table(text, "", {}); jobs.ok()) {
    for (const SlurmJob& job : *jobs) CHECK(job.id != 0 && job.submitted > 0, "a job can be told apart from others");
    CHECK(size == 0 || !parse_job_table(text.substr(1), "", {}).ok(), "a truncated answer is an error");
  }
  if (const auto tasks = parse_array_tasks(text); tasks.ok()) {
    for (const ArrayTask& task : *tasks) CHECK(!task.state.empty(), "a task has a state");
  }
  if (const auto runs = parse_job_runs(text); runs.ok()) {
    for (const JobRun& run : *runs) CHECK(run.id != 0 && run.memory_mib >= 0, "a run can be told apart from others");
    CHECK(!parse_job_runs(text.substr(0, text.find_last_of('}'))).ok(), "a truncated answer is an error");
  }
  (void)find_accounted_end(text, 7, 1'794'957'263);
  if (const auto nodes = parse_slurm_nodes(text); nodes.ok()) {
    for (const SlurmNode& node : *nodes) CHECK(!node.name.empty() && !node.state.empty(), "a node has a state");
  }
  return 0;
}
