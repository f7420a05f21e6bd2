#include "twin/life_job.h"

#include <algorithm>
#include <cmath>

namespace weft::twin {
namespace {

constexpr std::int32_t kEndlessFailures = 1'000'000;  // a run of months must not be held after its third failure

Duration duration_of(netsim::SimTime time) {
  return milliseconds(std::llround(static_cast<double>(time.count()) / 1e9));
}

}  // namespace

void prepare_job(TwinJob& job) {
  control::JobSpec& spec = job.spec;
  spec.command = {"train"};
  spec.restart.max_failures = kEndlessFailures;
  if (spec.checkpoint.volumes.empty()) spec.checkpoint.volumes = {"/checkpoints"};
  if (job.stall.count() > 0) spec.checkpoint.write_time = job.stall;
}

TwinJob job_from_life(const workload::LifeResult& life, const model::JobSpec& spec) {
  TwinJob job;
  job.spec.shape.name = spec.name.value.text;
  job.spec.shape.user = "twin";
  job.spec.shape.tasks = static_cast<std::int32_t>(life.servers);
  job.spec.shape.task.gpus = static_cast<std::int32_t>(life.gpus / std::max(1U, life.servers));
  job.step = std::max(duration_of(life.step), milliseconds(1));
  job.work = Duration(multiply_divide(static_cast<std::int64_t>(life.steps), life.step.count(), 1'000));
  job.work = milliseconds(job.work.count() / 1'000'000);
  job.launch = duration_of(life.states[0].duration);
  job.load = duration_of(life.states[1].duration);
  job.restore = duration_of(life.checkpoint_load);
  job.stall = duration_of(life.checkpoint_stall);
  job.write = duration_of(life.checkpoint_write);
  const model::CheckpointSpec& checkpoint = spec.training->checkpoint.value;
  if (life.checkpoint_steps > 0 && (checkpoint.steps.has_value() || checkpoint.interval.has_value())) {
    job.spec.checkpoint.interval = job.step * static_cast<std::int64_t>(life.checkpoint_steps);
  }
  prepare_job(job);
  return job;
}

}  // namespace weft::twin
