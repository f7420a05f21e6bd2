// Small documents next to the main result: the same run at several fidelities, and the list of known models.
#pragma once

#include <vector>

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

// A table of the runs, coarsest first, with the difference of each to the finest and what explains it.
void add_fidelities(const std::vector<LifeResult>& lives, Document& document);
[[nodiscard]] Document models_document();

}  // namespace weft::workload
