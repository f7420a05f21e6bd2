// Bytes as Chakra traces: the first byte sets the number of ranks and of traces that the rest is cut into, each
// preceded by two bytes with its length. Any input must yield a graph that can be simulated (or one whose operations
// wait for each other) or an error with a location; memory use is bounded by the input size.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "workload/graph/graph_run.h"
#include "workload/import/chakra_graph.h"
#include "workload/life/ring_timer.h"

namespace weft::workload {
namespace {

void play(ChakraSet set) {
  ChakraOptions options;
  options.node_gpus = 2;
  options.flops = 1e15;
  options.memory = 1e12;
  options.host_link = 1e10;
  options.groups = {{"1", {0, 1}}};
  const Result<ChakraWorkload> workload = std::move(set).finish(options);
  if (!workload.ok()) {
    CHECK(!workload.error().message.empty(), "an error has words");
    return;
  }
  WorkloadMachine machine;
  machine.nvlink = 450e9;
  machine.nic = 50e9;
  RingTimer timer(machine);
  const Result<GraphRun> run = run_graph(workload->graph, timer, StreamOrder::ready);
  if (!run.ok()) return;
  SimTime sum;
  for (const ChainPart& part : run->chain) sum += part.time;
  CHECK(sum <= run->total, "the slowest chain is no longer than all");
  (void)write(graph_run_document({}, *run), {OutputFormat::json, false});
}

void run_chakra(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  const std::uint32_t ranks = 1 + first % 8U;
  ChakraSet set(ranks);
  bool any = false;
  for (std::uint32_t rank = 0; rank < ranks && !bytes.empty(); ++rank) {
    std::size_t size = bytes.size();
    if (first >= 128 && bytes.size() >= 2) {
      size = std::min<std::size_t>(static_cast<std::uint8_t>(bytes[0]) * 256U + static_cast<std::uint8_t>(bytes[1]),
                                   bytes.size() - 2);
      bytes.remove_prefix(2);
    }
    Result<ChakraTrace> trace = read_chakra(bytes.substr(0, size), "input");
    bytes.remove_prefix(first >= 128 ? size : 0);
    CHECK(trace.ok() || !trace.error().message.empty(), "an error has words");
    if (!trace.ok()) continue;
    for (const ChakraNode& node : trace->nodes) {
      CHECK(node.name < trace->names.size() && node.group < trace->groups.size(), "names are there");
      CHECK(std::size_t{node.first_earlier} + node.earlier_count <= trace->earlier.size(), "dependencies are there");
    }
    any = set.add(rank, std::move(*trace), "input").ok() || any;
  }
  if (any) play(std::move(set));
}

}  // namespace
}  // namespace weft::workload

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::workload::run_chakra(
      std::string_view(reinterpret_cast<const char*>(data), size));  // NOLINT(*-reinterpret-cast)
  return 0;
}
