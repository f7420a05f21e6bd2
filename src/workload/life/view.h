// A job's timeline (`weft sim life`) as a document: the verdict first, then the figures of a step, the five states with
// their events, where step time, GPU memory and bytes go, and the assumptions. For terminals and machine-readable
// formats; the page (life/page.h) draws the same.
#pragma once

#include "base/document.h"
#include "workload/result/life.h"

namespace weft::workload {

[[nodiscard]] Document life_document(const LifeResult& life);

}  // namespace weft::workload
