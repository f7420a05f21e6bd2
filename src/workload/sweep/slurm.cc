#include "workload/sweep/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/quoting.h"

namespace weft::workload {
namespace {

// MaxArraySize is 1001 unless slurm.conf sets it, and indices must be below it (slurm.conf(5)).
constexpr std::uint64_t kArrayTasks = 1'000;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.,:%/@+=-").find(c) != std::string_view::npos;
}

// #SBATCH lines are not parsed by a shell: characters that could end or split one are replaced.
std::string directive(std::string_view value) {
  std::string out(value);
  for (char& c : out) c = is_plain(c) ? c : '_';
  return out;
}

std::string task_list(const SlurmSweep& sweep, std::uint64_t each, std::uint64_t tasks) {
  if (sweep.missing.empty()) return fmt::format("0-{}", tasks - 1);
  std::vector<std::uint64_t> indices;
  for (const std::uint64_t point : sweep.missing) {
    if (indices.empty() || indices.back() != point / each) indices.push_back(point / each);
  }
  return index_list(indices);
}

}  // namespace

std::string index_list(std::span<const std::uint64_t> indices) {
  std::string out;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(indices[i]);
    if (last > i) out += '-' + std::to_string(indices[last]);
    i = last + 1;
  }
  return out;
}

std::string slurm_sweep_script(const SlurmSweep& sweep) {
  const std::uint64_t points = std::max<std::uint64_t>(1, sweep.points);
  const std::uint64_t each = (points + kArrayTasks - 1) / kArrayTasks;
  const std::uint64_t tasks = (points + each - 1) / each;
  std::string command;
  for (const std::string& word : sweep.command) command += shell_quote(word) + " ";
  std::string out = fmt::format("#!/bin/bash\n#SBATCH --job-name={}\n#SBATCH --array={}", directive(sweep.name),
                                task_list(sweep, each, tasks));
  if (sweep.at_once > 0) out += fmt::format("%{}", sweep.at_once);
  out += fmt::format("\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task={}\n", std::max(1U, sweep.cpus));
  if (!sweep.memory.empty()) out += fmt::format("#SBATCH --mem={}\n", directive(sweep.memory));
  if (!sweep.time_limit.empty()) out += fmt::format("#SBATCH --time={}\n", directive(sweep.time_limit));
  if (!sweep.partition.empty()) out += fmt::format("#SBATCH --partition={}\n", directive(sweep.partition));
  if (!sweep.log.empty()) out += fmt::format("#SBATCH --output={}\n", directive(sweep.log));
  out += fmt::format(
      "# {} points. Points that are already in the results file are skipped: submit again to continue.\n"
      "set -euo pipefail\n",
      points);
  if (!sweep.directory.empty()) out += fmt::format("cd {}\n", shell_quote(sweep.directory));
  if (each == 1) return out + fmt::format("exec {}--point \"$SLURM_ARRAY_TASK_ID\"\n", command);
  out += fmt::format(
      "first=$((SLURM_ARRAY_TASK_ID * {}))\nlast=$((first + {}))\n"
      "if ((last > {})); then last={}; fi\n"
      "exec {}--point \"$first-$last\"\n",
      each, each - 1, points - 1, points - 1, command);
  return out;
}

}  // namespace weft::workload
