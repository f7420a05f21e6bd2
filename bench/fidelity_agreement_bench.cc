// The error of the flow engine against the packet engine, and of the analytic engine against the flow engine: a sweep
// of fabrics, loads and collectives, one JSON line per case and a summary. docs/validation.md shows its output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "netsim/network/topologies.h"
#include "netsim/sim/simulate.h"
#include "netsim/traffic/collective.h"
#include "netsim/traffic/traffic.h"

namespace {

using namespace weft;
using namespace weft::netsim;

struct Load {
  std::string name;
  std::function<void(TransferGraph&, const Network&)> add;
};

Network rails(std::uint32_t leaves, std::uint32_t hosts, std::uint32_t spines) {
  LeafSpineShape shape;
  shape.leaves = leaves;
  shape.hosts_per_leaf = hosts;
  shape.spines = spines;
  return leaf_spine(shape);
}

Network tree(std::uint32_t pods, std::uint32_t width) {
  FatTreeShape shape;
  shape.pods = pods;
  shape.tors_per_pod = width;
  shape.hosts_per_tor = width;
  shape.aggs_per_pod = width;
  shape.cores = width * width;
  return fat_tree(shape);
}

std::vector<Load> loads() {
  std::vector<Load> all;
  const auto shape = [](std::int64_t bytes, std::uint8_t queue_pairs = 1) {
    TrafficShape s;
    s.bytes = weft::Bytes(bytes);
    s.queue_pairs = queue_pairs;
    return s;
  };
  const auto collective = [](Collective operation, Algorithm algorithm, std::int64_t bytes) {
    return [=](TransferGraph& graph, const Network& network) {
      CollectiveShape c;
      c.operation = operation;
      c.algorithm = algorithm;
      c.bytes = weft::Bytes(bytes);
      c.ranks_per_node = 1;
      add_collective(graph, network.endpoints(), c);
    };
  };
  all.push_back({"permutation 2MB",
                 [=](TransferGraph& g, const Network& n) { add_permutation(g, n.endpoints(), shape(2'000'000)); }});
  all.push_back({"permutation 10MB",
                 [=](TransferGraph& g, const Network& n) { add_permutation(g, n.endpoints(), shape(10'000'000)); }});
  all.push_back({"permutation 4MB, 4 queue pairs",
                 [=](TransferGraph& g, const Network& n) { add_permutation(g, n.endpoints(), shape(4'000'000, 4)); }});
  all.push_back({"incast 8:1, 1MB", [=](TransferGraph& g, const Network& n) {
                   add_incast(g, n.endpoints().subspan(1, 8), n.endpoints()[0], shape(1'000'000));
                 }});
  all.push_back({"all-to-all of 32, 500kB", [=](TransferGraph& g, const Network& n) {
                   add_all_to_all(g, n.endpoints().first(32), 4, shape(500'000));
                 }});
  all.push_back({"background 40 %", [=](TransferGraph& g, const Network& n) {
                   add_background(g, n, n.endpoints(), 0.4, microseconds(500), shape(500'000));
                 }});
  all.push_back({"ring all-reduce 64MB", collective(Collective::all_reduce, Algorithm::ring, 64'000'000)});
  all.push_back({"tree all-reduce 16MB", collective(Collective::all_reduce, Algorithm::tree, 16'000'000)});
  all.push_back({"ring all-gather 64MB", collective(Collective::all_gather, Algorithm::ring, 64'000'000)});
  return all;
}

SimResult run(const Network& network, const TransferGraph& graph, Fidelity fidelity, RoutingMode mode) {
  RoutingOptions routing;
  routing.mode = mode;
  Routes routes(network, routing);
  SimOptions options;
  options.fidelity = fidelity;
  options.classes.front().transport.kind = mode == RoutingMode::spray ? Transport::nscc : Transport::dcqcn;
  weft::Result<SimResult> result = simulate(routes, graph, options);
  CHECK(result.ok(), "the sweep has only valid cases");
  return std::move(result).value();
}

double error(SimTime value, SimTime reference) {
  return static_cast<double>(value.count()) / static_cast<double>(reference.count()) - 1;
}

}  // namespace

int main() {
  struct Fabric {
    std::string name;
    Network network;
  };
  std::vector<Fabric> fabrics;
  fabrics.push_back({"leaf-spine 64", rails(4, 16, 16)});
  fabrics.push_back({"leaf-spine 128", rails(8, 16, 16)});
  fabrics.push_back({"leaf-spine 128, 2:1", rails(8, 16, 8)});
  fabrics.push_back({"fat tree 128", tree(8, 4)});
  fabrics.push_back({"fat tree 512", tree(8, 8)});
  std::vector<double> ends;
  std::vector<double> means;
  for (const Fabric& fabric : fabrics) {
    for (const Load& load : loads()) {
      for (const RoutingMode mode : {RoutingMode::ecmp, RoutingMode::spray}) {
        TransferGraph graph;
        load.add(graph, fabric.network);
        CHECK(graph.finish(fabric.network).ok(), "the sweep has only valid cases");
        const SimResult packet = run(fabric.network, graph, Fidelity::packet, mode);
        const SimResult flow = run(fabric.network, graph, Fidelity::flow, mode);
        const SimResult analytic = run(fabric.network, graph, Fidelity::analytic, mode);
        const Percentiles p = percentiles_of(packet.completion_times);
        const Percentiles f = percentiles_of(flow.completion_times);
        const double end = error(flow.end, packet.end);
        const double mean = error(f.mean, p.mean);
        ends.push_back(std::abs(end));
        means.push_back(std::abs(mean));
        fmt::print(
            "{{\"fabric\":\"{}\",\"load\":\"{}\",\"routing\":\"{}\",\"packet_us\":{:.1f},\"flow_us\":{:.1f},"
            "\"analytic_us\":{:.1f},\"flow_end_error\":{:.3f},\"flow_mean_error\":{:.3f},\"analytic_end_error\":{:.3f},"
            "\"pauses\":{},\"warnings\":{}}}\n",
            fabric.name, load.name, to_text(mode), in_microseconds(packet.end), in_microseconds(flow.end),
            in_microseconds(analytic.end), end, mean, error(analytic.end, flow.end), packet.totals.pauses,
            flow.warnings.size());
        std::fflush(stdout);
      }
    }
  }
  const auto summary = [](const char* what, std::vector<double> errors) {
    double sum = 0;
    for (const double e : errors) sum += e;
    fmt::print("{{\"summary\":\"{}\",\"cases\":{},\"mean_error\":{:.3f},\"worst_error\":{:.3f}}}\n", what,
               errors.size(), sum / static_cast<double>(errors.size()),
               *std::max_element(errors.begin(), errors.end()));
  };
  summary("completion of the whole", ends);
  summary("mean completion of a transfer", means);
}
