// What the ranks of an attempt are started with, the same in every engine: order of the ranks, torchrun environment,
// log files, checkpoint directories. Starts nothing.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "control/command.h"

namespace weft::world {

using Variables = std::map<std::string, std::string>;

// Order of the ranks of a gang and of its nodes. A node's rank is the order of its first task.
struct GangLayout {
  struct Rank {
    sched::NodeId node{};
    std::size_t node_rank = 0;
    std::size_t local_rank = 0;  // among the tasks of its node
  };
  std::vector<Rank> ranks;
  std::vector<sched::NodeId> nodes;     // by node rank
  std::vector<std::size_t> node_tasks;  // by node rank
};
[[nodiscard]] GangLayout make_layout(const std::vector<sched::Slot>& slots);

// What the environment depends on beyond the command.
struct EnvironmentContext {
  std::string state;                 // directory of the engine
  std::vector<std::string> nodes;    // names, by NodeId
  std::string master = "127.0.0.1";  // address of the node of rank 0
};

// Variables that are the same for every rank. The submitter's do not replace those of weft.
[[nodiscard]] Variables common_variables(const control::StartAttempt& command, const EnvironmentContext& context,
                                         const GangLayout& layout);
// Variables of one rank.
[[nodiscard]] Variables rank_variables(const control::StartAttempt& command, const EnvironmentContext& context,
                                       const GangLayout& layout, std::size_t rank);

// Log file of a task; `task` is its number, or what an engine replaces by it. `%` in other places of the submitter's
// pattern becomes `percent`.
[[nodiscard]] std::string log_file(const control::StartAttempt& command, const std::string& state,
                                   std::string_view task, std::string_view percent = "%");

// What no engine can run: NUL bytes, invalid names, relative volumes. "": nothing.
[[nodiscard]] std::string find_text_problem(const control::JobSpec& spec);
// Why this process cannot start jobs of the user. "": it can.
[[nodiscard]] std::string find_user_problem(const control::JobSpec& spec);

// Directory of a job in a volume.
[[nodiscard]] std::string job_checkpoint_directory(const std::string& volume, control::JobNumber job);
[[nodiscard]] std::vector<std::string> job_checkpoint_directories(const control::JobSpec& spec, control::JobNumber job);
// File whose appearance or change asks the attempt for a checkpoint.
[[nodiscard]] std::string checkpoint_request_file(const std::string& state, const control::AttemptName& name);
[[nodiscard]] std::string to_text(const control::AttemptName& name);  // "12.1"

}  // namespace weft::world
