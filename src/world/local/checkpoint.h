// Checkpoints on disk: how a job writes them, and how the engine finds the newest one that is intact. The engine never
// writes or removes a checkpoint, and does not know what is in one.
//
// A job has one directory per volume (WEFT_CHECKPOINT_DIRS, separated by colons); with two it alternates between them.
// A writer
//   1. writes the files of the checkpoint to DIRECTORY/.tmp-NAME/,
//   2. writes DIRECTORY/.tmp-NAME/manifest.json:
//        {"format": 1, "job": 12, "attempt": 1, "step": 120,
//         "files": [{"path": "model.bin", "bytes": 4096, "sha256": "..."}]}
//      with paths relative to the checkpoint, separated by '/',
//   3. syncs the files and the directory (fsync),
//   4. renames it to DIRECTORY/NAME/ and syncs DIRECTORY. NAME is "step-" and the step in 12 digits.
// A checkpoint without its final name does not exist. A replaced one is removed before its name is used again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "control/ids.h"

namespace weft::world {

struct CheckpointInfo {
  std::string name;  // "step-000000000120"
  std::string path;
  control::AttemptName attempt;  // that wrote it
  std::int64_t step = 0;
  std::int64_t bytes = 0;       // of its files, by the manifest
  std::int64_t written_ns = 0;  // when its manifest was written, since the epoch, by the clock of the volume
  Duration took{};              // from the creation of its directory to the manifest; 0: unknown
};

// "step-000000000120"; for steps of more than 12 digits, "".
[[nodiscard]] std::string checkpoint_name(std::int64_t step);
// The step, or nullopt if it is not the name of a checkpoint.
[[nodiscard]] std::optional<std::int64_t> parse_checkpoint_name(std::string_view name);

// Reads the manifest and every byte of the files. Rejects a manifest that is torn, too large or names another job or
// step; paths out of the checkpoint, symbolic links; sizes and checksums that differ. `job` 0: any.
[[nodiscard]] Result<CheckpointInfo> verify_checkpoint(const std::string& path, control::JobNumber job = 0);

// Checkpoints in the directory of a job whose manifests are complete, by step; their files are not read. Only those
// written at or after `since_ns`. A directory that does not exist has none, if the volume does.
[[nodiscard]] Result<std::vector<CheckpointInfo>> list_checkpoints(const std::string& directory,
                                                                   std::int64_t since_ns = 0);

struct NewestCheckpoint {
  std::optional<CheckpointInfo> intact;
  std::vector<std::string> rejected;  // newer ones, or volumes: "PATH: reason"
  bool readable = true;               // false: a directory could not be read; there may be a newer one in it
};
// Over all directories of the job. Copies of a checkpoint in several directories are tried one after another.
[[nodiscard]] NewestCheckpoint find_newest(const std::vector<std::string>& directories, control::JobNumber job);

}  // namespace weft::world
