// W1 (permutation) and W2 (64 to 1) of the packet engine with the parameters of other simulators, to compare completion
// times: one JSON line per run. The parameters were read from their source; docs/validation.md explains differences.
#include <fmt/format.h>

#include <string>

#include "netsim/network/topologies.h"
#include "netsim/sim/simulate.h"

namespace {

using namespace weft;
using namespace weft::netsim;

enum class Peer { htsim_roce, ns3_window, ns3_dcqcn_900, ns3_dcqcn_300 };

std::string name_of(Peer peer) {
  switch (peer) {
    case Peer::htsim_roce:
      return "as htsim_roce";
    case Peer::ns3_window:
      return "as ns-3 RDMA, window and PFC";
    case Peer::ns3_dcqcn_900:
      return "as ns-3 RDMA, DCQCN, timer 900 us";
    case Peer::ns3_dcqcn_300:
      return "as ns-3 RDMA, DCQCN, timer 300 us";
  }
  return "?";
}

// htsim's RoCE: line rate until paused; per-ingress XOFF at 61,440 and XON at 49,152 bytes; no ECN.
void set_htsim(SimOptions& options) {
  TrafficClassOptions& roce = options.classes.front();
  roce.transport.kind = Transport::pfc_only;
  roce.transport.window = kNoWindow;
  roce.ecn = false;
  options.switches.xoff = weft::Bytes(61'440);
  options.switches.xon_offset = weft::Bytes(61'440 - 49'152);
}

// SimAI's ns-3: 4148-byte packets, 60-byte ACKs, a window of 174,525 bytes, 32 MiB of buffer, threshold 1/8 of the
// free.
void set_ns3(SimOptions& options, Peer peer) {
  TrafficClassOptions& roce = options.classes.front();
  TransportOptions& transport = roce.transport;
  transport.header = weft::Bytes(52);
  transport.control = weft::Bytes(60);
  transport.window = weft::Bytes(174'525);
  options.switches.buffer = weft::Bytes(32 << 20);
  options.switches.headroom = weft::Bytes(37'500);
  options.switches.xon_offset = weft::Bytes(3072);
  transport.dcqcn.byte_counter = weft::Bytes(0);
  transport.dcqcn.cnp_interval = nanoseconds(1);  // a bit in every ACK; the sender cuts at most once per 4 us
  transport.dcqcn.rate_timer = microseconds(peer == Peer::ns3_dcqcn_300 ? 300 : 900);
  if (peer != Peer::ns3_window) return;
  transport.kind = Transport::pfc_only;
  roce.ecn = false;
}

void add(TransferGraph& graph, const Network& network, std::size_t from, std::size_t to, std::int64_t bytes) {
  Transfer t;
  t.source = network.endpoints()[from];
  t.destination = network.endpoints()[to];
  t.bytes = weft::Bytes(bytes);
  graph.add(t);
}

void run(Peer peer, bool incast, std::uint64_t seed) {
  const Network network = fat_tree({});
  TransferGraph graph;
  // htsim's last packet is as long as the others.
  const bool full = peer == Peer::htsim_roce;
  if (incast) {
    for (std::size_t h = 1; h <= 64; ++h) add(graph, network, h, 0, full ? 245 * 4096 : 1'000'000);
  } else {
    for (std::size_t h = 0; h < 128; ++h) add(graph, network, h, (37 * h + 61) % 128, full ? 2442 * 4096 : 10'000'000);
  }
  CHECK(graph.finish(network).ok(), "the workloads are valid");
  RoutingOptions routing;
  routing.seed = seed;
  Routes routes(network, routing);
  SimOptions options;
  options.classes.front().transport.ends_at_receiver = false;  // the others end a flow with its last ACK
  if (full) {
    set_htsim(options);
  } else {
    set_ns3(options, peer);
  }
  const weft::Result<SimResult> result = simulate(routes, graph, options);
  CHECK(result.ok(), "the workloads are valid");
  const Percentiles p = percentiles_of(result->completion_times);
  fmt::print(
      "{{\"parameters\":\"{}\",\"workload\":\"{}\",\"hash_seed\":{},\"mean_us\":{:.1f},\"p99_us\":{:.1f},"
      "\"max_us\":{:.1f},\"pauses\":{},\"cnps\":{},\"dropped\":{}}}\n",
      name_of(peer), incast ? "w2" : "w1", seed, in_microseconds(p.mean), in_microseconds(p.p99),
      in_microseconds(p.max), result->totals.pauses, result->totals.notifications, result->totals.dropped);
}

}  // namespace

int main() {
  for (const Peer peer : {Peer::htsim_roce, Peer::ns3_window, Peer::ns3_dcqcn_900, Peer::ns3_dcqcn_300}) {
    run(peer, true, 1);
    for (std::uint64_t seed = 1; seed <= 6; ++seed) run(peer, false, seed);
  }
}
