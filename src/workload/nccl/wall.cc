// Actual time of a collective, from how NCCL processes chunks (src/device and src/enqueue.cc of NCCL 2.28).
//
// LL: every thread sends a line of 8 bytes with its flag; data beyond one line of all threads takes another pass. LL128
// streams: a rank is one step behind its predecessor's first line, not behind its last, so latency and
// bytes overlap for the most part. Simple waits for whole slices: latency and bytes add up. NVLS copies in, reduces in
// the switch and copies out, one chunk per channel and head at a time, three pipelined stages; NVLS tree has a tree
// over the nodes in the middle. Constants that also exist in NCCL are NCCL's, as they agree with measurements; the
// others name their source ("published": the tables of nccl/published_collectives.h).
#include <algorithm>
#include <array>
#include <cmath>

#include "workload/nccl/model.h"

namespace weft::workload {

namespace {

using netsim::Collective;

constexpr double kKib = 1024;

struct Steps {
  double intra = 0;
  double inter = 0;
  [[nodiscard]] double all() const { return intra + inter; }
};
Steps ring_steps(const NcclCase& c) {
  const double passes = c.operation == Collective::all_reduce ? 2 : 1;
  const double inter = c.nodes > 1 ? passes * (c.nodes - 1) : 0;
  return {passes * (c.ranks - 1) - inter, inter};
}

// All-gather and reduce-scatter between servers reach less of the wire than all-reduce: at 4 GiB, 327 of 366 GB/s on 4
// x 8 H100 (Voltage Park), 327 to 334 on 2 x 8 H200 and 344 of 387 on 2 x 8 B200 (Google Cloud).
constexpr double kGatherShare = 0.9;

// Rate of a ring on its slowest kind of link.
double ring_link(const NcclCase& c) {
  double share = c.machine->nvlink.per_second.count() > 0 ? c.gpu->ring_link : 0.8;
  // Rings between servers of MI300X reach 357 of their NICs' 400 GB/s (OCI, AMD), more than rings within one: there the
  // mesh of links is not the limit.
  if (c.nodes > 1 && c.gpu->name == "cdna3") share = std::max(share, 0.817);
  double rate = nvlink_rate(c) * share;
  if (c.nodes < 2) return rate;
  return std::min(rate, nic_rate(c)) * (c.operation == Collective::all_reduce ? 1 : kGatherShare);
}

// Bytes that cross each link of a ring, all its channels together.
double ring_bytes(const NcclCase& c) {
  return c.bytes * netsim::bus_factor(c.operation, static_cast<std::uint32_t>(c.ranks));
}

// A step of LL on NVLink: 0.67 us, and up to 0.25 us more when all 16 warps of a channel wait for lines (published, 8 x
// H100: 16.9 us at 1 KiB, 19.5 us from 32 KiB to 512 KiB; 14 steps and 6.6 us to start); every further line of a thread
// costs NCCL's 0.6 us. In rings between nodes a step inside a node takes 2 us, one between nodes 15 us: 2 x 8 A100 need
// 93 us for 8 bytes (nccl issue 812), 32 to 128 nodes 3.7 us per step on average (SimAI).
constexpr double kLlThreads = 512;
NcclTime ring_ll(const NcclCase& c, double channels) {
  const double lines = std::ceil(c.bytes / c.ranks / channels / 8);
  const double passes = std::ceil(std::max(lines, 1.0) / kLlThreads);
  const double fill = 0.25 * std::min(1.0, lines / kLlThreads);
  const Steps steps = ring_steps(c);
  const double intra = c.nodes > 1 ? 2.0 : (c.machine->nvlink.per_second.count() > 0 ? 0.67 : 1.0);
  const double fixed = 6.6 + steps.intra * intra + steps.inter * 15;
  const double wire = 2 * ring_bytes(c) / ring_link(c);  // half of a line is its flag
  return {fixed, std::max(steps.all() * (fill + (passes - 1) * 0.6), wire)};
}

// Several nodes: 5 us per step inside a node (2 x 8 H100, ring: 157 us for 30 steps, nccl-tests issue 309), 15 us
// between (SimAI: 6.3 us per step on average, 32 to 128 nodes). Within one node NCCL's 1.9 us.
NcclTime ring_ll128(const NcclCase& c, double channels) {
  const Steps steps = ring_steps(c);
  const double wait = c.nodes > 1 ? (steps.intra * 5 + steps.inter * 15) / steps.all() : 1.9;
  const double rate = std::min(ring_link(c) * 120 / 128, channels * c.gpu->ring_ll128_channel * 1000);
  const double bytes = ring_bytes(c) / steps.all() / rate;
  // Both vary between ranks and steps, and a step waits for the later of the two, so they add up in part: as a sum of
  // squares, all nine published tables of all-reduce in rings with LL128 agree better than as the larger of the two.
  // All-gather and reduce-scatter, whose blocks are passed on as they are, take the sum: 4 x 8 H100 and 2 x 8 B200.
  const double step = c.operation == Collective::all_reduce ? std::hypot(wait, bytes) : wait + bytes;
  return {14 + steps.all() * wait, steps.all() * (step - wait)};
}

NcclTime ring_simple(const NcclCase& c, double channels) {
  const Steps steps = ring_steps(c);
  const double intra = c.machine->nvlink.per_second.count() > 0 ? 3.4 : 5.7;
  double rate = ring_link(c);
  if (c.nodes > 1 && c.gpu->net_channel > 0)
    rate = std::min(rate, channels * c.gpu->net_channel * (c.operation == Collective::all_reduce ? 1 : kGatherShare));
  return {8.4 + steps.intra * intra + steps.inter * 14, ring_bytes(c) / rate};
}

// A pipeline from the root through all ranks, each one slice behind the previous.
NcclTime broadcast(const NcclCase& c, NcclProtocol protocol, double channels) {
  const double chunk = protocol == NcclProtocol::simple ? 512 * kKib : 32 * kKib;
  const double hop = protocol == NcclProtocol::simple ? 4 : (protocol == NcclProtocol::ll128 ? 1.9 : 0.67);
  const double net = protocol == NcclProtocol::simple ? 14 : 8.5;
  double rate = ring_link(c) * (protocol == NcclProtocol::ll ? 0.5 : (protocol == NcclProtocol::ll128 ? 0.92 : 1));
  if (c.nodes > 1 && c.gpu->net_channel > 0) rate = std::min(rate, channels * c.gpu->net_channel);
  const double hops = c.ranks - 1;
  const double fill = (hops - 1) * std::min(c.bytes, channels * chunk) / rate;
  return {6.6 + (hops - (c.nodes - 1)) * hop + (c.nodes - 1) * net, c.bytes / rate + fill};
}

// LL128 in a tree between nodes: one chunk per channel and hop, 8.5 us as in the tuner, or as long as its bytes take.
// Chunks are halved from 576,000 bytes while there are too few of them to fill the tree (src/enqueue.cc,
// calcCollChunking), so the rate grows with the bytes. 8 x 8 H100 reduce 36 GB/s beyond the latency with chunks of
// 18,000 bytes, 1 to 4 MiB (nccl-tests issue 309).
constexpr double kLl128Hop = 8.5;

double ll128_tree_chunk(const NcclCase& c, double channels) {
  const double steps = 1 + std::floor(std::log2(c.nodes)) + 0.1 * c.node_ranks;
  const double each = c.bytes / channels;
  double chunk = 576'000;
  while (std::floor(each / chunk) < steps * 64 / c.node_ranks && chunk > 128 * kKib) chunk /= 2;
  while (std::floor(each / chunk) < steps * 16 / c.node_ranks && chunk > 32 * kKib) chunk /= 2;
  return chunk;
}

NcclTime tree(const NcclCase& c, NcclProtocol protocol, double channels) {
  const double latency = tuner_latency(c, NcclAlgorithm::tree, protocol);
  const double correction = tree_correction(protocol, c.bytes);
  const double hops = 2 * (c.node_ranks - 1 + std::floor(std::log2(c.nodes)));
  if (protocol != NcclProtocol::simple) {
    // As in the tuner, plus the warps of a channel, as in rings.
    const double fill = hops * 0.3 * std::min(1.0, c.bytes / (4 * kKib));
    if (protocol == NcclProtocol::ll128 && c.nodes > 1) {
      const double chunk = ll128_tree_chunk(c, channels);
      const double chunks = c.bytes / (channels * chunk);
      const double by_bytes = chunk * channels / tuner_rate(c, NcclAlgorithm::tree, protocol);
      return {latency, fill + std::max(0.0, chunks - 1) * std::max(kLl128Hop, by_bytes)};
    }
    return {latency, fill + c.bytes / (tuner_rate(c, NcclAlgorithm::tree, protocol) * correction)};
  }
  // Up and down, each GPU of a chain passes the buffer twice; a node in a tree over three or more nodes twice, over two
  // nodes once.
  double rate = nvlink_rate(c) * (c.machine->nvlink.per_second.count() > 0 ? c.gpu->tree_link : 0.8) / 2;
  if (c.nodes > 1) rate = std::min(rate, nic_rate(c) / (c.nodes > 2 ? 2 : 1));
  return {latency, c.bytes / (rate * correction)};
}

struct NvlsChunks {
  double chunk;  // bytes per channel and head
  double round;  // all channels and heads together
  double rounds;
};
// src/enqueue.cc, calcCollChunking.
NvlsChunks nvls_chunks(const NcclCase& c, bool tree) {
  const NvlsShape shape = nvls_shape(c, tree);
  const double together = shape.channels * c.node_ranks;
  double chunk = shape.chunk;
  if (tree) {
    if (c.bytes < 16 * together * chunk && chunk > 128 * kKib) chunk = 128 * kKib;
    if (c.bytes < 4 * together * chunk && chunk > 64 * kKib) chunk = 64 * kKib;
    if (c.bytes < together * chunk && chunk > 32 * kKib) chunk = 32 * kKib;
  } else {
    if (c.bytes < 64 * together * chunk) chunk = 64 * kKib;
    if (c.bytes < 8 * together * chunk && chunk > 32 * kKib) chunk = 32 * kKib;
    if (c.bytes < 2 * together * chunk && chunk > 16 * kKib) chunk = 16 * kKib;
  }
  const double round = std::min(together * chunk, c.bytes);
  return {chunk, round, std::max(1.0, std::ceil(c.bytes / (together * chunk)))};
}

constexpr double kNvlsStart = 7.5;  // launch, from the intercept over chunk sizes on 8 x H100
// The tuner's latency per hop between nodes since 2.28.9, which holds for earlier versions too: with the start above,
// 64 us on 2 x 8 and 106 us on 4 x 8 H100, where 512 KiB take 70 us and 2 MiB 132 us (nccl-tests issue 309, NCCL 2.26).
constexpr double kNvlsTreeHop = 20.9;

// All-reduce: the switch reads (n-1)/n of a buffer and its own share from each GPU, and writes the sum to all.
// All-gather and reduce-scatter use one of the two.
double nvls_rate(const NcclCase& c) {
  const double share = c.operation == Collective::all_reduce ? 1 + 1 / c.node_ranks : 1;
  return nvlink_rate(c) * c.gpu->nvls_link / share;
}

NcclTime nvls(const NcclCase& c) {
  const NvlsChunks chunks = nvls_chunks(c, false);
  const double head = c.gpu->nvls_head * c.node_ranks;
  const double rate = nvls_rate(c);
  return {kNvlsStart + 3 * head, (chunks.rounds - 1) * head + (c.bytes + 2 * chunks.round) / rate};
}

// If NVLink is the bottleneck, sends and receives cost the kernels as much as the rest; if the wire is, it waits for a
// chunk once per round. Rounds of 2 x 8 H100 take 66.6 us instead of 61; of 4 x 8 and 8 x 8 H100 50 us, 43 of them on
// the NICs (nccl-tests issue 309).
NcclTime nvls_tree(const NcclCase& c) {
  const NvlsChunks chunks = nvls_chunks(c, true);
  const double step = c.gpu->nvls_head * c.node_ranks;
  const double link = nvls_rate(c);
  const double wire = nic_rate(c) / (c.nodes > 2 ? 2 : 1);
  const bool by_wire = step + chunks.round / wire > 2 * step + chunks.round / link;
  const double head = by_wire ? step : 2 * step;
  const double rate = by_wire ? wire : link;
  const double depth = std::floor(std::log2(c.nodes));
  // A hop waits for its half of the round to leave the NICs: one of the two trees goes up, the other down. One more
  // round fills the stages inside the node.
  const double hop = chunks.round / nic_rate(c) / 2;
  return {kNvlsStart + 3 * step + 2 * depth * kNvlsTreeHop,
          (chunks.rounds - 1) * head + (c.bytes + chunks.round) / rate + 2 * std::ceil(std::log2(c.nodes)) * hop};
}

// Every rank sends ranks - 1 messages. Those to other nodes leave through the NIC of their destination's rail (PXN); a
// message costs the proxy 1 us (NCCL_NET_OVERHEAD).
NcclTime all_to_all(const NcclCase& c) {
  const double local = c.bytes * (c.node_ranks - 1) / c.ranks;
  const double away = c.bytes * (c.ranks - c.node_ranks) / c.ranks;
  const double link = nvlink_rate(c) * (c.machine->nvlink.per_second.count() > 0 ? c.gpu->ring_link : 0.8);
  const double own_nic = nic_rate(c) / c.node_ranks;
  const double fixed = 8.4 + (c.node_ranks - 1) * 3.4 + (c.nodes > 1 ? 14 + (c.ranks - c.node_ranks) : 0);
  const double by_nvlink = (local + away * (c.node_ranks - 1) / c.node_ranks) / link;
  return {fixed, std::max(by_nvlink, c.nodes > 1 ? away / own_nic : 0)};
}

NcclTime send_recv(const NcclCase& c) {
  const double link = nvlink_rate(c) * (c.machine->nvlink.per_second.count() > 0 ? c.gpu->ring_link : 0.8);
  if (c.nodes < 2) return {8.4 + 3.4, c.bytes / link};
  return {8.4 + 14, c.bytes / std::min(link, nic_rate(c) / c.nics)};
}

}  // namespace

NcclTime wall_time(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol) {
  const double channels = nccl_channels(c, algorithm, protocol);
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return tree(c, protocol, channels);
    case NcclAlgorithm::nvls:
      return nvls(c);
    case NcclAlgorithm::nvls_tree:
      return nvls_tree(c);
    case NcclAlgorithm::pat:
      return {tuner_latency(c, algorithm, protocol), ring_bytes(c) / nic_rate(c)};
    case NcclAlgorithm::pairs:
      return c.operation == Collective::all_to_all ? all_to_all(c) : send_recv(c);
    case NcclAlgorithm::ring:
      break;
  }
  if (c.operation == Collective::broadcast) return broadcast(c, protocol, channels);
  if (protocol == NcclProtocol::ll) return ring_ll(c, channels);
  return protocol == NcclProtocol::ll128 ? ring_ll128(c, channels) : ring_simple(c, channels);
}

}  // namespace weft::workload
