// What a server has and what one task of a job asks of it: CPU, memory, GPUs (whole, shared by time-slices, or MIG
// instances), virtual functions of the NICs, local scratch. Small flat records, copied freely; the arithmetic of
// fitting a task on a server is here and nowhere else. Knows nothing of jobs, queues or where a server stands.
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
inline constexpr int kMaxGpus = 16;   // of one server
inline constexpr int kMigSlices = 8;  // memory slices of a GPU, the unit in which MIG places instances

// A MIG profile as placement sees it: how many of the 8 memory slices, and where an instance may begin.
struct MigShape {
  std::uint8_t slices = 0;  // 0: not a MIG request
  std::uint8_t starts = 0;  // bit s: an instance may begin at slice s
  friend bool operator==(const MigShape&, const MigShape&) = default;
  friend auto operator<=>(const MigShape&, const MigShape&) = default;
};

// What one task needs, all of it on one server.
struct Request {
  Milli cpu = 0;
  std::int32_t memory_mib = 0;
  std::int32_t gpus = 0;        // GPUs, or MIG instances where `mig` is set
  Milli gpu_milli = kWholeGpu;  // of each GPU; below 1000 only where gpus is 1
  MigShape mig{};
  std::int32_t functions = 0;  // virtual functions (RDMA) of the NICs
  std::int32_t scratch_gib = 0;
  std::uint64_t models = 0;  // GPU models it runs on, bit i for Machine::models[i]; 0: any
  std::uint64_t pools = 0;   // pools it may run in, likewise; 0: any

  // In thousandths of a GPU; a MIG instance counts by its memory slices.
  [[nodiscard]] Milli gpu_total() const {
    return mig.slices > 0 ? gpus * mig.slices * kWholeGpu / kMigSlices : gpus * gpu_milli;
  }
  [[nodiscard]] bool whole_gpus() const { return gpus > 0 && gpu_milli == kWholeGpu && mig.slices == 0; }
  friend bool operator==(const Request&, const Request&) = default;
  friend auto operator<=>(const Request&, const Request&) = default;
};

// A server as it was built.
struct NodeShape {
  std::string name;
  Milli cpu = 0;
  std::int32_t memory_mib = 0;
  std::int32_t gpus = 0;
  std::int32_t model = -1;  // index into Machine::models; -1 where there is no GPU
  std::int32_t pool = 0;    // index into Machine::pools
  std::int32_t functions = 0;
  std::int32_t scratch_gib = 0;
  bool mig = false;                               // its GPUs can be split into instances
  std::array<std::uint8_t, kMaxGpus> gpu_numa{};  // NUMA node of each GPU
};

// What is free on a server now.
struct NodeFree {
  Milli cpu = 0;
  std::int32_t memory_mib = 0;
  std::int32_t functions = 0;
  std::int32_t scratch_gib = 0;
  std::array<std::int16_t, kMaxGpus> gpu{};       // milli free of each GPU; 0 beyond the last
  std::array<std::uint8_t, kMaxGpus> mig_used{};  // memory slices taken; 0 unless the GPU is split
  std::uint8_t gpus = 0;
  bool up = true;  // takes new tasks

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

// Where on its server a task sits.
struct Slot {
  NodeId node{};
  std::uint16_t gpus = 0;                    // bit g: GPU g
  std::array<std::uint8_t, kMaxGpus> mig{};  // slices taken of each of those GPUs (MIG only)
  friend bool operator==(const Slot&, const Slot&) = default;
};

[[nodiscard]] NodeFree empty_node(const NodeShape& shape);
// Whether the server is of a model and a pool the request accepts.
[[nodiscard]] bool accepts(const Request& request, const NodeShape& shape);
// Whether one task fits in what is free.
[[nodiscard]] bool fits(const Request& request, const NodeFree& free);
// How many such tasks fit, at most `limit`. For MIG it is what packing one after another gives.
[[nodiscard]] int count_fits(const Request& request, const NodeFree& free, int limit);
// The GPUs a task would get: shared ones on the fullest GPU that still has room, whole ones on one NUMA node where that
// is possible, on the GPUs of `like` where they are free (so that the ranks of a gang share rails). None: no fit.
[[nodiscard]] std::optional<Slot> choose_slot(const Request& request, const NodeShape& shape, const NodeFree& free,
                                              std::uint16_t like = 0);
void take(NodeFree& free, const Request& request, const Slot& slot);
void give_back(NodeFree& free, const Request& request, const Slot& slot);
// The lesser of two states in every part: what is free throughout when both hold at different times.
[[nodiscard]] NodeFree least_of(const NodeFree& a, const NodeFree& b);

}  // namespace weft::sched
