// Result of simulating a workload that was read from a file: where the time goes, which communication is hidden behind
// compute and which is exposed, and the critical path. Data, and a view of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"
#include "workload/graph/op_graph.h"
#include "workload/graph/pipeline.h"

namespace weft::workload {

// Per class of ranks. Busy: at least one operation of the kind ran. Compute is kernels and memory copies.
struct ClassUse {
  std::string name;
  std::uint32_t ranks = 1;
  SimTime end;
  SimTime compute;
  SimTime communication;
  SimTime exposed;  // part of it with no compute running
  SimTime host;     // host work while neither compute nor communication ran
  SimTime idle;     // none of the above, until the end of the whole run
};

// One kind of communication of the class that ends last (the first of them in a tie). Rows may overlap: their sum can
// exceed the class's total.
struct CommunicationUse {
  std::string group;      // "tensor"
  std::string operation;  // "all-gather", "send"
  std::uint32_t ranks = 1;
  std::uint64_t calls = 0;
  Bytes bytes;       // all calls together, as nccl-tests counts them
  SimTime busy;      // at least one ran
  SimTime exposed;   // part of it with no compute running
  double share = 0;  // exposed time, share of the total
};

// Operations of one name on the critical path.
struct ChainPart {
  std::string name;
  OpKind kind = OpKind::compute;
  std::uint64_t operations = 0;
  SimTime time;
  double share = 0;  // of the total
};

struct GraphRun {
  SimTime total;   // including the bubble
  SimTime end;     // of the last operation
  SimTime bubble;  // filling and draining the pipeline
  std::uint64_t operations = 0;
  std::uint32_t ranks = 0;
  std::uint32_t slowest = 0;  // index into `classes`
  std::vector<ClassUse> classes;
  std::vector<CommunicationUse> communication;  // most exposed first
  std::vector<ChainPart> chain;                 // most time first
  std::vector<OpId> path;                       // the critical path itself, first to last
};

// Simulates a finished graph. Returns an error if operations wait in a cycle or if the run exceeds the clock's range.
[[nodiscard]] Result<GraphRun> run_graph(const OpGraph& graph, CommunicationTimer& timer, StreamOrder order,
                                         const Pipeline& pipeline = {});

struct GraphRunContext {
  std::string workload;  // "gpt.txt (SimAI)"
  std::string where;     // "pod32: 256 h100-sxm"
  std::string timer;     // which model timed the communication
};
[[nodiscard]] Document graph_run_document(const GraphRunContext& context, const GraphRun& run);

// The critical path: from the operation that ends last, back through the operation that ended when the next one began
// (a dependency, the previous one on its stream, the other end of a message). First to last.
[[nodiscard]] std::vector<OpId> slowest_chain(const OpGraph& graph, const Execution& execution);

}  // namespace weft::workload
