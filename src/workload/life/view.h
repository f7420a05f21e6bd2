// The life of a job as a document: the verdict first, then the figures of a step, the five states with their events,
// where the time of a step, the memory of a GPU and the bytes go, and what was assumed. For terminals and for machine
// formats; the page (life/page.h) draws the same.
#pragma once

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

[[nodiscard]] Document life_document(const LifeResult& life);

}  // namespace weft::workload
