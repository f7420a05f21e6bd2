// Compares two simulated runs of a job: figures, parts of a step, states, networks, communication and memory, the
// differences, and a sentence that explains why the faster one is faster. Runs with different batches are compared by
// the time per million tokens.
#pragma once

#include <string>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

[[nodiscard]] Document compare_document(const LifeResult& a, const LifeResult& b);

// "B is 1.23 times as fast as A (...): a step takes 1.46 s instead of 1.80 s. Of the 340 ms saved, ..."
[[nodiscard]] std::string why_faster(const LifeResult& a, const LifeResult& b);

}  // namespace weft::workload
