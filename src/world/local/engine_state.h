// State directory of an engine: its folders, the lock that keeps a second weft out, names of attempts in file names,
// files that ask for checkpoints.
//
//   STATE/attempts/   what an engine must remember of its attempts; only weft reads it
//   STATE/logs/       JOB.ATTEMPT.TASK.log, output of the tasks
//   STATE/requests/   JOB.ATTEMPT, requests for checkpoints
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "control/ids.h"

namespace weft::world {

// Creates what is missing and returns the canonical path.
[[nodiscard]] Result<std::string> make_engine_state(const std::string& state);
// `conflict` if another process has it.
[[nodiscard]] Result<FileDescriptor> lock_engine_state(const std::string& state);
// Node names of a cluster: not empty, without NUL and commas, each once.
[[nodiscard]] Status check_node_names(const std::vector<std::string>& nodes);

// Inverse of to_text().
[[nodiscard]] std::optional<control::AttemptName> parse_attempt_name(std::string_view text);
// Names of the entries of a folder, sorted; none if it cannot be read.
[[nodiscard]] std::vector<std::string> list_folder(const std::string& path);

// Asks an attempt for a checkpoint through its request file; once per operation.
[[nodiscard]] Status write_request_file(const std::string& state, const control::AttemptName& name,
                                        control::OperationId operation);

// Creates the checkpoint directory of a job with the rights of its user or, where the user may not write to the volume,
// as root for the user. For processes with one thread.
[[nodiscard]] Status make_checkpoint_directory(const std::string& directory, std::uint32_t uid, std::uint32_t gid);

}  // namespace weft::world
