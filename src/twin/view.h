// Results of the twin as documents: for people, where the time went and why; for programs, every figure.
#pragma once

#include "base/document.h"
#include "twin/result.h"

namespace weft::twin {

[[nodiscard]] Document result_document(const TwinResult& result, bool all);
// Sentences about what matters, the most important first.
[[nodiscard]] std::vector<std::string> findings(const TwinResult& result);

// Jobs by size: the upper bounds of the classes are powers of two of GPUs.
struct SizeClass {
  std::int64_t gpus = 0;  // at most
  std::uint64_t jobs = 0;
  std::uint64_t interruptions = 0;
  double gpu_hours = 0;
  double ettr = 0;         // weighted with GPU time
  double ettr_queued = 0;  // likewise, the wait before the first start included
  double wait_mean = 0;    // seconds, before the first start
};
[[nodiscard]] std::vector<SizeClass> by_size(const TwinResult& result);

}  // namespace weft::twin
