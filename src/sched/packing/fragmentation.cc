#include "sched/packing/fragmentation.h"

namespace weft::sched {
namespace {

// What one GPU must have free for its part of the task. A MIG instance uses its share of the GPU's slices.
Milli piece_of(const Request& request) {
  return request.mig.slices > 0 ? request.mig.slices * kWholeGpu / kMigSlices : request.gpu_milli;
}

Milli fragment_of(const Request& request, const NodeShape& shape, const NodeFree& free, Milli idle) {
  if (request.gpus == 0 || request.cpu > free.cpu || !accepts(request, shape)) return idle;
  const Milli piece = piece_of(request);
  Milli small = 0;
  int enough = 0;
  for (std::size_t g = 0; g < free.gpus; ++g) {
    if (free.gpu[g] >= piece) {
      ++enough;
    } else {
      small += free.gpu[g];
    }
  }
  if (enough < request.gpus) return idle;
  // The rest of fits() costs more than all of the above and is rarely decisive.
  return fits(request, free) ? small : idle;
}

}  // namespace

Milli fragment_of(const Request& request, const NodeShape& shape, const NodeFree& free) {
  return fragment_of(request, shape, free, free.gpu_total());
}

double fragment_of(std::span<const TaskType> types, const NodeShape& shape, const NodeFree& free) {
  const Milli idle = free.gpu_total();
  if (idle == 0) return 0;
  double sum = 0;
  for (const TaskType& type : types) sum += type.share * fragment_of(type.request, shape, free, idle);
  return sum;
}

}  // namespace weft::sched
