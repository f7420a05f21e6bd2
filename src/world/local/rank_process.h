// One rank: a process that runs the job's command, started by the supervisor of its part. Its output comes through a
// pipe; an error before the program runs (no such file, no such directory) comes through another one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "world/local/part_plan.h"
#include "world/local/rotating_log.h"
#include "world/local/user_rights.h"

namespace weft::world {

class RankProcess {
 public:
  RankProcess(const RankPlan& plan, const LogOptions& log) : plan_(plan), log_(plan.log, log) {}

  // errno, or 0. `cgroup`: cgroup.procs to enter, or -1.
  [[nodiscard]] int start(const PartPlan& part, const UserAccount& account, int cgroup);
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_running() const { return pid_ > 0 && !ended_; }
  [[nodiscard]] int output() const { return output_.get(); }  // -1: closed
  [[nodiscard]] std::int32_t rank() const { return plan_.rank; }

  // To it and to the processes of its group.
  void signal_group(int signal) const;
  void signal_process(int signal) const;

  // Moves what is available from the pipe to the log. True: there may be more.
  bool read_output();
  // Its wait status.
  void note_end(int status, const PartPlan& part);
  void finish_log();

  [[nodiscard]] std::int32_t code() const { return code_; }        // exit status, or 128 + signal
  [[nodiscard]] const std::string& text() const { return text_; }  // "exit status 3"; "" for 0

 private:
  [[noreturn]] void run(const PartPlan& part, const UserAccount& account, int cgroup, int output, int problems) const;

  const RankPlan& plan_;
  RotatingLog log_;
  FileDescriptor output_;
  FileDescriptor problems_;
  pid_t pid_ = 0;
  bool ended_ = false;
  std::int32_t code_ = 0;
  std::string text_;
};

}  // namespace weft::world
