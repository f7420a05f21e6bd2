// The batch script that plays a sweep as a Slurm job array, a task for each point (or for a few, where there are more
// points than an array has by default).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::workload {

struct SlurmSweep {
  std::string name = "weft-sweep";
  std::uint64_t points = 1;
  std::uint32_t at_once = 16;  // tasks that run at the same time; 0: as many as Slurm lets
  std::uint32_t cpus = 1;      // of a task
  std::string memory = "8G";   // of a task
  std::string time_limit = "01:00:00";
  std::string partition;  // empty: the default one
  std::string log = "sweep-%A_%a.log";
  std::vector<std::string> command;  // words, without --point
};

[[nodiscard]] std::string slurm_sweep_script(const SlurmSweep& sweep);

}  // namespace weft::workload
