// One part of an attempt as the engine sees it: reads its folder, reports changes, and cleans up after a supervisor
// that died. Holds nothing that a restarted engine could not find again in the folder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "control/event.h"
#include "world/local/part_folder.h"

namespace weft::world {

// Exit code of a part whose supervisor died or whose machine was rebooted: not the exit status of a program.
inline constexpr std::int32_t kPartLost = -1;

class LocalPart {
 public:
  LocalPart(std::string folder, const control::AttemptName& name, sched::NodeId node, control::BootId boot)
      : folder_(std::move(folder)), name_(name), node_(node), boot_(boot) {}

  [[nodiscard]] const PartFolder& folder() const { return folder_; }
  [[nodiscard]] const control::AttemptName& name() const { return name_; }
  [[nodiscard]] sched::NodeId node() const { return node_; }

  // A start was requested; `supervisor` is its process, or 0 if it could not be started.
  void expect_start(pid_t supervisor);
  // The next update reports its state, even if it is known.
  void report_again() { reported_running_ = false; }

  enum class Progress : std::uint8_t {
    waiting,  // for its supervisor's decision, or for its processes to be killed
    running,
    over  // it is not running and has been reported
  };
  // Appends reports of what has changed. Never blocks.
  Progress update(sched::Moment now, std::vector<control::Event>& events);

  // Seals the part if it was not started, otherwise asks its supervisor to stop it.
  [[nodiscard]] Status stop(const StopRequest& request);
  // Asks its supervisor to send the notice signal.
  [[nodiscard]] Status notify(control::OperationId operation) const;

 private:
  [[nodiscard]] bool is_supervisor_alive();
  Progress report(control::PartPhase phase, const ExitRecord& record, sched::Moment now,
                  std::vector<control::Event>& events) const;
  Progress update_dead(sched::Moment now, std::vector<control::Event>& events);
  bool clean_up();
  void wake() const;

  PartFolder folder_;
  control::AttemptName name_;
  sched::NodeId node_{};
  control::BootId boot_ = 0;
  pid_t child_ = 0;        // the supervisor, while it is our child and not reaped
  bool expected_ = false;  // by a command to this engine
  bool reported_running_ = false;
  int quiet_scans_ = 0;  // in a row, without a process of the part
};

}  // namespace weft::world
