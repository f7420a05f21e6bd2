#include "sched/machine/resources.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace weft::sched {
namespace {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The slices an instance would use on a GPU with these in use; 0 if none fits. NVIDIA's driver places at the start that
// leaves the most space for others; the last possible start keeps the low slices free, which large profiles need.
std::uint8_t mig_place(const MigShape& mig, std::uint8_t used) {
  const unsigned block = (1U << mig.slices) - 1U;
  for (int start = kMigSlices - mig.slices; start >= 0; --start) {
    if (((mig.starts >> start) & 1U) == 0) continue;
    const unsigned slices = block << start;
    if ((used & slices) == 0) return static_cast<std::uint8_t>(slices);
  }
  return 0;
}

// A GPU can host an instance if it is already split and has space, or if it is completely unused.
bool splittable(const NodeFree& free, int gpu) { return free.mig_used[at(gpu)] != 0 || free.gpu[at(gpu)] == kWholeGpu; }

int divide(std::int64_t have, std::int64_t need, int limit) {
  return need <= 0 ? limit : static_cast<int>(std::clamp<std::int64_t>(have / need, 0, limit));
}

int count_gpu_fits(const Request& request, const NodeFree& free, int limit) {
  if (request.gpus == 0) return limit;
  int count = 0;
  if (request.mig.slices > 0) {
    int instances = 0;
    for (int g = 0; g < free.gpus; ++g) {
      if (!splittable(free, g)) continue;
      std::uint8_t used = free.mig_used[at(g)];
      for (std::uint8_t slices = mig_place(request.mig, used); slices != 0; slices = mig_place(request.mig, used)) {
        used = static_cast<std::uint8_t>(used | slices);
        ++instances;
      }
    }
    return std::min(limit, instances / request.gpus);
  }
  for (int g = 0; g < free.gpus; ++g) {
    if (free.mig_used[at(g)] == 0) count += free.gpu[at(g)] / request.gpu_milli;
  }
  return std::min(limit, count / request.gpus);
}

// Whole GPUs: those of `like`, then those of the NUMA node with the tightest fit, then any.
std::uint16_t choose_whole(int count, const NodeShape& shape, const NodeFree& free, std::uint16_t like) {
  unsigned whole = 0;
  std::array<int, 256> per_numa{};
  for (int g = 0; g < free.gpus; ++g) {
    if (free.gpu[at(g)] != kWholeGpu) continue;
    whole |= 1U << g;
    ++per_numa[shape.gpu_numa[at(g)]];
  }
  if (std::popcount(whole) < count) return 0;
  if (std::popcount(static_cast<unsigned>(like)) == count && (whole & like) == like) return like;
  int best = -1;
  for (int g = 0; g < free.gpus; ++g) {
    const int numa = shape.gpu_numa[at(g)];
    if (per_numa[at(numa)] >= count && (best < 0 || per_numa[at(numa)] < per_numa[at(best)])) best = numa;
  }
  unsigned chosen = 0;
  for (int g = 0; g < free.gpus && count > 0; ++g) {
    if (((whole >> g) & 1U) == 0 || (best >= 0 && shape.gpu_numa[at(g)] != best)) continue;
    chosen |= 1U << g;
    --count;
  }
  return static_cast<std::uint16_t>(chosen);
}

int choose_shared(Milli need, const NodeFree& free) {
  int best = -1;
  for (int g = 0; g < free.gpus; ++g) {
    if (free.mig_used[at(g)] != 0 || free.gpu[at(g)] < need) continue;
    if (best < 0 || free.gpu[at(g)] < free.gpu[at(best)]) best = g;
  }
  return best;
}

bool choose_instances(const Request& request, const NodeFree& free, Slot& slot) {
  int left = request.gpus;
  for (const bool split : {true, false}) {  // GPUs that are already split come first
    for (int g = 0; g < free.gpus && left > 0; ++g) {
      if ((free.mig_used[at(g)] != 0) != split || !splittable(free, g)) continue;
      std::uint8_t used = free.mig_used[at(g)];
      for (; left > 0; --left) {
        const std::uint8_t slices = mig_place(request.mig, used);
        if (slices == 0) break;
        used = static_cast<std::uint8_t>(used | slices);
        slot.mig[at(g)] = static_cast<std::uint8_t>(slot.mig[at(g)] | slices);
        slot.gpus = static_cast<std::uint16_t>(slot.gpus | (1U << g));
      }
    }
  }
  return left == 0;
}

std::int16_t milli_of_slices(std::uint8_t used) {
  return static_cast<std::int16_t>(kWholeGpu - std::popcount(used) * (kWholeGpu / kMigSlices));
}

}  // namespace

NodeFree empty_node(const NodeShape& shape) {
  NodeFree free;
  free.cpu = shape.cpu;
  free.memory_mib = shape.memory_mib;
  free.functions = shape.functions;
  free.scratch_gib = shape.scratch_gib;
  free.gpus = static_cast<std::uint8_t>(shape.gpus);
  for (int g = 0; g < shape.gpus; ++g) free.gpu[at(g)] = kWholeGpu;
  return free;
}

bool accepts(const Request& request, const NodeShape& shape) {
  if (request.pools != 0 && ((request.pools >> static_cast<unsigned>(shape.pool)) & 1U) == 0) return false;
  if (request.gpus == 0) return true;
  if (request.mig.slices > 0 && !shape.mig) return false;
  if (request.models == 0) return true;
  return shape.model >= 0 && ((request.models >> static_cast<unsigned>(shape.model)) & 1U) != 0;
}

bool fits(const Request& request, const NodeFree& free) { return count_fits(request, free, 1) == 1; }

int count_fits(const Request& request, const NodeFree& free, int limit) {
  if (!free.up) return 0;
  int count = divide(free.cpu, request.cpu, limit);
  count = std::min(count, divide(free.memory_mib, request.memory_mib, count));
  count = std::min(count, divide(free.functions, request.functions, count));
  count = std::min(count, divide(free.scratch_gib, request.scratch_gib, count));
  return count == 0 ? 0 : count_gpu_fits(request, free, count);
}

std::optional<Slot> choose_slot(const Request& request, const NodeShape& shape, const NodeFree& free,
                                std::uint16_t like) {
  if (!accepts(request, shape) || !fits(request, free)) return std::nullopt;
  Slot slot;
  if (request.gpus == 0) return slot;
  if (request.mig.slices > 0) {
    if (!choose_instances(request, free, slot)) return std::nullopt;
  } else if (request.gpu_milli == kWholeGpu) {
    slot.gpus = choose_whole(request.gpus, shape, free, like);
    if (slot.gpus == 0) return std::nullopt;
  } else {
    const int gpu = choose_shared(request.gpu_milli, free);
    if (gpu < 0) return std::nullopt;
    slot.gpus = static_cast<std::uint16_t>(1U << gpu);
  }
  return slot;
}

void take(NodeFree& free, const Request& request, const Slot& slot) {
  free.cpu -= request.cpu;
  free.memory_mib -= request.memory_mib;
  free.functions -= request.functions;
  free.scratch_gib -= request.scratch_gib;
  for (int g = 0; g < free.gpus; ++g) {
    if (((slot.gpus >> g) & 1U) == 0) continue;
    if (request.mig.slices > 0) {
      CHECK((free.mig_used[at(g)] & slot.mig[at(g)]) == 0, "a MIG slice is given twice");
      free.mig_used[at(g)] = static_cast<std::uint8_t>(free.mig_used[at(g)] | slot.mig[at(g)]);
      free.gpu[at(g)] = milli_of_slices(free.mig_used[at(g)]);
    } else {
      free.gpu[at(g)] = static_cast<std::int16_t>(free.gpu[at(g)] - request.gpu_milli);
      CHECK(free.gpu[at(g)] >= 0, "a GPU is given twice");
    }
  }
  CHECK(free.cpu >= 0 && free.memory_mib >= 0 && free.functions >= 0 && free.scratch_gib >= 0,
        "a server gives more than it has");
}

void give_back(NodeFree& free, const Request& request, const Slot& slot) {
  free.cpu += request.cpu;
  free.memory_mib += request.memory_mib;
  free.functions += request.functions;
  free.scratch_gib += request.scratch_gib;
  for (int g = 0; g < free.gpus; ++g) {
    if (((slot.gpus >> g) & 1U) == 0) continue;
    if (request.mig.slices > 0) {
      free.mig_used[at(g)] = static_cast<std::uint8_t>(free.mig_used[at(g)] & ~slot.mig[at(g)]);
      free.gpu[at(g)] = milli_of_slices(free.mig_used[at(g)]);
    } else {
      free.gpu[at(g)] = static_cast<std::int16_t>(free.gpu[at(g)] + request.gpu_milli);
      CHECK(free.gpu[at(g)] <= kWholeGpu, "a GPU is given back twice");
    }
  }
}

NodeFree least_of(const NodeFree& a, const NodeFree& b) {
  NodeFree least = a;
  least.cpu = std::min(a.cpu, b.cpu);
  least.memory_mib = std::min(a.memory_mib, b.memory_mib);
  least.functions = std::min(a.functions, b.functions);
  least.scratch_gib = std::min(a.scratch_gib, b.scratch_gib);
  for (int g = 0; g < a.gpus; ++g) {
    least.gpu[at(g)] = std::min(a.gpu[at(g)], b.gpu[at(g)]);
    least.mig_used[at(g)] = static_cast<std::uint8_t>(a.mig_used[at(g)] | b.mig_used[at(g)]);
    // A GPU that is split in one state and shared in the other can serve neither kind throughout.
    const bool mixed = (a.mig_used[at(g)] != 0 && b.mig_used[at(g)] == 0 && b.gpu[at(g)] != kWholeGpu) ||
                       (b.mig_used[at(g)] != 0 && a.mig_used[at(g)] == 0 && a.gpu[at(g)] != kWholeGpu);
    if (mixed) {
      least.mig_used[at(g)] = 0xFF;
      least.gpu[at(g)] = 0;
    }
  }
  least.up = a.up && b.up;
  return least;
}

}  // namespace weft::sched
