// Folder of a part of an attempt: the protocol between the engine and the part's supervisor, in files. Whoever is
// killed at any instruction, a part is started at most once and its outcome is recorded once. It starts and kills
// nothing itself.
//
//   lock         locked (OFD) by the engine before it forks a supervisor, and then by the supervisor until it ends:
//                free means that no supervisor is alive and none is on its way
//   plan         what to run (part_plan.h)
//   decision     `start` or `sealed`: a hard link to `plan` or `seal`, so that exactly one is ever made
//   supervisor   its pid and start time, written before the decision
//   stop         request to stop; notice: request for a checkpoint
//   exit         outcome, written once no process of the part is left
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "control/ids.h"
#include "world/local/part_plan.h"
#include "world/local/process_table.h"

namespace weft::world {

enum class PartDecision : std::uint8_t { none, start, sealed };

struct StopRequest {
  control::OperationId operation = 0;
  std::int64_t terminate_at = 0;  // SIGTERM; monotonic_ns()
  std::int64_t kill_at = 0;       // SIGKILL
  bool notice = false;            // ask for a checkpoint at once
};

struct ExitRecord {
  std::int32_t code = 0;
  std::string text;
};

// A full disk is named as such: "disk full: cannot write".
[[nodiscard]] Error disk_error(int code, std::string_view what, const std::string& path);
// Creates the folder and its parents; what is new is synced.
[[nodiscard]] Status make_folders(const std::string& path, unsigned mode);
[[nodiscard]] Status sync_folder(const std::string& path);

class PartFolder {
 public:
  explicit PartFolder(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const { return path_; }

  // `conflict` if a supervisor is alive. The folder must exist.
  [[nodiscard]] Result<FileDescriptor> lock() const;
  [[nodiscard]] Result<bool> is_locked() const;

  // Everything that a start needs, with space reserved for the records of its stop and its exit. The caller holds the
  // lock.
  [[nodiscard]] Status prepare(const PartPlan& plan) const;
  [[nodiscard]] Result<PartPlan> read_plan() const;
  [[nodiscard]] bool has_plan() const;

  [[nodiscard]] Result<PartDecision> read_decision() const;
  // Each returns the decision that holds, now or from before; it survives a power loss.
  [[nodiscard]] Result<PartDecision> decide_start() const;
  [[nodiscard]] Result<PartDecision> decide_sealed() const;

  [[nodiscard]] Status write_supervisor(const ProcessId& process) const;
  [[nodiscard]] std::optional<ProcessId> read_supervisor() const;
  [[nodiscard]] Status write_stop(const StopRequest& request) const;
  [[nodiscard]] std::optional<StopRequest> read_stop() const;
  [[nodiscard]] Status write_notice(control::OperationId operation) const;
  [[nodiscard]] control::OperationId read_notice() const;  // 0: none
  [[nodiscard]] Status write_exit(const ExitRecord& record) const;
  [[nodiscard]] Result<std::optional<ExitRecord>> read_exit() const;

  // Removes the folder of a part that was never decided. The caller holds the lock or knows that nothing was started.
  void discard() const;

 private:
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  [[nodiscard]] Status reserve(std::string_view name, std::int64_t bytes) const;
  [[nodiscard]] Status replace(std::string_view name, std::string_view content, bool durable) const;
  [[nodiscard]] Result<PartDecision> decide(std::string_view source) const;

  std::string path_;
};

}  // namespace weft::world
