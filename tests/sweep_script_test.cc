// The batch script of a sweep, run by bash like Slurm would: each task gets its points, and no argument is split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "lab.h"
#include "workload/sweep/slurm.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;

std::string task_of(const std::string& script, std::uint64_t task) {
  Lab lab("sweep");
  lab.put("sweep.sh", script);
  lab.variable("SLURM_ARRAY_TASK_ID", std::to_string(task));
  const Outcome outcome = lab.run({"bash", "sweep.sh"}, 20, true);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  return outcome.out;
}

TEST(SweepScript, ArgumentsAreNotSplit) {
  workload::SlurmSweep sweep;
  sweep.points = 8;
  sweep.command = {"printf", "[%s]", "it's $HOME `x`", "a b", "job.nodes=1,2", ""};
  EXPECT_EQ(task_of(workload::slurm_sweep_script(sweep), 5), "[it's $HOME `x`][a b][job.nodes=1,2][][--point][5]");
}

TEST(SweepScript, EveryPointRunsOnce) {
  workload::SlurmSweep sweep;
  sweep.points = 2'500;  // three per task
  sweep.command = {"echo"};
  const std::string script = workload::slurm_sweep_script(sweep);
  EXPECT_EQ(task_of(script, 0), "--point 0-2\n");
  EXPECT_EQ(task_of(script, 833), "--point 2499-2499\n");
}

TEST(SweepScript, OnlyTasksOfMissingPoints) {
  workload::SlurmSweep sweep;
  sweep.points = 8;
  sweep.missing = {0, 1, 2, 5, 7};
  EXPECT_NE(workload::slurm_sweep_script(sweep).find("#SBATCH --array=0-2,5,7%16\n"), std::string::npos);
  sweep.points = 2'500;
  sweep.missing = {0, 2, 3, 2'499};
  EXPECT_NE(workload::slurm_sweep_script(sweep).find("#SBATCH --array=0-1,833%16\n"), std::string::npos);
}

}  // namespace
}  // namespace weft
