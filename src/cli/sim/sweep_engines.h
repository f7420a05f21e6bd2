// The engines that run sweeps as arrays. On Slurm the tasks share a file system with weft and append to the results
// file themselves; on Kubernetes they get the files in a ConfigMap and print their results, which weft collects.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/sim/sweep_array.h"
#include "workload/sweep/slurm.h"
#include "world/kube/kube_arrays.h"
#include "world/slurm/job_array.h"

namespace weft::cli {

class SlurmSweepEngine final : public SweepEngine {
 public:
  // `plan` is the array without its name and missing points.
  SlurmSweepEngine(world::JobArrays& arrays, workload::SlurmSweep plan) : arrays_(arrays), plan_(std::move(plan)) {}

  [[nodiscard]] std::string_view label() const override { return "Slurm"; }
  [[nodiscard]] std::string describe(const std::string& array) const override { return "Slurm job " + array; }
  [[nodiscard]] std::string how_to_end(const std::string& array) const override { return "`scancel " + array + "`"; }
  [[nodiscard]] Result<std::vector<SweepTask>> list(const std::string& name) override;
  [[nodiscard]] Result<std::string> submit(const std::string& name, const std::vector<std::uint64_t>& missing) override;
  [[nodiscard]] TaskOutputs outputs() override { return {}; }
  [[nodiscard]] Status finish(const std::string& /*name*/) override { return {}; }

 private:
  world::JobArrays& arrays_;
  workload::SlurmSweep plan_;
};

class KubeSweepEngine final : public SweepEngine {
 public:
  // `plan` is the array without its name, its tasks and the file with their points.
  KubeSweepEngine(world::KubeArrays& arrays, world::KubeArrayPlan plan) : arrays_(arrays), plan_(std::move(plan)) {}

  static constexpr const char* kPointsFile = "points";  // line N: the points of task N

  [[nodiscard]] std::string_view label() const override { return "Kubernetes"; }
  [[nodiscard]] std::string describe(const std::string& array) const override { return "Kubernetes Job " + array; }
  [[nodiscard]] std::string how_to_end(const std::string& array) const override;
  [[nodiscard]] Result<std::vector<SweepTask>> list(const std::string& name) override;
  [[nodiscard]] Result<std::string> submit(const std::string& name, const std::vector<std::uint64_t>& missing) override;
  [[nodiscard]] TaskOutputs outputs() override;
  [[nodiscard]] Status finish(const std::string& name) override { return arrays_.remove(name); }

 private:
  world::KubeArrays& arrays_;
  world::KubeArrayPlan plan_;
  std::vector<world::KubeArrayTask> unread_;  // tasks of the last list with output
  std::set<std::string> read_;                // pods
};

// Points of each task, "3" or "3-5,9", so that there are at most 1,000 tasks.
[[nodiscard]] std::vector<std::string> divide_points(const std::vector<std::uint64_t>& missing);

}  // namespace weft::cli
