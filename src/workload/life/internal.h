// State that the files of `life` share once a step has been simulated. Internal to workload/life.
#pragma once

#include <vector>

#include "workload/control/path.h"
#include "workload/life/play_life.h"
#include "workload/storage/limits.h"

namespace weft::workload {

struct LifeParts {
  const model::Cluster& cluster;
  const model::JobSpec& job;
  const LifeOptions& options;
  TrainingPlan plan;
  std::vector<model::DeviceId> hosts;
  const model::ServerModel* server = nullptr;
  const model::GpuModel* gpu = nullptr;
  NcclMachine machine;
  StepTimes step;
  ReadPlan reads;
  CheckpointPlan checkpoint;
  SimTime input_stall;
  std::uint64_t checkpoint_steps = 0;  // 0: no checkpoints
  std::shared_ptr<FabricMemory> fabric;
  std::shared_ptr<StorageMemory> storage;
};

// States 3 to 5 of an iteration that begins at `start`; fabric shares are computed from the bytes that the step's calls
// send.
void add_iteration_states(const LifeParts& parts, FabricTimer& timer, SimTime start, LifeResult& life);
void add_communication(const LifeParts& parts, FabricTimer& timer, LifeResult& life);
void add_tail(const LifeParts& parts, LifeResult& life);
void add_timeline(const LifeParts& parts, LifeResult& life);
// Simulates each candidate improvement; needs all other parts of `life`.
void add_verdict(const LifeParts& parts, LifeResult& life);

// Whether a call of this group leaves the server.
[[nodiscard]] bool leaves_server(const OpGroup& group);

[[nodiscard]] SimTime time_from(double seconds);
// `once` multiplied by `times`, saturating at the longest Duration.
[[nodiscard]] Duration repeated(SimTime once, std::int64_t times);

}  // namespace weft::workload
