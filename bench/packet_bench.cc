// The packet engine on the workloads that other simulators were timed on: one JSON line per workload. Arguments: names
// of workloads, and threads=N. The other simulators are built and run outside this repository; ratios are taken within
// one run on one machine.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "netsim/network/topologies.h"
#include "netsim/sim/simulate.h"

namespace {

using namespace weft;
using namespace weft::netsim;

FatTreeShape ft8() { return {}; }
FatTreeShape ft1024() {
  FatTreeShape shape;
  shape.pods = 16;
  shape.tors_per_pod = 8;
  shape.hosts_per_tor = 8;
  shape.aggs_per_pod = 8;
  shape.cores = 64;
  return shape;
}

void affine(TransferGraph& graph, const Network& network) {
  const auto hosts = network.endpoints();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Transfer t;
    t.source = hosts[i];
    t.destination = hosts[(37 * i + 61) % hosts.size()];
    t.bytes = weft::Bytes(10'000'000);
    graph.add(t);
  }
}

void incast(TransferGraph& graph, const Network& network) {
  for (std::size_t i = 1; i <= 64; ++i) {
    Transfer t;
    t.source = network.endpoints()[i];
    t.destination = network.endpoints()[0];
    t.bytes = weft::Bytes(1'000'000);
    graph.add(t);
  }
}

void ring(TransferGraph& graph, const Network& network, std::size_t stride) {
  const auto hosts = network.endpoints();
  const auto n = static_cast<std::uint32_t>(hosts.size());
  for (std::uint32_t r = 0; r < n; ++r) {
    Transfer t;
    t.source = hosts[r * stride % n];
    t.destination = hosts[(r + 1) * stride % n];
    t.bytes = weft::Bytes(64'000'000 / n);
    t.rounds = 2 * (n - 1);
    t.round_after = static_cast<TransferId>((r + n - 1) % n);
    graph.add(t);
  }
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void run(const std::string& name, int threads) {
  const auto wall = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  const bool leaf = name == "w3" || name == "w3x";
  const Network network = leaf ? leaf_spine({}) : fat_tree(name == "perm1024" ? ft1024() : ft8());
  TransferGraph graph;
  if (name == "w2") {
    incast(graph, network);
  } else if (leaf) {
    ring(graph, network, name == "w3x" ? 17 : 1);
  } else {
    affine(graph, network);
  }
  if (const weft::Status status = graph.finish(network); !status) {
    fmt::print(stderr, "{}\n", status.error().text());
    return;
  }
  Routes routes(network, {});
  SimOptions options;
  options.threads = threads;
  const weft::Result<SimResult> result = simulate(routes, graph, options);
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().text());
    return;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  const double used = cpu_seconds() - cpu;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const Percentiles p = percentiles_of(result->completion_times);
  const std::uint64_t hops = result->totals.data_hops + result->totals.control_hops;
  fmt::print(
      "{{\"workload\":\"{}\",\"threads\":{},\"wall_s\":{:.3f},\"cpu_s\":{:.3f},\"rss_mb\":{},\"data_hops\":{},"
      "\"control_hops\":{},\"events\":{},\"mhops_s\":{:.2f},\"mean_us\":{:.1f},\"p99_us\":{:.1f},\"max_us\":{:.1f},"
      "\"end_us\":{:.1f},\"marked\":{},\"cnps\":{},\"pauses\":{},\"dropped\":{},\"retransmitted\":{},\"complete\":{},"
      "\"trace\":\"{:016x}\"}}\n",
      name, threads, seconds, used, usage.ru_maxrss / 1024, result->totals.data_hops, result->totals.control_hops,
      result->totals.events, static_cast<double>(hops) / 1e6 / used, in_microseconds(p.mean), in_microseconds(p.p99),
      in_microseconds(p.max), in_microseconds(result->end), result->totals.marked, result->totals.notifications,
      result->totals.pauses, result->totals.dropped, result->totals.retransmitted, result->complete,
      result->trace_hash);
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::string> names;
  int threads = 1;
  for (int i = 1; i < count; ++i) {
    if (std::strncmp(words[i], "threads=", 8) == 0) {
      threads = std::atoi(words[i] + 8);
    } else {
      names.emplace_back(words[i]);
    }
  }
  if (names.empty()) names = {"w1", "w2", "w3", "w3x", "perm1024"};
  for (const std::string& name : names) run(name, threads);
}
