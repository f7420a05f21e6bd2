// Two lives side by side: figures, parts of a step, states, networks, communication and memory, what moved between
// them, and a sentence that says why the faster one is faster. Runs with different batches are compared by the time of
// a million tokens.
#pragma once

#include <string>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

[[nodiscard]] Document compare_document(const LifeResult& a, const LifeResult& b);

// "B is 1.23 times as fast as A (...): a step takes 1.46 s instead of 1.80 s. Of the 340 ms saved, ..."
[[nodiscard]] std::string why_faster(const LifeResult& a, const LifeResult& b);

}  // namespace weft::workload
