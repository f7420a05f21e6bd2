// The Chakra traces of a job's ranks as one graph of operations. Ranks whose traces say the same, and whose partners
// do, become one class: what is kept and played does not grow with ranks that repeat each other. Collectives of one
// communicator and messages between two ranks are matched in the order of their nodes.
//
// Times: a node's recorded duration; for kernels without one the roofline of num_ops and tensor_size. Communication is
// always asked of the timer. CUDA streams are kept where the trace names them: kernels of one stream run in order,
// which repairs traces whose kernels nothing waits for (mlcommons/chakra issue 215).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workload/graph/op_graph.h"
#include "workload/import/chakra_trace.h"

namespace weft::workload {

struct ChakraOptions {
  std::uint32_t node_gpus = 8;      // that share an NVLink domain
  double flops = 0;                 // peak, 1/s; 0: unknown
  double memory = 0;                // bytes/s of device memory
  double host_link = 0;             // bytes/s between device and host: remote memory
  std::vector<ChakraRanks> groups;  // of communicators that the traces do not describe
};

struct ChakraWorkload {
  OpGraph graph;  // finished; to be played in the order of becoming ready
  std::uint32_t ranks = 0;
  std::uint32_t traces = 0;
  std::vector<std::string> warnings;
};

class ChakraSet {
 public:
  // `ranks` of the job: as many as traces, or more where some are not given.
  explicit ChakraSet(std::uint32_t ranks) : ranks_(ranks) {}

  // Refuses a rank that is there already or is none of the job's.
  [[nodiscard]] Status add(std::uint32_t rank, ChakraTrace trace, const std::string& path);
  [[nodiscard]] Result<ChakraWorkload> finish(const ChakraOptions& options) &&;

  [[nodiscard]] std::size_t distinct() const { return shapes_.size(); }

 private:
  friend class ChakraFolder;
  friend class ChakraPlayer;

  // What all traces of one kind share; names, ids and paths are those of the first.
  struct Shape {
    ChakraTrace trace;
    std::string path;
    std::vector<std::uint32_t> offsets;  // from the rank to each of its partners, around the job; each once
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
