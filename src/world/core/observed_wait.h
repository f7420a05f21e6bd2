// Why a job of an engine in watch mode waits: the engine's reason in words, and the facts that belong to it. The engine
// decides and is never contradicted: weft adds counts of what was observed, and no verdict of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "world/core/observed.h"

namespace weft::world {

struct WaitFacts {
  std::string sentence;          // from the engine's reason
  std::uint32_t candidates = 0;  // nodes of its partition, or of the cluster, that it may use
  std::uint32_t fitting = 0;     // of them, those with the CPUs and GPUs of one of its nodes free now
  std::uint32_t free_gpus = 0;   // of those that are in service
  std::uint32_t queue_gpus = 0;  // of all candidates
  std::vector<const ObservedNode*> out_of_service;  // of the candidates
  std::vector<const ObservedJob*> ahead;            // wait in the same partition with a higher priority, highest first
  bool foreign_ahead = false;                       // so do jobs that the reader must not see
  std::int64_t enough_at = 0;  // when enough nodes are free by the time limits of what runs; 0: not known
};

// Whether the reader may see a job; none: every job, and what people wrote about nodes.
using SeesObserved = std::function<bool(const ObservedJob&)>;

// `cluster` must outlive the result.
[[nodiscard]] WaitFacts explain_wait(const ObservedCluster& cluster, const ObservedJob& job,
                                     const SeesObserved& sees = {});

}  // namespace weft::world
