// Bytes as a SimAI workload file. Any input must yield a graph that can be simulated or a list of diagnostics.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "workload/graph/graph_run.h"
#include "workload/import/simai_workload.h"
#include "workload/life/ring_timer.h"

namespace weft::workload {
namespace {

void run_simai_workload(std::string text) {
  Sources sources;
  (void)looks_like_simai(text);
  const FileId file = sources.add("input", std::move(text));
  WorkloadMachine machine;
  machine.nvlink = 450e9;
  machine.nic = 50e9;
  machine.node_gpus = 8;
  for (const std::uint32_t gpus : {0U, 64U}) {
    Diagnostics diagnostics;
    SimaiOptions options;
    options.gpus = gpus;
    const auto workload = read_simai_workload(sources, file, options, diagnostics);
    CHECK(workload.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
    CHECK(diagnostics.error_count() <= 22, "and not too often");
    (void)render_all(diagnostics, sources, true);
    if (!workload) continue;
    RingTimer timer(machine);
    const Result<GraphRun> played = run_graph(workload->graph, timer, StreamOrder::program, workload->pipeline);
    if (played.ok()) {
      CHECK(played->classes.size() == 1, "one class of ranks");
      CHECK(played->total >= played->classes[0].compute, "computing takes no longer than all");
      (void)write(graph_run_document({}, *played), {OutputFormat::json, false});
    }
  }
}

}  // namespace
}  // namespace weft::workload

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::workload::run_simai_workload(std::string(data, data + size));
  return 0;
}
