// What Slurm's database should contain for a cluster file: one account per tenant with its quota, one QoS per priority.
// The rendered script `accounts` and `weft accounts` are made from it. It does not know what the database contains.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "render/core/target.h"

namespace weft::render {

struct SlurmQosSpec {
  std::string name;
  std::int64_t priority = 0;
  std::vector<std::string> preempts;
};

struct SlurmAccountSpec {
  std::string name;
  std::vector<std::string> qos;                             // that its jobs may use; empty: not stated
  std::string default_qos;                                  // "": not stated
  std::vector<std::pair<std::string, std::string>> limits;  // GrpTRES: "gres/gpu" and "96", "mem" and "1024M"
};

struct SlurmAccountsSpec {
  std::string cluster;             // ClusterName
  std::int64_t grace_seconds = 0;  // of every QoS: time for a checkpoint
  std::vector<SlurmQosSpec> qos;   // lowest priority first: each lists only earlier ones
  std::vector<SlurmAccountSpec> accounts;
  std::vector<std::string> gpu_types;
};

[[nodiscard]] SlurmAccountsSpec slurm_accounts_of(const RenderInput& input);

}  // namespace weft::render
