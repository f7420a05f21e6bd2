// Bytes as a flow file, in every format, on a small network of each numbering. Any input must yield a graph that can be
// simulated or a list of diagnostics.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "netsim/network/topologies.h"
#include "netsim/readers/workload_file.h"

namespace weft::netsim {
namespace {

const Network& numbered_by_host() {
  static const Network network = star(16, gigabits(100), microseconds(1), {});
  return network;
}

// As in an HPCC topology file: node 0 is the switch, and flow files name nodes.
const Network& numbered_by_node() {
  static const Network network = [] {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("topology.txt", "4 1 3\n0\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n0 3 10Gbps 1us 0\n");
    std::optional<Network> read = read_hpcc_topology(sources, file, diagnostics);
    CHECK(read.has_value(), "the topology is sound");
    return std::move(*read);
  }();
  return network;
}

template <class Reader>
void check(Reader reader, const Sources& sources, FileId file, const Network& network) {
  Diagnostics diagnostics;
  std::optional<TransferGraph> graph = reader(sources, file, network, diagnostics);
  CHECK(graph.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  CHECK(diagnostics.error_count() <= 22, "and not too often");
  if (graph) {
    CHECK(graph->size() > 0, "a file that was read has flows");
    CHECK(graph->finish(network).ok(), "what was read can be run");
  }
  (void)render_all(diagnostics, sources, true);
}

void run_net_flows(std::string text) {
  Sources sources;
  const FileId file = sources.add("input", std::move(text));
  for (const Network* network : {&numbered_by_host(), &numbered_by_node()}) {
    check(read_flows, sources, file, *network);
    check(read_htsim_matrix, sources, file, *network);
    check(read_hpcc_flows, sources, file, *network);
    check(read_transfers, sources, file, *network);
  }
}

}  // namespace
}  // namespace weft::netsim

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::netsim::run_net_flows(std::string(data, data + size));
  return 0;
}
