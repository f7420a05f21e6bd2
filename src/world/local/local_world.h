// Engine `local`: runs jobs as processes on this machine, with one slot per configured node, so that a gang of several
// nodes works on one box. Its state is in a directory; after a restart it finds its processes again and starts
// none twice. It sets no resource limits and has no BMC; policy is the controller's.
//
//   STATE/attempts/JOB.ATTEMPT/NODE/    parts of attempts (part_folder.h)
//   STATE/logs/JOB.ATTEMPT.TASK.log     output of the tasks, rotated
//   STATE/requests/JOB.ATTEMPT          requests for checkpoints, for jobs that are asked through a file
//   STATE/cordons                       cordon marks
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "world/core/world.h"
#include "world/local/checkpoint_watch.h"
#include "world/local/cordon_marks.h"
#include "world/local/local_part.h"
#include "world/local/part_plan.h"

namespace weft::world {

struct LocalOptions {
  std::string state;               // directory; created if missing
  std::vector<std::string> nodes;  // names, by NodeId
  // Several controllers share the directory and one of them leads: the lock of an earlier leader, which may be stopped,
  // is not waited for. Parts of attempts have locks of their own.
  bool shared = false;
  bool cgroups = true;                // use cgroups where they can be created; otherwise sessions and process groups
  std::int64_t log_bytes = 64 << 20;  // per log file
  std::int32_t log_files = 4;         // per task, including the current one
  std::int64_t min_free_bytes = 16 << 20;                  // in the state directory: with less, no attempt is started
  Duration keep_ended = sched::seconds(30LL * 24 * 3600);  // records of attempts that ended longer ago are removed
  // Program and arguments that lead to run_helper() (helper_process.h): /proc/self/exe and the hidden command of weft.
  // Empty: supervisors are forked without exec, which needs a process with one thread.
  std::vector<std::string> helper{};
};

class LocalWorld final : public World {
 public:
  // `conflict` if another process uses the state directory.
  [[nodiscard]] static Result<std::unique_ptr<LocalWorld>> open(const LocalOptions& options);
  // Attempts keep running.
  ~LocalWorld() override;

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;

  [[nodiscard]] control::BootId boot() const { return context_.boot; }
  [[nodiscard]] bool uses_cgroups() const { return !context_.cgroup.empty(); }

 private:
  using PartKey = std::pair<control::AttemptName, sched::NodeId>;
  struct PreparedPart {
    sched::NodeId node{};
    PartFolder folder;
    FileDescriptor lock;   // not ok(): it has a supervisor or a decision
    bool created = false;  // its folder, by this command
  };
  struct AwaitedCheckpoint {
    StopRequest stop;
    std::vector<sched::NodeId> nodes;
    std::int64_t since_ns = 0;  // of the wall clock
  };

  LocalWorld(const LocalOptions& options, PlanContext context, FileDescriptor lock);
  [[nodiscard]] Status load();
  void load_attempt(const std::string& path, const control::AttemptName& name);

  void handle(const control::StartAttempt& command, sched::Moment now);
  void handle(const control::StopAttempt& command, sched::Moment now);
  void handle(const control::RequestCheckpoint& command, sched::Moment now);
  void handle(const control::VerifyCheckpoint& command, sched::Moment now);
  void handle(const control::QueryInventory& command, sched::Moment now);
  void handle(const control::CordonNode& command, sched::Moment now);
  void handle(const control::PowerCycle& command, sched::Moment now);
  void handle(const control::RepairNode& command, sched::Moment now);
  void handle(const control::ValidateNode& command, sched::Moment now);
  void handle(const control::LeaseOrder& order, sched::Moment now);

  void reply(control::OperationId operation, control::ReplyKind kind, std::string text = {});
  [[nodiscard]] std::string part_path(const control::AttemptName& name, sched::NodeId node) const;
  LocalPart& part_of(const control::AttemptName& name, sched::NodeId node);
  // Not ok(): nothing of the attempt was started by this command; `conflict` if it is sealed.
  [[nodiscard]] Status prepare(const std::vector<std::pair<sched::NodeId, PartPlan>>& plans,
                               std::vector<PreparedPart>& prepared);
  [[nodiscard]] Status start_prepared(const control::AttemptName& name, std::vector<PreparedPart>& prepared);
  [[nodiscard]] Status check_node(sched::NodeId node) const;
  [[nodiscard]] std::int64_t free_bytes() const;

  void update_parts(sched::Moment now, std::vector<control::Event>& events);
  void watch_checkpoints_of(const LocalPart& part);
  void stop_after_checkpoints();
  void report_nodes(sched::Moment now, std::vector<control::Event>& events);
  [[nodiscard]] control::Inventory take_inventory(sched::Moment now) const;

  LocalOptions options_;
  PlanContext context_;
  FileDescriptor lock_;
  std::map<PartKey, LocalPart> parts_;  // that are not over
  CheckpointWatch checkpoints_;
  CordonMarks cordons_;
  std::map<control::AttemptName, AwaitedCheckpoint> awaited_;
  std::vector<control::Event> pending_;
  int inventories_ = 0;
  control::Term term_ = 0;  // of the last query
  bool nodes_reported_ = false;
  sched::Moment nodes_reported_at_{};
};

}  // namespace weft::world
