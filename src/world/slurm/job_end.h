// What the end of a Slurm job means for the parts of its attempt: exit code and reason. Computes only.
#pragma once

#include <cstdint>
#include <string>

#include "world/slurm/attempt_files.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

// Exit code of a part whose end says nothing about the program: the node, Slurm or its rules ended it.
inline constexpr std::int32_t kNotTheProgram = -1;

struct PartOutcome {
  std::int32_t code = 0;
  std::string text;
};
// `by_weft`: weft had asked for the stop.
[[nodiscard]] PartOutcome describe_end(const SlurmJob& job, const EndRecord& record, bool by_weft);

}  // namespace weft::world
