// Jobs and nodes of Slurm as its JSON shows them: the shape of openapi/v0.0.38, which slurmrestd, `squeue --json` and
// `sinfo --json` print. An answer that is truncated, reports errors or lacks what is needed is an error as a whole:
// what could not be read is never taken for "nothing there".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::world {

enum class SlurmState : std::uint8_t {
  pending,
  configuring,  // has its nodes, which are not ready
  running,
  suspended,
  completing,  // ended, but processes may be left on some node
  completed,
  failed,
  timeout,
  node_fail,
  out_of_memory,
  canceled,
  preempted,
  boot_fail,
  deadline,
  unknown  // one that weft does not know: neither running nor ended
};
[[nodiscard]] std::string_view to_text(SlurmState state);
[[nodiscard]] SlurmState parse_slurm_state(std::string_view text);
// Ended on every node that answers. `completing` has not.
[[nodiscard]] bool is_ended(SlurmState state);

struct SlurmJob {
  std::uint32_t id = 0;        // reused: only together with `submitted` it is unique
  std::int64_t submitted = 0;  // seconds since the epoch
  SlurmState state = SlurmState::unknown;
  bool held = false;
  std::string comment;
  std::string reason;  // "NonZeroExitCode"
  std::string nodes;   // that it has or had; "": it never got any
  std::string required_nodes;
  std::uint32_t node_count = 0;
  std::int32_t exit_status = 0;  // as of waitpid(2)
  std::uint32_t restarts = 0;
  std::uint32_t user = 0;
};

struct SlurmNode {
  std::string name;
  std::string address;
  std::string state;               // "idle"
  std::vector<std::string> flags;  // "DRAIN"
  std::string reason;
  std::string reason_user;
  std::vector<std::string> partitions;
  std::int64_t boot_time = 0;  // seconds since the epoch, 0: unknown
  std::int64_t slurmd_start = 0;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_used = 0;
  std::uint32_t cpus = 0;
  std::uint32_t cpus_used = 0;
  std::uint32_t memory_mib = 0;

  [[nodiscard]] bool has_flag(std::string_view flag) const;
  [[nodiscard]] bool is_drained() const { return has_flag("DRAIN"); }
  // Its slurmd answers, and slurmctld uses it or would: only then does "the job has ended" hold for this node.
  [[nodiscard]] bool responds() const;
};

// Jobs whose comment begins with `comment`; others are skipped.
[[nodiscard]] Result<std::vector<SlurmJob>> parse_slurm_jobs(std::string_view text, std::string_view comment);
[[nodiscard]] Result<std::vector<SlurmNode>> parse_slurm_nodes(std::string_view text);

// GPUs of a generic resource list such as "gpu:h100:8(S:0-1),nic:2".
[[nodiscard]] std::uint32_t count_gpus(std::string_view gres);

}  // namespace weft::world
