// Jobs and nodes of Slurm for watch mode: whole job records, what Slurm's reasons for waiting mean, and what a node's
// state says about its health.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/event.h"
#include "world/core/observed.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

// All jobs of a list (see slurm_json.h), in Slurm's order.
[[nodiscard]] Result<std::vector<ObservedJob>> parse_observed_jobs(std::string_view text);
[[nodiscard]] WaitKind wait_kind_of(std::string_view reason);

// GPUs of a request such as "gres:gpu:h100:8", "gres/gpu:4" or "gpu:2".
[[nodiscard]] std::uint32_t count_requested_gpus(std::string_view tres);

// "drained by root: bad DIMM"; "": Slurm would start jobs there.
[[nodiscard]] std::string why_out_of_service(const SlurmNode& node);
[[nodiscard]] ObservedNode observe_node(const SlurmNode& node);

// What a node's state in Slurm says about its health. Fatal is only what slurmctld itself found: a node that a person
// set down or drained is that person's, whatever the reason says.
struct NodeFinding {
  control::Health health = control::Health::healthy;
  std::string rule;    // "not-responding"; "": none applies
  std::string signal;  // for people
};
[[nodiscard]] NodeFinding judge_node(const SlurmNode& node);

}  // namespace weft::world
