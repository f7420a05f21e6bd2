// Jobs of Slurm from `squeue --Format`: one record of fixed width per job. `squeue --json` prints 3.7 KB per job and
// takes eight times the processor time. Fields are found by their position, in bytes, so that no text of a user (a
// comment with line breaks) can pass for a record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

// Arguments of squeue. SLURM_TIME_FORMAT must be "%s".
[[nodiscard]] std::vector<std::string> job_table_command();

// Jobs whose comment begins with `comment`; others are skipped. An answer that is truncated or not such a table is an
// error as a whole; so is a field of one of these jobs that fills its width, since it may have been cut off.
[[nodiscard]] Result<std::vector<SlurmJob>> parse_job_table(std::string_view text, std::string_view comment);

}  // namespace weft::world
