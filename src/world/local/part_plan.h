// Plan of a part: everything its supervisor needs to run the tasks of one node, computed by the engine and stored in
// the part's folder, so that the supervisor depends on nothing else. The environment is that of
// every engine (core/rank_environment.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/command.h"
#include "world/core/rank_environment.h"

namespace weft::world {

struct RankPlan {
  std::int32_t rank = 0;
  std::vector<std::string> environment;  // "NAME=VALUE"; the supervisor adds HOME and USER if they are missing
  std::string log;
};

struct PartPlan {
  control::AttemptName name;
  std::string node;
  control::BootId boot = 0;
  std::string marker;  // "WEFT_PART=...", in the environment of all its processes and of no others
  std::string cgroup;  // "": none
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string directory;  // "": the user's home
  std::vector<std::string> command;
  std::vector<std::string> checkpoints;  // directory of the job in each volume
  std::int32_t notice_signal = 0;        // that asks for a checkpoint; 0: none
  bool notice_file = false;              // it is asked through the request file
  bool user_logs = false;                // the submitter chose the log files: they are opened with its rights
  std::int64_t log_bytes = 0;            // per file
  std::int32_t log_files = 0;
  std::vector<RankPlan> ranks;
};

// The file of a plan; its first field is what a decision for it says. Texts must not contain NUL.
[[nodiscard]] std::string encode_plan(const PartPlan& plan);
[[nodiscard]] Result<PartPlan> parse_plan(std::string_view text);

// What plans depend on beyond the command.
struct PlanContext {
  std::string state;               // directory of the engine
  std::vector<std::string> nodes;  // names, by NodeId
  control::BootId boot = 0;
  std::string cgroup;  // directory for the cgroups of the parts; "": none
  std::int64_t log_bytes = 0;
  std::int32_t log_files = 0;
};

// What the plans of all nodes have in common; no node, no ranks.
[[nodiscard]] PartPlan make_common_plan(const control::StartAttempt& command, const PlanContext& context);

// One plan per node of the command, in the order of node ranks. Refuses what cannot be run here.
[[nodiscard]] Result<std::vector<std::pair<sched::NodeId, PartPlan>>> make_plans(const control::StartAttempt& command,
                                                                                 const PlanContext& context);

// A node's name as a file name.
[[nodiscard]] std::string encode_file_name(std::string_view name);

}  // namespace weft::world
