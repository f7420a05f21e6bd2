// One attempt as engine `slurm` tracks it: how far its start and its stop are, its Slurm job, and what was reported.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "control/command.h"
#include "world/slurm/job_end.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

// A stop under way. Not nested: clang 14 cannot use a nested one in std::optional.
struct SlurmStop {
  control::OperationId operation = 0;
  bool notice = false;  // ask for a checkpoint first
  bool noticed = false;
  bool terminated = false;  // SIGTERM was sent
  bool calling = false;
  sched::Moment terminate_at{};
  sched::Moment kill_at{};
  sched::Moment next_cancel{};  // repeated until the job has ended
  std::int64_t since_ns = 0;    // a checkpoint that was written after it is the one that was asked for
};

// Plugins of slurmctld that change jobs at submission go by these.
struct SlurmSubmitter {
  std::string account;
  std::uint32_t uid = 0;
  bool operator<(const SlurmSubmitter& other) const {
    return std::tie(account, uid) < std::tie(other.account, other.uid);
  }
};

struct SlurmAttempt {
  enum class Step : std::uint8_t {
    none,        // known by a stop or by its file only
    submitting,  // the call is under way
    ambiguous,   // sbatch may or may not have submitted it
    submitted,   // held, to be compared with the command
    releasing,   // the call is under way
    released,    // or found so
    over         // every part was reported
  };
  using Stop = SlurmStop;

  control::AttemptName name;
  Step step = Step::none;
  control::OperationId start = 0;      // operation of the start by this process; 0: of an earlier one
  control::OperationId operation = 0;  // the same until it is answered
  PartPlan plan;                       // its name is 0.0 if it could not be read
  std::vector<sched::NodeId> nodes;    // of the command, the plan or the job
  SlurmSubmitter submitter;
  std::uint32_t expected_id = 0;   // as sbatch said; 0: unknown
  std::optional<SlurmJob> job;     // as last listed
  sched::Moment listed_since{};    // the last list before it was submitted, or the first that had it
  std::uint64_t listed_round = 0;  // the last list that had it
  std::uint64_t absent_since = 0;  // the first list since that one that did not; 0: it is listed
  std::optional<Stop> stop;
  std::uint64_t stop_round = 0;  // lists of this round or later were requested after the stop
  bool canceled_by_weft = false;
  // Slurm lists it as waiting, or no longer, although it was released: slurmctld lost its newest state. Processes may
  // be left until their nodes have registered with it.
  bool lost = false;

  std::uint64_t ended_round = 0;  // the list that first showed its end; 0: it has not ended
  bool end_requested = false;     // its files are being read
  std::optional<EndRecord> end;   // its files were read

  std::set<sched::NodeId> running;  // reported
  std::set<sched::NodeId> sealed;   // reported

  [[nodiscard]] bool is_live() const { return job && absent_since == 0 && !is_ended(job->state); }
  [[nodiscard]] bool has_key(const SlurmJob& other) const {
    return job && job->id == other.id && job->submitted == other.submitted;
  }
};

}  // namespace weft::world
