// The batch script that runs a sweep as a Slurm job array, one task per point (or per few points, if there are more
// points than an array can have by default). It does not submit anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::workload {

struct SlurmSweep {
  std::string name = "weft-sweep";
  std::uint64_t points = 1;
  std::vector<std::uint64_t> missing;  // only the tasks of these points, ascending; empty: all
  std::uint32_t at_once = 16;          // tasks that run at the same time; 0: no limit
  std::uint32_t cpus = 1;              // per task
  std::string memory = "8G";           // per task
  std::string time_limit = "01:00:00";
  std::string partition;  // empty: the default partition
  std::string log = "sweep-%A_%a.log";
  std::string directory;             // of the tasks; empty: where it is submitted
  std::vector<std::string> command;  // argv, without --point
};

// "0-4,7": numbers in ascending order, as sbatch and --point want them.
[[nodiscard]] std::string index_list(std::span<const std::uint64_t> indices);
[[nodiscard]] std::string slurm_sweep_script(const SlurmSweep& sweep);

}  // namespace weft::workload
