#include "workload/nccl/nccl.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "workload/nccl/model.h"

namespace weft::workload {

namespace {

using netsim::Collective;

constexpr std::array kAlgorithms{NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls,
                                 NcclAlgorithm::nvls_tree, NcclAlgorithm::pat};
constexpr std::array kProtocols{NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

struct Pick {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  double time = std::numeric_limits<double>::infinity();
};
Pick best(const NcclCase& c, const NcclLimits& limits) {
  Pick pick;
  for (const NcclAlgorithm algorithm : kAlgorithms) {
    if (limits.algorithm && *limits.algorithm != algorithm) continue;
    for (const NcclProtocol protocol : kProtocols) {
      if (limits.protocol && *limits.protocol != protocol) continue;
      if (!nccl_possible(c, algorithm, protocol)) continue;
      const double time = tuner_time(c, algorithm, protocol);
      if (time < pick.time) pick = {algorithm, protocol, time};
    }
  }
  return pick;
}

// Limits that cannot be met are dropped: first the protocol, then the algorithm.
Pick choose(const NcclCase& c, const NcclLimits& limits) {
  if (c.operation == Collective::all_to_all || c.operation == Collective::send_recv) {
    return {NcclAlgorithm::pairs, NcclProtocol::simple, 0};
  }
  Pick pick = best(c, limits);
  if (std::isinf(pick.time)) pick = best(c, {limits.algorithm, {}});
  if (std::isinf(pick.time)) pick = best(c, {{}, limits.protocol});
  if (std::isinf(pick.time)) pick = best(c, {});
  return pick;
}

struct Sent {
  double nvlink = 0;
  double nic = 0;
};
// Per GPU, averaged over the GPUs of a node: the rings and trees of the channels alternate between their NICs.
Sent sent(const NcclCase& c, NcclAlgorithm algorithm) {
  const double all = c.bytes * netsim::bus_factor(c.operation, static_cast<std::uint32_t>(c.ranks));
  const double g = c.node_ranks;
  const double over_nodes = c.nodes > 1 ? 2 * (c.nodes - 1) / c.nodes * c.bytes / g : 0;
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return {2 * c.bytes * (g - 1) / g, over_nodes};
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return {c.operation == Collective::all_reduce ? c.bytes * (1 + 1 / g) : c.bytes, over_nodes};
    case NcclAlgorithm::pat:
      return {0, all};
    case NcclAlgorithm::pairs:
      if (c.operation == Collective::all_to_all) {
        const double away = c.bytes * (c.ranks - g) / c.ranks;
        return {c.bytes * (g - 1) / c.ranks + away * (g - 1) / g, away};
      }
      break;
    case NcclAlgorithm::ring:
      break;
  }
  // One of every g hops of a ring (or of neighbors in pairs) leaves the node.
  if (c.nodes < 2) return {all, 0};
  return {all * (g - 1) / g, all / g};
}

SimTime sim_time(double us) { return SimTime(std::llround(us * 1e6)); }

}  // namespace

std::string_view to_text(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return "ring";
    case NcclAlgorithm::tree:
      return "tree";
    case NcclAlgorithm::nvls:
      return "nvls";
    case NcclAlgorithm::nvls_tree:
      return "nvls-tree";
    case NcclAlgorithm::pat:
      return "pat";
    case NcclAlgorithm::pairs:
      return "pairs";
  }
  return "?";
}

std::string_view to_text(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::ll:
      return "LL";
    case NcclProtocol::ll128:
      return "LL128";
    case NcclProtocol::simple:
      return "Simple";
  }
  return "?";
}

NcclCase nccl_case(const NcclMachine& machine, netsim::Collective operation, Bytes bytes, const NcclGroup& group) {
  NcclCase c;
  c.machine = &machine;
  c.gpu = &nccl_architecture(machine.architecture);
  c.operation = operation;
  c.bytes = static_cast<double>(std::max(bytes, Bytes(0)).count());
  c.ranks = std::max(group.ranks, 1U);
  c.node_ranks = std::clamp(group.node_ranks, 1U, std::max(group.ranks, 1U));
  c.nodes = std::ceil(c.ranks / c.node_ranks);
  const double share = c.node_ranks / std::max(machine.node_gpus, 1U);
  c.nics = std::max(1.0, std::round(machine.nics * std::min(share, 1.0)));
  return c;
}

double nvlink_rate(const NcclCase& c) {
  const double nvlink = static_cast<double>(c.machine->nvlink.per_second.count()) / 1e6;
  const double pcie = static_cast<double>(c.machine->pcie.count()) / 8e6;
  return std::max(nvlink > 0 ? nvlink : pcie, 1.0);
}

double nic_rate(const NcclCase& c) {
  // InfiniBand: 392.7 GB/s of 8 x 400 Gb/s (2 x 8 H100, ring of 24 channels, nccl-tests issue 309) and 192 of 8 x 200
  // (DGX A100, nccl issue 1576), 97 % in between. RoCEv2: ib_write_bw 193.7 of 200 Gb/s and 384 of 400.
  const double kept = c.machine->infiniband ? 0.97 : 0.965;
  const double wire = static_cast<double>(c.machine->nic.count()) / 8e6;
  const double pcie = static_cast<double>(c.machine->pcie.count()) / 8e6;
  // A NIC is limited by its PCIe, of which 4 % are headers of its 256-byte packets (PCIe base specification).
  const double each = pcie > 0 ? std::min(wire * kept, pcie * 0.96) : wire * kept;
  return std::max(each * c.nics, 1.0);
}

bool nccl_possible(const NcclCase& c, NcclAlgorithm algorithm, NcclProtocol protocol) {
  const bool all_reduce = c.operation == Collective::all_reduce;
  const bool halves = c.operation == Collective::all_gather || c.operation == Collective::reduce_scatter;
  const bool multicast = c.machine->multicast && c.machine->nvswitch && c.gpu->nvls_efficiency > 0 &&
                         c.machine->nvlink.per_second.count() > 0 && c.node_ranks > 1;
  if (protocol == NcclProtocol::ll128 && c.machine->nvlink.per_second.count() == 0) return false;
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return true;
    case NcclAlgorithm::tree:
      return all_reduce;
    case NcclAlgorithm::nvls:
      return multicast && c.nodes < 2 && protocol == NcclProtocol::simple && (all_reduce || (halves && c.ranks <= 32));
    case NcclAlgorithm::nvls_tree:
      return multicast && c.nodes > 1 && protocol == NcclProtocol::simple && all_reduce;
    case NcclAlgorithm::pat:
      return halves && c.nodes > 1 && c.node_ranks < 2 && protocol == NcclProtocol::simple;
    case NcclAlgorithm::pairs:
      return false;
  }
  return false;
}

NcclChoice nccl_choose(const NcclMachine& machine, netsim::Collective operation, Bytes bytes, const NcclGroup& group,
                       const NcclLimits& limits) {
  const NcclCase c = nccl_case(machine, operation, bytes, group);
  NcclChoice choice;
  if (c.ranks < 2) return choice;
  const Pick pick = choose(c, limits);
  choice.algorithm = pick.algorithm;
  choice.protocol = pick.protocol;
  choice.channels = nccl_channels(c, pick.algorithm, pick.protocol);
  const NcclTime time = wall_time(c, pick.algorithm, pick.protocol);
  choice.time = sim_time(time.total());
  choice.latency = sim_time(time.fixed);
  choice.bus_bandwidth = c.bytes / time.total() * 1e6 * netsim::bus_factor(operation, group.ranks);
  const Sent bytes_sent = sent(c, pick.algorithm);
  choice.nvlink_bytes = Bytes(std::llround(bytes_sent.nvlink));
  choice.nic_bytes = Bytes(std::llround(bytes_sent.nic));
  return choice;
}

}  // namespace weft::workload
