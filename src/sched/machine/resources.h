// Resources of a server and the request of one task: CPU, memory, GPUs (whole, time-sliced, or MIG instances), virtual
// functions of the NICs, local scratch. Small flat records that are cheap to copy; all arithmetic for fitting a task on
// a server is here. Independent of jobs, queues and topology.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::sched {

enum class NodeId : std::uint32_t {};
[[nodiscard]] constexpr std::uint32_t index_of(NodeId id) { return static_cast<std::uint32_t>(id); }

using Milli = std::int32_t;  // thousandths of a GPU or of a CPU core
inline constexpr Milli kWholeGpu = 1000;
inline constexpr int kMaxGpus = 16;   // per server
inline constexpr int kMigSlices = 8;  // memory slices of a GPU, the unit in which MIG places instances

// A MIG profile for placement: how many of the 8 memory slices, and where an instance may begin.
struct MigShape {
  std::uint8_t slices = 0;  // 0: not a MIG request
  std::uint8_t starts = 0;  // bit s: an instance may begin at slice s
  friend bool operator==(const MigShape&, const MigShape&) = default;
  friend auto operator<=>(const MigShape&, const MigShape&) = default;
};

// Resources that one task needs, all on one server.
struct Request {
  Milli cpu = 0;
  std::int32_t memory_mib = 0;
  std::int32_t gpus = 0;        // GPUs, or MIG instances if `mig` is set
  Milli gpu_milli = kWholeGpu;  // per GPU; below 1000 only if gpus is 1
  MigShape mig{};
  std::int32_t functions = 0;  // virtual functions (RDMA) of the NICs
  std::int32_t scratch_gib = 0;
  std::uint64_t models = 0;  // GPU models it can run on, bit i for Machine::models[i]; 0: any
  std::uint64_t pools = 0;   // pools it may run in, likewise; 0: any

  // In thousandths of a GPU; a MIG instance is weighted by its memory slices.
  [[nodiscard]] Milli gpu_total() const {
    return mig.slices > 0 ? gpus * mig.slices * kWholeGpu / kMigSlices : gpus * gpu_milli;
  }
  [[nodiscard]] bool whole_gpus() const { return gpus > 0 && gpu_milli == kWholeGpu && mig.slices == 0; }
  friend bool operator==(const Request&, const Request&) = default;
  friend auto operator<=>(const Request&, const Request&) = default;
};

// Capacity of a server.
struct NodeShape {
  std::string name;
  Milli cpu = 0;
  std::int32_t memory_mib = 0;
  std::int32_t gpus = 0;
  std::int32_t model = -1;  // index into Machine::models; -1 without GPUs
  std::int32_t pool = 0;    // index into Machine::pools
  std::int32_t functions = 0;
  std::int32_t scratch_gib = 0;
  bool mig = false;                               // its GPUs can be split into instances
  std::array<std::uint8_t, kMaxGpus> gpu_numa{};  // NUMA node of each GPU
};

// Free resources of a server.
struct NodeFree {
  Milli cpu = 0;
  std::int32_t memory_mib = 0;
  std::int32_t functions = 0;
  std::int32_t scratch_gib = 0;
  std::array<std::int16_t, kMaxGpus> gpu{};       // free milli per GPU; 0 beyond the last
  std::array<std::uint8_t, kMaxGpus> mig_used{};  // memory slices in use; 0 unless the GPU is split
  std::uint8_t gpus = 0;
  bool up = true;  // accepts new tasks

  [[nodiscard]] Milli gpu_total() const {
    Milli sum = 0;
    for (int g = 0; g < gpus; ++g) sum += gpu[static_cast<std::size_t>(g)];
    return sum;
  }
  [[nodiscard]] int whole_gpus() const {
    int count = 0;
    for (int g = 0; g < gpus; ++g) count += gpu[static_cast<std::size_t>(g)] == kWholeGpu ? 1 : 0;
    return count;
  }
  friend bool operator==(const NodeFree&, const NodeFree&) = default;
};

// Where a task is placed on its server.
struct Slot {
  NodeId node{};
  std::uint16_t gpus = 0;                    // bit g: GPU g
  std::array<std::uint8_t, kMaxGpus> mig{};  // slices used on each of those GPUs (MIG only)
  friend bool operator==(const Slot&, const Slot&) = default;
};

[[nodiscard]] NodeFree empty_node(const NodeShape& shape);
// Whether the request accepts the server's GPU model and pool.
[[nodiscard]] bool accepts(const Request& request, const NodeShape& shape);
// Whether one task fits in what is free.
[[nodiscard]] bool fits(const Request& request, const NodeFree& free);
// How many such tasks fit, at most `limit`. For MIG, the result of placing them one after another.
[[nodiscard]] int count_fits(const Request& request, const NodeFree& free, int limit);
// The GPUs a task would get: shared ones on the fullest GPU that fits, whole ones on one NUMA node if possible,
// preferring the GPUs of `like` (so the ranks of a gang share rails). None: does not fit.
[[nodiscard]] std::optional<Slot> choose_slot(const Request& request, const NodeShape& shape, const NodeFree& free,
                                              std::uint16_t like = 0);
void take(NodeFree& free, const Request& request, const Slot& slot);
void give_back(NodeFree& free, const Request& request, const Slot& slot);
// Element-wise minimum of two states: what is free throughout if each holds at a different time.
[[nodiscard]] NodeFree least_of(const NodeFree& a, const NodeFree& b);

}  // namespace weft::sched
