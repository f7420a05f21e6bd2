// The flow engine on the workloads that other simulators were timed on: a random permutation of 16,384 hosts and a ring
// all-reduce of 1,024 (SimGrid), a two-level all-reduce of 4,096 ranks (ASTRA-sim), and a hierarchical all-reduce of
// 131,072 GPUs. One JSON line per workload; `flow_bench --list` lists them, arguments select some, `name:N` sets the
// size.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>

#include "base/random.h"
#include "netsim/flow/run.h"
#include "netsim/network/topologies.h"
#include "netsim/sim/simulate.h"

namespace {

using namespace weft;
using namespace weft::netsim;

struct Work {
  Network network;
  TransferGraph graph;
  SimOptions options;
  RoutingMode mode = RoutingMode::ecmp;
};

SimOptions plain() {
  SimOptions options;
  options.fidelity = Fidelity::flow;
  options.classes[0].transport.header = weft::Bytes(0);
  options.switches.cut_through = true;
  return options;
}

Transfer send(NodeId from, NodeId to, std::int64_t bytes) {
  Transfer t;
  t.source = from;
  t.destination = to;
  t.bytes = weft::Bytes(bytes);
  return t;
}

// FT1024: 16 pods of 8 x 8; FT4096: 16 of 16 x 16; FT16384: 64 of 16 x 16.
FatTreeShape tree_of(std::uint32_t hosts) {
  FatTreeShape shape;
  const std::uint32_t each = hosts <= 1024 ? 8 : 16;
  shape.tors_per_pod = shape.hosts_per_tor = shape.aggs_per_pod = each;
  shape.pods = hosts / (each * each);
  shape.cores = each * each;
  return shape;
}

Work permutation(std::uint32_t hosts) {
  Work work;
  work.network = fat_tree(tree_of(hosts));
  work.options = plain();
  work.mode = RoutingMode::d_mod_k;
  std::vector<std::uint32_t> to(hosts);
  std::iota(to.begin(), to.end(), 0U);
  std::uint64_t state = hosts;
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(to[i], to[weft::detail::splitmix64(state) % (i + 1)]);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    if (to[i] == i) std::swap(to[i], to[(i + 1) % hosts]);
  }
  for (std::uint32_t i = 0; i < hosts; ++i) {
    work.graph.add(send(work.network.endpoints()[i], work.network.endpoints()[to[i]], 10'000'000));
  }
  return work;
}

void add_ring(TransferGraph& graph, const std::vector<NodeId>& ranks, std::int64_t bytes, std::uint32_t rounds,
              std::vector<TransferId>& arrived, const std::vector<std::uint32_t>& numbers) {
  const auto count = static_cast<std::uint32_t>(ranks.size());
  const auto first = static_cast<std::uint32_t>(graph.size());
  for (std::uint32_t r = 0; r < count; ++r) {
    Transfer t = send(ranks[r], ranks[(r + 1) % count], bytes);
    t.rounds = rounds;
    t.round_after = static_cast<TransferId>(first + (r + count - 1) % count);
    graph.add(t);
  }
  for (std::uint32_t r = 0; r < count; ++r) {
    if (arrived[numbers[r]] != weft::model::kNone<TransferId>)
      graph.depend(static_cast<TransferId>(first + r), arrived[numbers[r]]);
  }
  for (std::uint32_t r = 0; r < count; ++r) {
    arrived[numbers[(r + 1) % count]] = static_cast<TransferId>(first + r);
  }
}

Work ring(std::uint32_t hosts) {
  Work work;
  work.network = fat_tree(tree_of(hosts));
  work.options = plain();
  work.mode = RoutingMode::d_mod_k;
  std::vector<TransferId> arrived(hosts, weft::model::kNone<TransferId>);
  std::vector<std::uint32_t> numbers(hosts);
  std::iota(numbers.begin(), numbers.end(), 0U);
  add_ring(work.graph, {work.network.endpoints().begin(), work.network.endpoints().end()}, 500'000, 2 * (hosts - 1),
           arrived, numbers);
  return work;
}

// Each round as a separate transfer, as in a flow file.
Work ring_of_transfers(std::uint32_t hosts) {
  Work work;
  work.network = fat_tree(tree_of(hosts));
  work.options = plain();
  work.mode = RoutingMode::d_mod_k;
  const std::span<const NodeId> ends = work.network.endpoints();
  for (std::uint32_t s = 0; s < 2 * (hosts - 1); ++s) {
    for (std::uint32_t r = 0; r < hosts; ++r) {
      const TransferId id = work.graph.add(send(ends[r], ends[(r + 1) % hosts], 500'000));
      if (s > 0) work.graph.depend(id, static_cast<TransferId>((s - 1) * hosts + (r + hosts - 1) % hosts));
    }
  }
  return work;
}

NodeId add_switch(NetworkBuilder& builder, int tier, bool scale_up, std::string name) {
  Node node;
  node.kind = NodeKind::network_switch;
  node.tier = static_cast<std::uint8_t>(tier);
  node.scale_up = scale_up;
  return builder.add_node(node, std::move(name));
}

// Nodes of 8 GPUs on a scale-up switch (400 GB/s each); rail g of every node on the leaves of rail g (50 GB/s each), 64
// nodes per leaf; leaves of 1,024 nodes under 16 spines per rail, spines under cores if there are more.
Network rail_network(std::uint32_t nodes) {
  NetworkBuilder builder;
  std::vector<NodeId> gpus;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    for (int g = 0; g < 8; ++g) {
      Node gpu;
      gpu.group = n;
      gpus.push_back(builder.add_node(gpu, fmt::format("node{}:gpu{}", n, g)));
    }
  }
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const NodeId hub = add_switch(builder, 1, true, fmt::format("node{}:nvswitch", n));
    for (std::uint32_t g = 0; g < 8; ++g) {
      builder.connect(gpus[n * 8 + g], hub, weft::gigabits(3200), nanoseconds(468));
    }
  }
  constexpr std::uint32_t kPerLeaf = 64;
  constexpr std::uint32_t kPerPod = 1024;
  constexpr std::uint32_t kSpines = 16;
  const std::uint32_t pods = (nodes + kPerPod - 1) / kPerPod;
  for (std::uint32_t g = 0; g < 8; ++g) {
    std::vector<NodeId> cores;
    for (std::uint32_t c = 0; pods > 1 && c < 4 * kSpines; ++c) {
      cores.push_back(add_switch(builder, 3, false, fmt::format("rail{}-core{}", g, c)));
    }
    for (std::uint32_t pod = 0; pod < pods; ++pod) {
      std::vector<NodeId> spines;
      for (std::uint32_t s = 0; s < kSpines; ++s) {
        spines.push_back(add_switch(builder, 2, false, fmt::format("rail{}-pod{}-spine{}", g, pod, s)));
        for (std::uint32_t c = 0; pods > 1 && c < 4; ++c) {
          builder.connect(spines.back(), cores[s * 4 + c], weft::gigabits(400), nanoseconds(500));
        }
      }
      for (std::uint32_t n = pod * kPerPod; n < std::min(nodes, (pod + 1) * kPerPod); n += kPerLeaf) {
        const NodeId leaf = add_switch(builder, 1, false, fmt::format("rail{}-leaf{}", g, n / kPerLeaf));
        for (const NodeId spine : spines) builder.connect(leaf, spine, weft::gigabits(400), nanoseconds(500));
        for (std::uint32_t i = n; i < std::min(nodes, n + kPerLeaf); ++i) {
          builder.connect(gpus[i * 8 + g], leaf, weft::gigabits(400), nanoseconds(500));
        }
      }
    }
  }
  return std::move(builder).finish();
}

// Reduce-scatter in the node, a ring over the nodes on each rail, all-gather in the node.
Work hierarchical(std::uint32_t ranks, std::int64_t bytes) {
  Work work;
  const std::uint32_t nodes = ranks / 8;
  work.network = rail_network(nodes);
  work.options.fidelity = Fidelity::flow;
  const std::span<const NodeId> gpus = work.network.endpoints();
  std::vector<TransferId> arrived(ranks, weft::model::kNone<TransferId>);
  const auto rings = [&](std::uint32_t count, std::uint32_t members, std::uint32_t stride_out, std::uint32_t stride_in,
                         std::int64_t part, std::uint32_t rounds) {
    for (std::uint32_t k = 0; k < count; ++k) {
      std::vector<NodeId> ids;
      std::vector<std::uint32_t> numbers;
      for (std::uint32_t i = 0; i < members; ++i) {
        numbers.push_back(k * stride_out + i * stride_in);
        ids.push_back(gpus[numbers.back()]);
      }
      add_ring(work.graph, ids, part, rounds, arrived, numbers);
    }
  };
  rings(nodes, 8, 8, 1, (bytes + 7) / 8, 7);
  rings(8, nodes, 1, 8, (bytes + ranks - 1) / ranks, 2 * (nodes - 1));
  rings(nodes, 8, 8, 1, (bytes + 7) / 8, 7);
  return work;
}

// Independent transfers between random hosts, 10 us apart on average for each host.
Work independent(std::uint32_t count) {
  Work work;
  work.network = leaf_spine({});
  work.options.fidelity = Fidelity::flow;
  weft::RandomStream random(1, "independent");
  const std::span<const NodeId> ends = work.network.endpoints();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t from = random.below(ends.size());
    const std::uint64_t to = (from + 1 + random.below(ends.size() - 1)) % ends.size();
    Transfer t = send(ends[from], ends[to], random.between(1'000, 200'000));
    t.start = nanoseconds(std::int64_t{i} * 10'000 / static_cast<std::int64_t>(ends.size()));
    work.graph.add(t);
  }
  return work;
}

// All of them at once.
Work burst(std::uint32_t count) {
  Work work = independent(count);
  for (std::uint32_t i = 0; i < count; ++i) work.graph.edit(static_cast<TransferId>(i)).start = SimTime();
  return work;
}

// Eight rings over all hosts in random order: they share links all the time.
Work crossing_rings(std::uint32_t hosts) {
  Work work;
  LeafSpineShape shape;
  shape.leaves = hosts / 16;
  work.network = leaf_spine(shape);
  work.options.fidelity = Fidelity::flow;
  weft::RandomStream random(1, "crossing");
  for (int r = 0; r < 8; ++r) {
    std::vector<NodeId> ends(work.network.endpoints().begin(), work.network.endpoints().end());
    for (std::size_t i = ends.size() - 1; i > 0; --i) std::swap(ends[i], ends[random.below(i + 1)]);
    std::vector<TransferId> arrived(hosts, weft::model::kNone<TransferId>);
    std::vector<std::uint32_t> numbers(hosts);
    std::iota(numbers.begin(), numbers.end(), 0U);
    add_ring(work.graph, ends, 100'000, 2 * (hosts - 1), arrived, numbers);
  }
  return work;
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool run(std::string_view name, std::uint32_t size, const std::function<Work(std::uint32_t)>& make) {
  const double made_at = seconds_of(CLOCK_MONOTONIC);
  Work work = make(size);
  if (!work.graph.finish(work.network)) return false;
  const double start = seconds_of(CLOCK_MONOTONIC);
  const double start_cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  RoutingOptions routing;
  routing.mode = work.mode;
  Routes routes(work.network, routing);
  const weft::Result<SimResult> result = simulate(routes, work.graph, work.options);
  const double wall = seconds_of(CLOCK_MONOTONIC) - start;
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start_cpu;
  if (!result.ok()) {
    fmt::print(stderr, "{}: {}\n", name, result.error().text());
    return false;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const Percentiles times = percentiles_of(result->completion_times);
  fmt::print(
      "{{\"workload\":\"{}\",\"size\":{},\"transfers\":{},\"instances\":{},\"make_s\":{:.3f},\"wall_s\":{:.3f},"
      "\"cpu_s\":{:.3f},\"rss_mb\":{},\"simulated_us\":{:.3f},\"mean_us\":{:.3f},\"events\":{},\"solves\":{},"
      "\"complete\":{},\"hash\":\"{:016x}\"}}\n",
      name, size, work.graph.size(), work.graph.instance_count(), start - made_at, wall, cpu, usage.ru_maxrss / 1024,
      in_microseconds(result->end), in_microseconds(times.mean), result->totals.events, result->totals.solves,
      result->complete, result->trace_hash);
  std::fflush(stdout);
  return true;
}

struct Entry {
  std::string_view name;
  std::uint32_t size;
  std::function<Work(std::uint32_t)> make;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Entry> entries{
      {"permutation", 16'384, permutation},
      {"ring", 1'024, ring},
      {"ring_of_transfers", 1'024, ring_of_transfers},
      {"two_level", 4'096, [](std::uint32_t n) { return hierarchical(n, 64 << 20); }},
      {"hierarchical", 131'072, [](std::uint32_t n) { return hierarchical(n, 1 << 30); }},
      {"independent", 1'000'000, independent},
      {"burst", 20'000, burst},
      {"crossing_rings", 128, crossing_rings},
  };
  bool ok = true;
  for (const Entry& entry : entries) {
    std::uint32_t size = entry.size;
    bool chosen = argc < 2;
    for (int i = 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      const std::size_t colon = argument.find(':');
      if (argument == "--list") fmt::print("{} {}\n", entry.name, entry.size);
      if (argument.substr(0, colon) != entry.name) continue;
      chosen = true;
      if (colon != std::string_view::npos) {
        size = static_cast<std::uint32_t>(std::strtoul(argument.data() + colon + 1, nullptr, 10));
      }
    }
    if (chosen && !run(entry.name, size, entry.make)) ok = false;
  }
  return ok ? 0 : 1;
}
