// Bytes as a fault file. Any input must yield a model or diagnostics; with a valid model a small cluster is played for
// two hours: it must end, and its accounts must add up, whatever the durations and shares are.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "sched/machine/plain_machine.h"
#include "twin/twin.h"

namespace weft::twin {
namespace {

void play_small(FaultModel model) {
  TwinPlan plan;
  sched::PlainMachine plain;
  plain.nodes = 4;
  plan.machine = std::make_shared<const sched::Machine>(sched::plain_machine(plain));
  plan.faults = std::move(model);
  plan.length = sched::seconds(7200);
  TwinJob job;
  job.spec.shape.name = "training";
  job.spec.shape.user = "ann";
  job.spec.shape.tasks = 3;
  job.spec.shape.task.gpus = 8;
  job.spec.command = {"train"};
  job.spec.checkpoint.volumes = {"/checkpoints"};
  job.spec.restart.max_failures = 1'000'000;
  plan.jobs = {job};
  number_jobs(plan.jobs);
  const Result<TwinResult> result = play(plan);
  CHECK(result.ok(), "a valid model can be played");
  CHECK(result->total() == gpu_time(32 * sched::kWholeGpu, plan.length), "the accounts add up");
}

void run_faults(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("faults.yaml", std::move(text));
  std::optional<FaultModel> model = read_faults(sources, file, diagnostics);
  CHECK(model.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  (void)render_all(diagnostics, sources, true);
  constexpr double kMaxRate = 20'000;  // per 1,000 node-days: what follows takes time in proportion
  if (model && model->rate() < kMaxRate) play_small(*std::move(model));
}

}  // namespace
}  // namespace weft::twin

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::twin::run_faults(std::string(data, data + size));
  return 0;
}
