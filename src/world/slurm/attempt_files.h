// Files of an attempt in the state directory of engine `slurm`: the plan that a restarted weft needs, logs that the
// job's user may write, and the exit status that the batch script leaves. May block on a slow file system: called from
// the worker thread only.
//
//   STATE/attempts/JOB.ATTEMPT    the plan (part_plan.h), without ranks; its node is the list of nodes
//   STATE/logs/JOB.ATTEMPT.*.log  output of the tasks; of the batch script and srun: "batch"
//   STATE/ends/JOB.ATTEMPT        exit status of the batch script, empty until its end
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/local/part_plan.h"

namespace weft::world {

struct AttemptFiles {
  std::string state;
  PartPlan plan;
  std::vector<std::string> logs;    // to create for the user
  std::vector<std::string> helper;  // creates the checkpoint directories; empty: the job does
};
// Durable when it returns.
[[nodiscard]] Status prepare_files(const AttemptFiles& files);
// The plan of an attempt that an earlier weft started.
[[nodiscard]] Result<PartPlan> load_plan(const std::string& state, const control::AttemptName& name);

// How an attempt ended, as its files tell.
struct EndRecord {
  std::optional<std::int32_t> status;  // of the batch script
  std::optional<std::int32_t> code;    // of the first task that failed
  std::string text;                    // "rank 2 on n2: Killed"
};
[[nodiscard]] EndRecord read_end(const std::string& state, const control::AttemptName& name);
// The first message about a failed task: of srun, "srun: error: n2: task 2: Killed", or of the task script, which could
// not start the program: "weft: rank 2 on n2: apptainer is not installed".
[[nodiscard]] EndRecord parse_srun_log(std::string_view text);

// Removes the records of attempts that ended longer ago, and returns those that are left.
[[nodiscard]] std::vector<control::AttemptName> load_attempt_names(const std::string& state, Duration keep);

}  // namespace weft::world
