// How long it takes to find the paths of a random permutation: table setup, first paths, repeated paths, and peak
// memory so far. On fat trees used to measure other simulators, and on a compiled cluster of 100,000 GPUs.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/load.h"
#include "netsim/network/from_cluster.h"
#include "netsim/network/topologies.h"
#include "netsim/routing/routing.h"

namespace {

using namespace weft;
using namespace weft::netsim;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

std::vector<std::uint32_t> permutation(std::size_t count) {
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(i);
  weft::RandomStream random(1, "permutation");
  for (std::size_t i = count; i > 1; --i) std::swap(out[i - 1], out[random.below(i)]);
  return out;
}

void measure(std::string_view name, const Network& network, RoutingMode mode, bool up_down = true) {
  RoutingOptions options;
  options.mode = mode;
  options.up_down = up_down;
  const std::vector<std::uint32_t> to = permutation(network.endpoints().size());
  auto start = Clock::now();
  Routes routes(network, options);
  const double set_up = milliseconds_since(start);
  double taken[2] = {};
  std::size_t hops = 0;
  for (double& time : taken) {
    start = Clock::now();
    std::vector<LinkId> path;
    for (std::size_t i = 0; i < to.size(); ++i) {
      routes.path(flow_key(network, network.endpoints()[i], network.endpoints()[to[i]], 0, 1), path);
      hops += path.size();
    }
    time = milliseconds_since(start);
  }
  fmt::print("{:<22} {:<8} {:<8} {:>9} {:>10.1f} {:>10.1f} {:>10.1f} {:>9.2f} {:>8}\n", name, to_text(mode),
             up_down ? "up-down" : "shortest", to.size(), set_up, taken[0], taken[1],
             static_cast<double>(hops) / 2.0 / static_cast<double>(to.size()), peak_mib());
}

std::string cluster_text(int servers) {
  return fmt::format(
      "weft: 1\nname: bench\nsite: {{switches: row, row_length: 24, rack_power: 60kW}}\npools:\n"
      "  - {{name: train, server: hgx-h100, count: {}, per_rack: 4}}\n"
      "  - {{name: infra, role: infrastructure, server: control-1u, count: 3}}\n"
      "fabrics:\n  backend: {{leaf: sn5600}}\n  storage: {{leaf: sn5600, oversubscription: 2:1}}\n"
      "  frontend: {{leaf: sn5400, subnets: [10.20.0.0/16]}}\n  oob: {{spine: nexus-9364c-gx}}\n",
      servers);
}

}  // namespace

int main() {
  fmt::print("{:<22} {:<8} {:<8} {:>9} {:>10} {:>10} {:>10} {:>9} {:>8}\n", "network", "mode", "ways", "endpoints",
             "set-up ms", "paths ms", "again ms", "hops", "peak MiB");
  FatTreeShape shape;
  shape.pods = 64;
  shape.tors_per_pod = shape.hosts_per_tor = shape.aggs_per_pod = 16;
  shape.cores = 256;
  const Network medium = fat_tree(shape);
  for (const RoutingMode mode : {RoutingMode::d_mod_k, RoutingMode::ecmp, RoutingMode::weighted}) {
    measure("fat tree 16,384", medium, mode);
  }
  measure("fat tree 16,384", medium, RoutingMode::ecmp, false);
  shape.tors_per_pod = 64;
  shape.hosts_per_tor = shape.aggs_per_pod = 32;
  shape.cores = 1024;
  measure("fat tree 131,072", fat_tree(shape), RoutingMode::ecmp);

  const auto loaded = weft::model::load_cluster_text("bench.yaml", cluster_text(12'500));
  if (!loaded->cluster) {
    fmt::print(stderr, "{}", weft::render_all(loaded->diagnostics, loaded->sources, false));
    return 1;
  }
  const auto start = Clock::now();
  const weft::Result<Network> network = network_of(*loaded->cluster, {});
  const double made = milliseconds_since(start);
  if (!network.ok()) {
    fmt::print(stderr, "{}\n", network.error().text());
    return 1;
  }
  measure("12,500 servers", *network, RoutingMode::ecmp);
  fmt::print("network of those servers: {:.0f} ms, {} nodes, {} links\n", made, network->nodes().size(),
             network->links().size());
  return 0;
}
