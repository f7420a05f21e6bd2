// What a packing study found, as a document and as a picture. Takes finished runs; runs nothing.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "sched/packing/study.h"

namespace weft::sched {

struct PackResult {
  PackPolicy policy = PackPolicy::weft;
  std::vector<PackRun> runs;  // one for each seed
};

struct PackWorkload {
  std::string name;
  std::int64_t tasks = 0;  // in the list
  std::size_t types = 0;
  std::int64_t servers = 0;
  std::int64_t gpus = 0;
  std::vector<PackResult> results;
  std::vector<PackBound> bounds;  // one for each seed; empty where none was asked for
};

[[nodiscard]] Document pack_document(const std::vector<PackWorkload>& workloads, double demand);
// GPUs that a perfect packing would have given out and the policy did not, against the GPUs asked for; a panel for
// each workload.
[[nodiscard]] std::string pack_plot(const std::vector<PackWorkload>& workloads);

}  // namespace weft::sched
