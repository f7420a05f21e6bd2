// The operations of a piece of the model (some layers, with the embedding or the head if they belong to it) for one
// micro-batch on one rank: kernels with their times, and the communication between them, as a graph of operations on
// streams. It is built and simulated once per kind of piece; the schedule of the step repeats it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workload/gpu/rates.h"
#include "workload/graph/op_graph.h"
#include "workload/training/training_plan.h"

namespace weft::workload {

// Streams of a rank. Replicas of a shard have a communicator of their own, so gathers do not wait for them.
enum StepStream : std::uint8_t {
  stream_compute,
  stream_tensor,
  stream_context,
  stream_expert,
  stream_data,
  stream_replica
};
inline constexpr std::size_t kStepStreams = 6;

struct Piece {
  std::int64_t dense_layers = 0;
  std::int64_t mixture_layers = 0;
  bool embedding = false;
  bool head = false;
  friend auto operator<=>(const Piece&, const Piece&) = default;
};

// One kind of communication, summed over a piece.
struct PieceCommunication {
  std::string what;
  netsim::Collective collective = netsim::Collective::all_reduce;
  OpGroup group;
  std::uint8_t stream = stream_tensor;
  Bytes bytes;
  std::uint64_t calls = 0;
  SimTime time;  // per call
};

struct PieceSpan {
  std::uint8_t stream = stream_compute;
  std::uint32_t name = 0;  // PieceTimes::names
  SimTime start;
  SimTime duration;
};

struct PieceTimes {
  SimTime total;
  SimTime compute;  // kernels, without recomputation
  SimTime recompute;
  std::array<SimTime, kStepStreams> exposed;  // by stream: communication while no kernel runs
  double flops = 0;                           // executed by kernels, recomputation included
  std::uint64_t launches = 0;                 // of kernels and calls, by the host
  std::vector<PieceCommunication> communication;
  std::vector<PieceSpan> spans;
  std::vector<std::string> names;
};

struct PieceMaker {
  const TrainingPlan& plan;
  const GpuRates& gpu;
  CommunicationTimer& timer;

  [[nodiscard]] PieceTimes forward(const Piece& piece) const;
  [[nodiscard]] PieceTimes backward(const Piece& piece) const;
};

// A collective that overlaps a kernel slows the kernel: processors, memory and the power budget are shared. 18.9 % on
// average over A100, H100, MI210 and MI250 (Lee et al., arXiv 2507.03114).
inline constexpr double kOverlapSlowdown = 0.189;

}  // namespace weft::workload
