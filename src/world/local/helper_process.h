// Processes that the engine starts for its own work: supervisors of parts, and readers of checkpoint volumes, which may
// hang (NFS) and must not block the engine. Either weft itself executed again, or a fork without exec.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace weft::world {

// Runs what `arguments` name, and returns the status to exit with. weft calls it for the hidden command whose words the
// engine has as its `helper`.
//   supervise FOLDER                      lock of the folder: descriptor 3
//   verify JOB UID GID DIRECTORY...       fields of a CheckpointVerified to standard output
//   prepare UID GID DIRECTORY...          creates checkpoint directories; what failed to standard output
//   mark UID GID TEXT FILE...             writes files of checkpoint directories; what failed to standard output
//   scan [JOB ATTEMPT UID GID SINCE COUNT DIRECTORY...]...   new checkpoints to standard output
[[nodiscard]] int run_helper(const std::vector<std::string>& arguments);

// Starts a supervisor, which inherits `lock`. `program` empty: without exec, for processes with one thread.
[[nodiscard]] Result<pid_t> start_supervisor(const std::vector<std::string>& program, const std::string& folder,
                                             const FileDescriptor& lock);

// A helper whose output is read without blocking. It is killed when this object or the engine ends.
class HelperProcess {
 public:
  HelperProcess() = default;
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  HelperProcess(HelperProcess&& other) noexcept;
  HelperProcess& operator=(HelperProcess&& other) noexcept;
  ~HelperProcess();

  [[nodiscard]] static Result<HelperProcess> start(const std::vector<std::string>& program,
                                                   const std::vector<std::string>& arguments);
  // Its NUL-terminated fields, once it has ended; without the last one, "end". An error if it did not complete.
  [[nodiscard]] std::optional<Result<std::vector<std::string>>> poll();

 private:
  pid_t pid_ = 0;
  FileDescriptor output_;
  std::string received_;
};

}  // namespace weft::world
