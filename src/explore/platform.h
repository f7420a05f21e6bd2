// One kind of servers on one kind of network, and the sizes of it that are worth a look: from the size that would meet
// the deadline without failures to several times that, or to what the limits allow.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "explore/candidate.h"
#include "explore/layout.h"
#include "explore/question.h"

namespace weft::explore {

// What a platform contributes to the search.
struct PlatformResult {
  std::string gpu;  // catalog id
  model::NetworkKind network = model::NetworkKind::ethernet;
  std::string server;    // catalog id; empty: none
  std::string excluded;  // why it cannot be used; empty: it can
  std::vector<Candidate> candidates;
  std::uint64_t considered = 0;  // sizes times choices
  std::uint64_t unbuildable = 0;
  std::string first_problem;  // of those that cannot be built or run
};

// Every size with every choice of oversubscription and storage, built and timed, but not simulated. `shape` and `batch`
// (sequences per step) are those of the goal's model.
[[nodiscard]] PlatformResult explore_platform(const Question& question, const std::string& gpu,
                                              model::NetworkKind network, const workload::ModelShape& shape,
                                              std::int64_t batch);

// Numbers of servers, rounded so that the GPUs divide into many groups: at most five significant bits.
[[nodiscard]] std::int64_t round_nodes_up(double nodes);
[[nodiscard]] std::int64_t round_nodes_down(double nodes);

}  // namespace weft::explore
