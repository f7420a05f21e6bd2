// Jobs of Slurm from `squeue --Format`: one record of fixed width per job. `squeue --json` prints 3.7 KB per job and
// takes eight times the processor time. Fields are found by their position, in bytes, so that no text of a user (a
// comment with line breaks) can pass for a record.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

// Widths in bytes of the columns whose text has no limit. squeue pads fields character by character, which takes most
// of its time: columns are narrow until a text does not fit.
struct JobTableWidths {
  std::size_t nodes = 32;
  std::size_t comment = 64;
};
inline constexpr JobTableWidths kMaxJobTableWidths = {512, 256};

// Arguments of squeue. SLURM_TIME_FORMAT must be "%s".
[[nodiscard]] std::vector<std::string> job_table_command(const JobTableWidths& widths);

// Jobs whose comment begins with `comment`; others are skipped. An answer that is truncated or not such a table is an
// error as a whole (`unavailable`); so is a field of one of these jobs that fills its width, since it may have been cut
// off (`invalid_input`: it needs wider columns).
[[nodiscard]] Result<std::vector<SlurmJob>> parse_job_table(std::string_view text, std::string_view comment,
                                                            const JobTableWidths& widths);

}  // namespace weft::world
