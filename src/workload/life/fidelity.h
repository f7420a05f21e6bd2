// Small documents beside the life's own: the same life at several fidelities, and the models that weft knows.
#pragma once

#include <vector>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

// A table of them, coarsest first, with the difference of each to the finest and what explains it.
void add_fidelities(const std::vector<LifeResult>& lives, Document& document);
[[nodiscard]] Document models_document();

}  // namespace weft::workload
