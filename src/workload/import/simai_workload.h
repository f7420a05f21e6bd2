// Parses SimAI workload files, as written by AICB, into a graph of operations: one row per layer, with the time (ns)
// and the communication of its forward pass, input gradient and weight gradient. The format and its semantics are taken
// from github.com/aliyun/aicb (SimAI_training_workload_generator.py) and github.com/aliyun/SimAI (astra-sim's
// Workload.cc): forward through all rows, then backward through them in reverse; communication of the forward pass and
// of input gradients blocks compute, that of weight gradients does not.
//
// The file describes one rank, and all ranks do the same, so the graph has one class. Pipeline stages are not in the
// rows: the header names them, and pipeline fill and drain are modeled separately (see Pipeline).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/source.h"
#include "workload/graph/op_graph.h"
#include "workload/graph/pipeline.h"

namespace weft::workload {

struct SimaiOptions {
  std::uint32_t gpus = 0;       // for files without it; 0: unknown
  std::uint32_t node_gpus = 8;  // GPUs that share an NVLink domain
};

struct SimaiWorkload {
  OpGraph graph;  // finished
  std::uint32_t gpus = 1;
  std::uint32_t tensor = 1;  // ranks per group
  std::uint32_t expert = 1;
  std::uint32_t data = 1;
  Pipeline pipeline;
  std::size_t rows = 0;
};

// Streams of the graph.
inline constexpr std::uint8_t kSimaiCompute = 0;
inline constexpr std::uint8_t kSimaiBlocking = 1;    // forward and input-gradient communication
inline constexpr std::uint8_t kSimaiBackground = 2;  // weight-gradient communication

// Limits per file; exceeding one is an error that names it.
inline constexpr std::int64_t kMaxSimaiRows = 1'000'000;
inline constexpr std::int64_t kMaxSimaiGpus = 10'000'000;

// Whether the first line is a SimAI header.
[[nodiscard]] bool looks_like_simai(std::string_view text);
[[nodiscard]] std::optional<SimaiWorkload> read_simai_workload(const Sources& sources, FileId file,
                                                               const SimaiOptions& options, Diagnostics& diagnostics);

}  // namespace weft::workload
