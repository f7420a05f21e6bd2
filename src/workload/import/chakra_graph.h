// Merges the Chakra traces of a job's ranks into one graph of operations. Ranks with equal traces and equivalent peers
// become one class: memory and simulation time do not grow with ranks that repeat each other. Collectives of one
// communicator and messages between two ranks are matched in the order of their nodes.
//
// Times: a node's recorded duration; for kernels without one the roofline of num_ops and tensor_size. Communication is
// always timed by the timer. CUDA streams are kept if the trace names them: kernels of one stream run in order, which
// repairs traces in which nothing depends on the kernels (mlcommons/chakra issue 215).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workload/graph/op_graph.h"
#include "workload/import/chakra_trace.h"

namespace weft::workload {

struct ChakraOptions {
  std::uint32_t node_gpus = 8;      // GPUs that share an NVLink domain
  double flops = 0;                 // peak, 1/s; 0: unknown
  double memory = 0;                // bytes/s of device memory
  double host_link = 0;             // bytes/s between device and host: remote memory
  std::vector<ChakraRanks> groups;  // communicators that the traces do not describe
};

struct ChakraWorkload {
  OpGraph graph;  // finished; simulate it in `ready` order
  std::uint32_t ranks = 0;
  std::uint32_t traces = 0;
  std::vector<std::string> warnings;
};

class ChakraSet {
 public:
  // `ranks` of the job: at least the number of traces; more if some traces are missing.
  explicit ChakraSet(std::uint32_t ranks) : ranks_(ranks) {}

  // Rejects a duplicate rank and a rank outside the job.
  [[nodiscard]] Status add(std::uint32_t rank, ChakraTrace trace, const std::string& path);
  [[nodiscard]] Result<ChakraWorkload> finish(const ChakraOptions& options) &&;

  [[nodiscard]] std::size_t distinct() const { return shapes_.size(); }

 private:
  friend class ChakraFolder;
  friend class ChakraPlayer;

  // Shared by all traces of one shape; names, ids and paths are those of the first.
  struct Shape {
    ChakraTrace trace;
    std::string path;
    std::vector<std::uint32_t> offsets;  // from the rank to each of its peers, modulo the job's size; each once
    std::uint64_t hash = 0;
  };
  struct Member {
    std::uint32_t shape = 0;
    std::vector<std::string> groups;  // names, which differ between ranks of one shape
    std::vector<ChakraRanks> process_groups;
  };

  [[nodiscard]] static bool same(const ChakraTrace& a, const ChakraTrace& b);

  std::uint32_t ranks_;
  std::vector<Shape> shapes_;
  std::multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::map<std::uint32_t, Member> members_;  // by rank
};

}  // namespace weft::workload
