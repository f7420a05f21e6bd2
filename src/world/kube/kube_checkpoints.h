// Checkpoint volumes of engine `kubernetes`, as the machine of `weft serve` sees them: it has the same shared file
// systems at the same paths as the nodes, which the first container of every pod proves before a task starts, by
// reading a token that was written here (pod_plan.h). Volumes are read and written by helper processes, which may hang
// without delaying anything. For one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/command.h"
#include "control/event.h"
#include "world/local/checkpoint_watch.h"
#include "world/local/helper_process.h"

namespace weft::world {

// Where an attempt writes checkpoints and how it is asked for one.
struct CheckpointPlace {
  std::vector<std::string> directories;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  control::CheckpointNotice notice = control::CheckpointNotice::none;
};

// File of a job's directory that proves that node and `weft serve` see the same volume.
inline constexpr const char* kVolumeToken = ".weft-volume";
// File whose appearance or change asks the attempt for a checkpoint; "" without a volume.
[[nodiscard]] std::string request_file(const std::vector<std::string>& directories, const control::AttemptName& name);

class KubeCheckpoints {
 public:
  // `program`: as in start_supervisor().
  explicit KubeCheckpoints(std::vector<std::string> program) : program_(program), watch_(std::move(program)) {}

  // Creates the job's directories and writes the token there; `done` is called by poll().
  void prepare(const control::StartAttempt& command, const std::string& token, std::function<void(Status)> done);
  // Asks a running attempt; `done` is called now or by poll().
  void request(const control::RequestCheckpoint& command, std::function<void(Status)> done);
  void verify(const control::VerifyCheckpoint& command);

  void add(const control::AttemptName& name, const CheckpointPlace& place);
  void end(const control::AttemptName& name);
  void poll(sched::Moment now, std::vector<control::Event>& events);

 private:
  struct Pending {
    HelperProcess helper;
    std::function<void(Status)> done;
  };
  void run(const std::vector<std::string>& arguments, std::function<void(Status)> done);

  std::vector<std::string> program_;
  CheckpointWatch watch_;
  std::map<control::AttemptName, CheckpointPlace> places_;
  std::vector<Pending> pending_;
};

}  // namespace weft::world
