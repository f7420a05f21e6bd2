// Watches the checkpoint volumes of running attempts for new checkpoints, and verifies checkpoints on request. All
// reading is done by helper processes, so that a volume that hangs delays neither commands nor reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/event.h"
#include "world/local/helper_process.h"

namespace weft::world {

class CheckpointWatch {
 public:
  // `program`: as in start_supervisor().
  explicit CheckpointWatch(std::vector<std::string> program) : program_(std::move(program)) {}

  void add(const control::AttemptName& name, const std::vector<std::string>& directories, std::uint32_t uid,
           std::uint32_t gid);
  // It has ended: its volumes are read once more.
  void end(const control::AttemptName& name);
  // Reads the volumes more often: an attempt that is to be stopped waits for a checkpoint.
  void hurry(const control::AttemptName& name);

  struct Verification {
    control::OperationId operation = 0;
    control::JobNumber job = 0;
    std::vector<std::string> directories;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    bool may_be_missing = false;  // no attempt of the job has run here: its volumes may not exist yet
  };
  void verify(const Verification& request);

  void poll(sched::Moment now, std::vector<control::Event>& events);
  // When the newest checkpoint of the attempt that has been reported was written; since the epoch.
  [[nodiscard]] std::int64_t last_written_ns(const control::AttemptName& name) const;

 private:
  struct Watched {
    std::vector<std::string> directories;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::int64_t newest_ns = 0;
    std::set<std::pair<std::string, std::int64_t>> seen;  // name and time of those around the newest
    bool hurried = false;
    bool ended = false;
    bool last_scan = false;  // the scan that is under way began after its end
  };
  struct PendingVerification {
    Verification request;
    HelperProcess helper;
  };

  void start_scan();
  void finish_scan(const std::vector<std::string>& fields, sched::Moment now, std::vector<control::Event>& events);
  [[nodiscard]] bool is_due() const;
  static control::CheckpointVerified answer(const Verification& request,
                                            const Result<std::vector<std::string>>& fields);

  std::vector<std::string> program_;
  std::map<control::AttemptName, Watched> watched_;
  std::vector<PendingVerification> verifications_;
  std::vector<Verification> not_started_;
  std::optional<HelperProcess> scan_;
  std::int64_t scanned_at_ = 0;  // monotonic_ns()
};

}  // namespace weft::world
