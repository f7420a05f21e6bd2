// Values of Slurm options: times, sizes, node counts, GPUs, signals, file names (sbatch(1), Slurm 22.05). Internal to
// serve/submit. Errors say what was expected; the caller adds the option and its location.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace weft::serve {

// "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours[:minutes[:seconds]]", rounded up to a minute;
// sched::kUnlimited for 0, UNLIMITED and INFINITE.
[[nodiscard]] Result<Duration> parse_slurm_time(std::string_view text);

// In MiB, rounded up: a number with the unit K, M (default), G or T.
[[nodiscard]] Result<std::int64_t> parse_slurm_size(std::string_view text);

// "4", "8-32", with suffix k or m.
struct NodeRange {
  std::int64_t min = 1;
  std::int64_t max = 1;
};
[[nodiscard]] Result<NodeRange> parse_node_range(std::string_view text);

// "8", "h100:8", "h100": GPUs with an optional type, which is "" for none.
struct GpuCount {
  std::string type;
  std::int64_t count = 1;
};
[[nodiscard]] Result<GpuCount> parse_gpu_count(std::string_view text);

// "[R|B:]USR1[@120]".
struct SlurmSignal {
  int number = 10;
  bool batch = false;  // B: to the script only
  std::int64_t seconds = 60;
};
[[nodiscard]] Result<SlurmSignal> parse_slurm_signal(std::string_view text);
// "USR1", "SIGUSR1" or "10"; 0 if unknown.
[[nodiscard]] int signal_number(std::string_view text);

// A file name pattern of Slurm in that of control::JobSpec::output. %x and %u are replaced; those that weft cannot fill
// in are errors.
[[nodiscard]] Result<std::string> convert_file_pattern(std::string_view pattern, std::string_view job,
                                                       std::string_view user);

// Words of an #SBATCH line, which has quotes, backslashes and comments.
struct DirectiveWord {
  std::string text;
  std::size_t column = 0;  // from 0
};
[[nodiscard]] Result<std::vector<DirectiveWord>> split_directive(std::string_view line);

}  // namespace weft::serve
