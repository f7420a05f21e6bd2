// A workload that was read from a file, played, and what came of it: where the time goes, which communication is hidden
// behind computing and which is not, and the chain of operations that made it last so long. Data, and a view of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"
#include "workload/graph/op_graph.h"
#include "workload/graph/pipeline.h"

namespace weft::workload {

// Of one class of ranks. Busy: at least one operation of the kind ran. Computing is kernels and memory copies.
struct ClassUse {
  std::string name;
  std::uint32_t ranks = 1;
  SimTime end;
  SimTime compute;
  SimTime communication;
  SimTime exposed;  // of it while nothing computed
  SimTime host;     // of the host while neither computed nor communicated
  SimTime idle;     // until the end of the whole run, nothing of the above
};

// One kind of communication of the class that ends last (the first such). Rows may overlap: their sum can exceed the
// class's.
struct CommunicationUse {
  std::string group;      // "tensor"
  std::string operation;  // "all-gather", "send"
  std::uint32_t ranks = 1;
  std::uint64_t calls = 0;
  Bytes bytes;       // all calls together, as nccl-tests counts them
  SimTime busy;      // at least one ran
  SimTime exposed;   // of it while nothing computed
  double share = 0;  // exposed, of the total
};

// Operations of one name on the slowest chain.
struct ChainPart {
  std::string name;
  OpKind kind = OpKind::compute;
  std::uint64_t operations = 0;
  SimTime time;
  double share = 0;  // of the total
};

struct GraphRun {
  SimTime total;   // with the bubble
  SimTime end;     // of the last operation
  SimTime bubble;  // filling and draining the pipeline
  std::uint64_t operations = 0;
  std::uint32_t ranks = 0;
  std::uint32_t slowest = 0;  // index into `classes`
  std::vector<ClassUse> classes;
  std::vector<CommunicationUse> communication;  // most exposed first
  std::vector<ChainPart> chain;                 // most time first
  std::vector<OpId> path;                       // the chain itself, first to last
};

// Plays a finished graph. An error where operations wait in a cycle, or where it lasts longer than the clock.
[[nodiscard]] Result<GraphRun> run_graph(const OpGraph& graph, CommunicationTimer& timer, StreamOrder order,
                                         const Pipeline& pipeline = {});

struct GraphRunContext {
  std::string workload;  // "gpt.txt (SimAI)"
  std::string where;     // "pod32: 256 h100-sxm"
  std::string timer;     // what communication was reckoned with
};
[[nodiscard]] Document graph_run_document(const GraphRunContext& context, const GraphRun& run);

// The operations that a run could not have been shorter without: from the last to end, back through whatever ended when
// the next began (a dependency, the one before on its stream, the other end of a message), first to last.
[[nodiscard]] std::vector<OpId> slowest_chain(const OpGraph& graph, const Execution& execution);

}  // namespace weft::workload
