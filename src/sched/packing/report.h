// Results of a packing study, as a document and as a plot. Takes finished runs; runs nothing itself.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "sched/packing/study.h"

namespace weft::sched {

struct PackResult {
  PackPolicy policy = PackPolicy::weft;
  std::vector<PackRun> runs;  // one per seed
};

struct PackWorkload {
  std::string name;
  std::int64_t tasks = 0;  // in the list
  std::size_t types = 0;
  std::int64_t servers = 0;
  std::int64_t gpus = 0;
  std::vector<PackResult> results;
  std::vector<PackBound> bounds;  // one per seed; empty if not requested
};

[[nodiscard]] Document pack_document(const std::vector<PackWorkload>& workloads, double demand);
// GPUs that a perfect packing would have allocated and the policy did not, over the GPUs requested; one panel per
// workload.
[[nodiscard]] std::string pack_plot(const std::vector<PackWorkload>& workloads);

}  // namespace weft::sched
