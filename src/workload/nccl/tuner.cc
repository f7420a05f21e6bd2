// NCCL's own prediction for an algorithm and protocol, on which its choice is based. Constants and formulas are those
// of NCCL 2.28 (src/graph/tuning.cc, search.cc, topo.h), in microseconds and GB/s; the channel search is replaced by
// its usual result on machines with switched NVLink: one channel per NIC between nodes, all of NVLink inside one.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "workload/nccl/model.h"

namespace weft::workload {

namespace {

using netsim::Collective;

constexpr std::array<double, 13> kOldIntra{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr std::array<double, 13> kOldInter{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5};
constexpr std::array<double, 11> kHopperIntra{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr std::array<double, 10> kHopperInter{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15};
constexpr std::array<double, 12> kBlackwellIntra{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr std::array<double, 11> kBlackwellInter{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20};

// ring_link: 8 GPUs, 16 GiB, NVLS off: A100 234.9 of 300 GB/s, H200 367.6 of 450, B200 682 of 900 (ml-engineering).
// tree_link: 2 x 8 A100, 8 GiB, 237.9 GB/s bus bandwidth moves 2 x 126.9 GB/s of 300 over NVLink (oracle-quickstart);
// no figure is known for later GPUs, so their ring value is used. nvls_link and nvls_head: NVLink SHARP moves (1 + 1/n)
// of the buffer each way, in rounds of chunks that also cost time (nccl/wall.cc). Slope and intercept of a round over
// its bytes: 8 x H100 (dgxc-benchmarking, 2 MiB to 16 GiB) 337 of 450 GB/s and 4.9 us for 8 heads, 8 x B200
// (ml-engineering, 16 MiB to 16 GiB) 635 of 900 GB/s and 7.2 us. net_channel: 16 channels of 4 x 8 H100 reach 365.8
// GB/s, of 4 x 8 H200 364.9, 24 channels of 8 x 8 H100 391 (nccl-tests issue 309, where NVIDIA confirms it).
constexpr std::array<NcclArchitecture, 4> kArchitectures{{
    {"ampere",
     20.0 / 25,
     kOldIntra,
     kOldInter,
     0,
     87.7,
     20,
     {20, 20, 20},
     {24, 23.6, 17.8},
     {24, 23.6, 17.8},
     0.783,
     0.846,
     0,
     0,
     0,
     0},
    {"hopper",
     20.6 / 25,
     kHopperIntra,
     kHopperInter,
     0.85,
     141,
     36.7,
     {36.7, 36.7, 29},
     {38.7, 41.4, 36},
     {0, 57.7, 45.5},
     0.817,
     0.817,
     0.749,
     0.61,
     23'200,
     16},
    {"blackwell",
     40.1 / 50,
     kBlackwellIntra,
     kBlackwellInter,
     0.74,
     282,
     40,
     {55.6, 31.67, 20},
     {70, 42.8, 24},
     {0, 96, 80},
     0.758,
     0.758,
     0.705,
     0.9,
     0,
     24},
    // RCCL on MI300X, whose choices are taken from NCCL on Hopper. 8 of them reach 316 to 319 of 448 GB/s, in three
    // sources (AMD's page of RCCL tests, a ROCm blog of 2025-03, Azure's ND MI300X v5).
    {"cdna3",
     20.6 / 25,
     kHopperIntra,
     kHopperInter,
     0,
     141,
     36.7,
     {36.7, 36.7, 29},
     {38.7, 41.4, 36},
     {0, 0, 0},
     0.707,
     0.707,
     0,
     0,
     23'200,
     0},
}};

struct Latencies {
  double ll;
  double ll128;
  double simple;
  [[nodiscard]] double of(NcclProtocol p) const {
    return p == NcclProtocol::ll ? ll : (p == NcclProtocol::ll128 ? ll128 : simple);
  }
};
constexpr Latencies kTreeBase{6.8, 14, 8.4};
constexpr Latencies kRingBase{6.6, 14, 8.4};
constexpr double kPatBase = 8;
constexpr Latencies kTreeNvlink{0.6, 1.25, 4};
constexpr Latencies kTreePcie{1, 1.9, 4};
constexpr Latencies kTreeNet{5, 8.5, 14};
constexpr Latencies kRingNvlink{0.6, 1.9, 3.4};
constexpr Latencies kRingPcie{1, 2.5, 5.7};
constexpr Latencies kRingNet{2.7, 4, 14};
constexpr double kNvlsNvlink = 25;
// src/graph/tuning.cc: 14 from 2.19 to 2.28.7, 20.9 since.
double nvls_tree_net(const NcclCase& c) {
  if (c.machine->version < 21'900) return 19;
  return c.machine->version < 22'809 ? 14 : 20.9;
}
// 28 instead of 14 for Simple from 2.19 to 2.22.
double tree_net(const NcclCase& c, NcclProtocol protocol) {
  const bool longer = c.machine->version >= 21'900 && c.machine->version < 22'300;
  return protocol == NcclProtocol::simple && longer ? 28 : kTreeNet.of(protocol);
}
constexpr double kNetPost = 1;  // per message, on Intel hosts (AMD: 2)
// LL between nodes, Intel hosts: 2 nodes, more nodes.
constexpr std::array<double, 2> kLlNet{39, 20.4};

double fastest_below(std::span<const double> speeds, double limit) {
  for (const double speed : speeds) {
    if (speed <= limit) return speed;
  }
  return limit;
}

// GB/s that the tuner assumes for one GPU's NVLink (or PCIe).
double tuner_link(const NcclCase& c) {
  const double share = c.machine->nvlink.per_second.count() > 0 ? c.gpu->tuner_nvlink : 0.8;
  return nvlink_rate(c) / 1000 * share;
}

// Ring channels that its search finds (half of those it then opens) and GB/s per channel.
struct Search {
  double channels = 1;
  double each = 0;
  [[nodiscard]] double total() const { return channels * each; }
};
Search ring_search(const NcclCase& c) {
  const double link = tuner_link(c);
  if (c.nodes > 1) {
    // One channel per NIC; in each of them one rank of a node sends to the NIC instead of over NVLink.
    const double wire = static_cast<double>(c.machine->nic.count()) / 8e9;
    const double over_nvlink = c.nics * (c.node_ranks - 1) / c.node_ranks;
    const double most = over_nvlink > 0 ? std::min(wire, link / over_nvlink) : wire;
    return {c.nics, fastest_below(c.gpu->inter_speeds, most)};
  }
  // Twelve channels if they fill the links as well as fewer: 12 x 20 (A100), 12 x 30 (H100), 12 x 60 (B200).
  const double each = fastest_below(c.gpu->intra_speeds, link / 12);
  return {std::max(1.0, std::floor(link / each)), each};
}

std::size_t by_nodes(const NcclCase& c) { return c.nodes < 2 ? 0 : (c.nodes < 3 ? 1 : 2); }

double ring_rate(const NcclCase& c, NcclProtocol protocol) {
  const Search search = ring_search(c);
  double rate = search.total();
  if (protocol == NcclProtocol::ll)
    rate = std::min(c.nodes > 1 ? kLlNet.at(by_nodes(c) - 1) : c.gpu->ll_most, rate / 2);
  if (protocol == NcclProtocol::ll128) rate = std::min(rate * 0.92, search.channels * c.gpu->ring_ll128_channel);
  const double steps = c.operation == Collective::all_reduce
                           ? 2 * (c.ranks - 1)
                           : (c.operation == Collective::broadcast ? c.ranks : c.ranks - 1);
  return rate * c.ranks / steps;
}

double tree_rate(const NcclCase& c, NcclProtocol protocol) {
  const Search search = ring_search(c);
  // With two nodes every NIC carries the buffer once instead of twice: the links inside the nodes are the bottleneck.
  const double total = c.nodes < 3 && c.nodes > 1 ? std::min(2 * search.total(), tuner_link(c)) : search.total();
  const double most = search.channels * c.gpu->tree_channel.at(by_nodes(c)) * (c.nodes > 1 && c.nodes < 3 ? 2 : 1);
  double rate = std::min(total * 0.92, most);
  if (protocol == NcclProtocol::ll) {
    rate = std::min(rate / 3.8, c.nodes > 1 ? kLlNet.at(by_nodes(c) - 1) : c.gpu->ll_most);
  } else if (protocol == NcclProtocol::ll128) {
    rate = std::min(rate * (c.nodes > 1 ? 120.0 / 128 : 7.0 / 9),
                    search.channels * c.gpu->tree_ll128_channel.at(by_nodes(c)));
  }
  return rate / 2;
}

double nvls_rate(const NcclCase& c, bool tree) {
  const double heads = c.node_ranks;
  const double each = fastest_below(c.gpu->intra_speeds, tuner_link(c) / heads);
  const bool all_reduce = c.operation == Collective::all_reduce;
  double rate = each * c.gpu->nvls_efficiency * (heads - 1) / heads * (all_reduce ? 2 : (heads - 1) / heads);
  if (tree) {
    const double wire = ring_search(c).total() / heads * (c.nodes < 3 ? 2 : 1);
    rate = std::min({rate, wire, c.gpu->nvls_tree_channel.at(by_nodes(c))});
  }
  rate *= heads;
  return all_reduce ? rate * c.ranks / (2 * (c.ranks - 1)) : rate;
}

double ring_latency(const NcclCase& c, NcclProtocol protocol) {
  const bool nvlink = c.machine->nvlink.per_second.count() > 0;
  double intra = nvlink ? kRingNvlink.of(protocol) : kRingPcie.of(protocol);
  const double inter = c.node_ranks > 1 ? kRingNet.of(protocol) : kTreeNet.of(protocol);
  const double base = kRingBase.of(protocol);
  if (c.operation == Collective::broadcast) {
    return base + c.ranks * (c.nodes > 1 ? kTreeNet.of(protocol) : (nvlink ? kTreeNvlink : kTreePcie).of(protocol));
  }
  if (c.nodes > 1) intra = std::max(intra, protocol == NcclProtocol::simple ? 3 * kNetPost : kNetPost);
  const double passes = c.operation == Collective::all_reduce ? 2 : 1;
  const double hops = c.nodes > 1 ? passes * (c.nodes - 1) : 0;
  return base + (passes * (c.ranks - 1) - hops) * intra + hops * inter;
}

}  // namespace

const NcclArchitecture& nccl_architecture(std::string_view name) {
  for (const NcclArchitecture& gpu : kArchitectures) {
    if (gpu.name == name) return gpu;
  }
  return kArchitectures[1];
}

double tuner_rate(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol) {
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return tree_rate(c, protocol) * 1000;
    case NcclAlgorithm::nvls:
      return nvls_rate(c, false) * 1000;
    case NcclAlgorithm::nvls_tree:
      return nvls_rate(c, true) * 1000;
    case NcclAlgorithm::pat:
      return ring_search(c).total() * 0.75 * 1000;
    case NcclAlgorithm::ring:
    case NcclAlgorithm::pairs:
      break;
  }
  return ring_rate(c, protocol) * 1000;
}

double tuner_latency(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol) {
  const double depth = std::floor(std::log2(std::max(c.nodes, 1.0)));
  const bool nvlink = c.machine->nvlink.per_second.count() > 0;
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return kTreeBase.of(protocol) +
             2 * ((c.node_ranks - 1) * (nvlink ? kTreeNvlink : kTreePcie).of(protocol) + depth * tree_net(c, protocol));
    case NcclAlgorithm::nvls:
      return kNvlsNvlink;
    case NcclAlgorithm::nvls_tree:
      return kNvlsNvlink + 2 * depth * nvls_tree_net(c);
    case NcclAlgorithm::pat:
      return kPatBase + depth * kTreeNet.simple / 3.5 + 2.8 * c.ranks;
    case NcclAlgorithm::ring:
    case NcclAlgorithm::pairs:
      break;
  }
  return ring_latency(c, protocol);
}

double tree_correction(NcclProtocol protocol, double bytes) {
  // Powers of two from 64 B to 256 MiB; tenths.
  constexpr std::array<std::array<std::uint8_t, 23>, 3> kTenths{{
      {10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10},
      {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10},
      {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9},
  }};
  const double size = std::floor(std::log2(std::max(bytes, 1.0))) - 6;
  if (size < 0 || size >= 23) return 1;
  return kTenths.at(static_cast<std::size_t>(protocol)).at(static_cast<std::size_t>(size)) / 10.0;
}

double tuner_time(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol) {
  double latency = tuner_latency(c, algorithm, protocol);
  double rate = tuner_rate(c, algorithm, protocol);
  if (rate <= 0) return std::numeric_limits<double>::infinity();
  const bool all_reduce = c.operation == Collective::all_reduce;
  if (algorithm == NcclAlgorithm::tree && all_reduce) rate *= tree_correction(protocol, c.bytes);
  if (algorithm == NcclAlgorithm::nvls_tree && c.gpu->name == "blackwell") rate *= tree_correction(protocol, c.bytes);
  // The tuner's "plateau effect of ring".
  const double channels = 2 * ring_search(c).channels;
  if (algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple && c.nodes > 1 && all_reduce &&
      c.bytes / (channels * c.ranks) >= 64) {
    latency *= 1.4;
  }
  return latency + c.bytes / rate;
}

// src/transport/nvls.cc, ncclNvlsTuning.
NvlsShape nvls_shape(const NcclCase& c, bool tree) {
  constexpr double kChunk = 128 * 1024;
  NvlsShape shape{static_cast<double>(c.gpu->nvls_channels), kChunk};
  if (!tree) return shape;
  if (c.gpu->name != "blackwell") {
    if (c.nodes >= 4) shape.chunk = kChunk / 2;
    return shape;
  }
  const double wire = static_cast<double>(c.machine->nic.count()) / 8e9;
  const bool wide = wire >= 96;
  if (c.nodes < 3) {
    shape.channels = 32;
    if (c.node_ranks <= 4) shape.chunk = 2 * kChunk;
    if (c.node_ranks >= 16 || (c.node_ranks > 4 && c.node_ranks <= 8 && !wide)) shape.chunk = kChunk / 2;
  } else if (wide && c.node_ranks <= 8) {
    shape.chunk = 2 * kChunk;
  } else if (wide) {
    shape.channels = 32;
    if (c.node_ranks >= 32) shape.chunk = kChunk / 2;
  } else {
    shape.chunk = kChunk / 2;
  }
  return shape;
}

std::uint32_t nccl_channels(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol) {
  if (algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree) {
    return static_cast<std::uint32_t>(nvls_shape(c, algorithm == NcclAlgorithm::nvls_tree).channels);
  }
  const double most = std::min(2 * ring_search(c).channels, 64.0);
  if (algorithm == NcclAlgorithm::pairs) return static_cast<std::uint32_t>(std::max(1.0, std::min(most, 32.0)));
  // src/enqueue.cc: one channel per this many bytes per thread.
  const double threads = protocol == NcclProtocol::ll128 ? 640 : 512;
  double bytes_each = protocol == NcclProtocol::simple ? 64 : 8;
  if (algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::ll) bytes_each *= c.ranks;
  const double wanted = std::floor(c.bytes / (threads * bytes_each));
  return static_cast<std::uint32_t>(std::clamp(wanted, 1.0, most));
}

}  // namespace weft::workload
