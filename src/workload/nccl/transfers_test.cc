#include "workload/nccl/transfers.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "netsim/sim/simulate.h"

namespace weft::workload {
namespace {

using netsim::Collective;
using netsim::NodeId;
using netsim::TransferGraph;
using netsim::TransferId;

constexpr std::int64_t kNvlinkGb = 1000;  // NVLink rate of a GPU here, Gb/s
constexpr std::int64_t kNicGb = 100;

// `nodes` servers with `each` GPUs: an NVLink switch per server, and one switch for all NICs.
netsim::Network servers(std::uint32_t nodes, std::uint32_t each) {
  netsim::NetworkBuilder builder;
  netsim::Node leaf;
  leaf.kind = netsim::NodeKind::network_switch;
  leaf.tier = 1;
  leaf.buffer = builder.add_buffer({});
  const NodeId fabric = builder.add_node(leaf, "leaf");
  const SimTime delay = netsim::nanoseconds(1);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    netsim::Node nvlink = leaf;
    nvlink.scale_up = true;
    nvlink.group = n;
    const NodeId inner = builder.add_node(nvlink, "nvlink" + std::to_string(n));
    for (std::uint32_t g = 0; g < each; ++g) {
      netsim::Node gpu;
      gpu.group = n;
      const NodeId id = builder.add_node(gpu, "gpu" + std::to_string(n) + "." + std::to_string(g));
      builder.connect(id, inner, gigabits(kNvlinkGb), delay);
      builder.connect(id, fabric, gigabits(kNicGb), delay);
    }
  }
  return std::move(builder).finish();
}

struct Wires {
  double seconds = 0;
  std::size_t transfers = 0;
  std::int64_t bytes = 0;
};
Wires run(std::uint32_t nodes, std::uint32_t each, NcclAlgorithm algorithm, Collective operation, std::int64_t bytes,
          NcclProtocol protocol = NcclProtocol::simple) {
  const netsim::Network network = servers(nodes, each);
  netsim::Routes routes(network, {});
  NcclChoice choice;
  choice.algorithm = algorithm;
  choice.protocol = protocol;
  choice.channels = 16;
  TransferGraph graph;
  const std::vector<TransferId> ends =
      add_nccl_collective(graph, network.endpoints(), choice, {nodes * each, each}, operation, Bytes(bytes));
  EXPECT_FALSE(ends.empty());
  EXPECT_TRUE(graph.finish(network));
  netsim::SimOptions options;
  options.fidelity = netsim::Fidelity::flow;
  options.classes[0].transport.header = Bytes(0);
  options.switches.cut_through = true;
  const Result<netsim::SimResult> result = netsim::simulate(routes, graph, options);
  EXPECT_TRUE(result.ok());
  return {netsim::in_microseconds(result.value().end) / 1e6, graph.size(), graph.total_bytes().count()};
}

constexpr double kNic = kNicGb * 1e9 / 8;
constexpr double kNvlink = kNvlinkGb * 1e9 / 8;
constexpr std::int64_t kSize = 1'000'000'000;

TEST(NcclTransfers, RingsFillAllNics) {
  // 4 rings on 4 NICs: each carries 2(n-1)/n of a quarter.
  const Wires all_reduce = run(4, 4, NcclAlgorithm::ring, Collective::all_reduce, kSize);
  EXPECT_NEAR(all_reduce.seconds, kSize * 2.0 * 15 / 16 / 4 / kNic, 0.03 * kSize * 2.0 / 4 / kNic);
  EXPECT_EQ(all_reduce.transfers, 64U);
  const Wires all_gather = run(4, 4, NcclAlgorithm::ring, Collective::all_gather, kSize);
  EXPECT_NEAR(all_gather.seconds, all_reduce.seconds / 2, 0.03 * all_reduce.seconds);
}

TEST(NcclTransfers, ProtocolOverheadIsAdded) {
  const Wires simple = run(2, 2, NcclAlgorithm::ring, Collective::all_reduce, kSize);
  const Wires ll = run(2, 2, NcclAlgorithm::ring, Collective::all_reduce, kSize, NcclProtocol::ll);
  const Wires ll128 = run(2, 2, NcclAlgorithm::ring, Collective::all_reduce, kSize, NcclProtocol::ll128);
  EXPECT_NEAR(ll.seconds / simple.seconds, 2, 0.01);
  EXPECT_NEAR(ll128.seconds / simple.seconds, 16.0 / 15, 0.01);
}

TEST(NcclTransfers, NvlsSendsTheBufferPlusOneShare) {
  const Wires nvls = run(1, 8, NcclAlgorithm::nvls, Collective::all_reduce, kSize);
  EXPECT_NEAR(nvls.seconds, kSize * (1 + 1.0 / 8) / kNvlink, 0.02 * kSize / kNvlink);
  EXPECT_EQ(nvls.transfers, 8U);
  EXPECT_EQ(nvls.bytes, kSize / 8 * 9 * 8);
}

TEST(NcclTransfers, NvlsTreeOverTwoNodesSendsOncePerNic) {
  // Two nodes: every rail carries its quarter of the buffer once each way; the pipeline of 8 chunks fills in two hops.
  const Wires two = run(2, 4, NcclAlgorithm::nvls_tree, Collective::all_reduce, kSize);
  const double wire = kSize / 4.0 / kNic;
  EXPECT_GT(two.seconds, wire);
  EXPECT_LT(two.seconds, wire * 1.3);
}

TEST(NcclTransfers, PatTakesLogarithmicRounds) {
  // 8 single GPUs, all-gather: 1 + 2 + 4 eighths over the NIC, in 3 rounds.
  const Wires pat = run(8, 1, NcclAlgorithm::pat, Collective::all_gather, kSize);
  EXPECT_NEAR(pat.seconds, kSize * 7.0 / 8 / kNic, 0.01 * kSize / kNic);
  EXPECT_EQ(pat.transfers, 24U);
  const Wires odd = run(5, 1, NcclAlgorithm::pat, Collective::reduce_scatter, kSize);
  EXPECT_EQ(odd.bytes, 5 * 4 * (kSize / 5));
  EXPECT_NEAR(odd.seconds, kSize * 4.0 / 5 / kNic, 0.01 * kSize / kNic);
}

TEST(NcclTransfers, PairsGoOverNvlinkAndNics) {
  // Each of 8 GPUs sends half of its buffer to the other server, on its own rail.
  const Wires pairs = run(2, 4, NcclAlgorithm::pairs, Collective::all_to_all, kSize);
  EXPECT_NEAR(pairs.seconds, kSize / 2.0 / kNic, 0.02 * kSize / kNic);
  EXPECT_EQ(pairs.transfers, 8U * 3 + 8);
  // 16 GPUs of 4 servers: three quarters leave, to three servers.
  const Wires more = run(4, 4, NcclAlgorithm::pairs, Collective::all_to_all, kSize);
  EXPECT_NEAR(more.seconds, kSize * 0.75 / kNic, 0.02 * kSize / kNic);
  const Wires neighbors = run(2, 4, NcclAlgorithm::pairs, Collective::send_recv, kSize);
  EXPECT_NEAR(neighbors.seconds, kSize / kNic, 0.02 * kSize / kNic);
}

TEST(NcclTransfers, AgreesWithTheRingModel) {
  // On lossless wires the transfers take the model's time without its latency, except for the share of the NIC that the
  // model counts as overhead: 3 %, and 10 % more in all-gathers.
  NcclMachine machine;
  machine.architecture = "ampere";
  machine.nvlink = model::ByteRate{Bytes(static_cast<std::int64_t>(kNvlink))};
  machine.node_gpus = machine.nics = 4;
  machine.nic = gigabits(kNicGb);
  machine.infiniband = true;
  machine.pcie = gigabits(256);
  const NcclChoice choice = nccl_choose(machine, Collective::all_gather, Bytes(kSize), {16, 4});
  ASSERT_EQ(choice.algorithm, NcclAlgorithm::ring);
  ASSERT_EQ(choice.protocol, NcclProtocol::simple);
  const Wires wires = run(4, 4, NcclAlgorithm::ring, Collective::all_gather, kSize);
  const double moving = netsim::in_microseconds(choice.time - choice.latency) / 1e6;
  EXPECT_NEAR(wires.seconds / moving, 0.97 * 0.9, 0.03);
}

TEST(NcclTransfers, FewRanksAndNoBytesSendNothing) {
  TransferGraph graph;
  const netsim::Network network = servers(1, 2);
  const TransferId before{7};
  NcclTransferOptions options;
  options.after = std::span(&before, 1);
  const auto alone = add_nccl_collective(graph, network.endpoints().first(1), {}, {1, 1}, Collective::all_reduce,
                                         Bytes(1000), options);
  EXPECT_EQ(alone, std::vector<TransferId>{before});
  EXPECT_EQ(add_nccl_collective(graph, network.endpoints(), {}, {2, 2}, Collective::all_reduce, Bytes(0), options),
            std::vector<TransferId>{before});
  EXPECT_EQ(graph.size(), 0U);
}

TEST(NcclTransfers, GrowWithRanksOnly) {
  std::vector<NodeId> ranks(4096);
  for (std::uint32_t r = 0; r < ranks.size(); ++r) ranks[r] = NodeId{r};
  NcclChoice choice;
  choice.channels = 16;
  TransferGraph graph;
  add_nccl_collective(graph, ranks, choice, {4096, 8}, Collective::all_reduce, gigabytes(1));
  EXPECT_EQ(graph.size(), 4096U * 8);
}

}  // namespace
}  // namespace weft::workload
