#include "workload/nccl/fabric_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/nccl/transfers.h"

namespace weft::workload {
namespace {

// Bytes per call that are simulated: enough for many packets on every link, few enough that the whole run takes
// seconds. A rate does not depend on its duration.
constexpr std::int64_t kFlowBytes = 64'000'000;
constexpr double kPacketBytes = 4e9;  // all groups together
constexpr std::uint64_t kMaxTransfers = 400'000;
constexpr double kWire = 1 + 64.0 / 4096;  // headers, which NCCL's rates already include

}  // namespace

FabricTimer::FabricTimer(NcclMachine machine, FabricTimerOptions options, double oversubscription,
                         std::uint32_t unit_ranks)
    : alone_(std::move(machine)),
      options_(std::move(options)),
      oversubscription_(std::max(1.0, oversubscription)),
      unit_ranks_(std::max(1U, unit_ranks)) {}

void FabricTimer::use_network(const netsim::Network& network, std::vector<netsim::NodeId> ranks) {
  network_ = &network;
  ranks_ = std::move(ranks);
}

// A group within one unit never uses an uplink. Between units, a ring crosses with one flow per rail and unit, which
// the uplinks of a rail's leaf carry easily; for messages and all-to-all all traffic crosses.
double FabricTimer::closed_form(netsim::Collective operation, const OpGroup& group) const {
  const std::uint64_t reach = std::uint64_t{group.stride} * group.ranks;
  if (group.node_ranks >= group.ranks || reach <= unit_ranks_) return 1;
  const bool all_cross = operation == netsim::Collective::all_to_all || operation == netsim::Collective::send_recv;
  const bool far = group.stride >= unit_ranks_;  // each neighbor in the ring is in another unit
  return all_cross || far ? oversubscription_ : 1;
}

// Over sockets, each connection of a NIC is limited by the copy rate of one core (netsim::use_tcp); NCCL opens one per
// peer unless NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD request more.
double FabricTimer::socket_factor() const {
  if (!options_.tcp || options_.simulation.classes.empty()) return 1;
  const BitRate limit = options_.simulation.classes.front().transport.host_limit;
  if (limit.count() <= 0) return 1;
  const double moved = static_cast<double>(limit.count()) * std::max<int>(1, options_.queue_pairs);
  return std::max(1.0, static_cast<double>(alone_.machine().nic.count()) / moved);
}

double FabricTimer::slowdown(netsim::Collective operation, Bytes bytes, const OpGroup& group) {
  if (group.ranks < 2 || group.node_ranks >= group.ranks) return 1;
  // Calls that are simulated with the same bytes have the same result.
  const Key key{operation, simulated_bytes(bytes, group).count(), group.ranks, group.stride};
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  double factor = 1;
  if (options_.fidelity == netsim::Fidelity::analytic || network_ == nullptr) {
    factor = std::max(closed_form(operation, group), socket_factor());
  } else {
    factor = simulate(operation, bytes, group);
  }
  known_[key] = factor;
  return factor;
}

Bytes FabricTimer::simulated_bytes(Bytes bytes, const OpGroup& group) const {
  const bool packet = options_.fidelity == netsim::Fidelity::packet;
  const double ranks = static_cast<double>(std::max<std::size_t>(1, ranks_.size()));
  const double cap = packet ? kPacketBytes / ranks : static_cast<double>(kFlowBytes);
  const std::int64_t least = 16'384 * std::int64_t{group.ranks};
  return Bytes(std::max(least, std::min(bytes.count(), static_cast<std::int64_t>(cap))));
}

// Lower bound of the time from the endpoints alone: every GPU's links at full rate, no contention in between.
double FabricTimer::end_time(const netsim::TransferGraph& graph) const {
  const std::size_t nodes = network_->nodes().size();
  std::vector<double> near(2 * nodes, 0);  // bytes over NVLink, sent and received
  std::vector<double> far(2 * nodes, 0);
  for (const netsim::Transfer& one : graph.transfers()) {
    const std::size_t from = model::index_of(one.source);
    const std::size_t to = model::index_of(one.destination);
    const double bytes = static_cast<double>(one.bytes.count()) * one.rounds;
    const bool same = network_->node(one.source).group == network_->node(one.destination).group;
    (same ? near : far)[2 * from] += bytes;
    (same ? near : far)[2 * to + 1] += bytes;
  }
  double longest = 0;
  for (const netsim::NodeId end : network_->endpoints()) {
    double near_rate = 0;
    double far_rate = 0;
    for (const netsim::LinkId link : network_->out_links(end)) {
      const bool scale_up = network_->node(network_->link(link).to).scale_up;
      (scale_up ? near_rate : far_rate) += static_cast<double>(network_->link(link).rate.count()) / 8;
    }
    const std::size_t at = model::index_of(end);
    for (const std::size_t way : {2 * at, 2 * at + 1}) {
      if (near_rate > 0) longest = std::max(longest, near[way] / near_rate);
      if (far_rate > 0) longest = std::max(longest, far[way] / far_rate);
    }
  }
  return longest;
}

// Simulates all groups of the kind at once, with two sizes: how the time grows with the bytes, relative to the growth
// if the endpoints were the only limit. Latency, which NCCL's model includes already, cancels out in the difference.
double FabricTimer::simulate(netsim::Collective operation, Bytes bytes, const OpGroup& group) {
  const std::size_t block = std::size_t{group.stride} * group.ranks;
  const Bytes size = simulated_bytes(bytes, group);
  NcclGroup shape;
  shape.ranks = group.ranks;
  shape.node_ranks = group.node_ranks;
  NcclTransferOptions laid;
  laid.queue_pairs = options_.queue_pairs;
  NcclChoice chosen = nccl_choose(alone_.machine(), operation, bytes, shape);
  // A tree waits for its own pipeline, which NCCL's time includes already: the fabric's effect on its bytes is measured
  // with a ring over the same ranks.
  if (chosen.algorithm == NcclAlgorithm::tree || chosen.algorithm == NcclAlgorithm::nvls_tree) {
    chosen.algorithm = NcclAlgorithm::ring;
    chosen.protocol = NcclProtocol::simple;
  }
  struct Outcome {
    double ends = 0;
    netsim::SimResult result;
    std::uint64_t transfers = 0;
  };
  const auto run = [&](Bytes of_call) -> Result<Outcome> {
    netsim::TransferGraph graph;
    std::vector<netsim::NodeId> members(group.ranks);
    for (std::size_t base = 0; base + block <= ranks_.size() && graph.size() < kMaxTransfers; base += block) {
      for (std::size_t offset = 0; offset < group.stride; ++offset) {
        for (std::uint32_t i = 0; i < group.ranks; ++i)
          members[i] = ranks_[base + offset + std::size_t{i} * group.stride];
        add_nccl_collective(graph, members, chosen, shape, operation, of_call, laid);
      }
    }
    if (const Status status = graph.finish(*network_); !status.ok()) return status.error();
    // Routing tables are reused between runs, unless links fail in one.
    if (!routes_ || !options_.simulation.link_events.empty()) routes_.emplace(*network_, options_.routing);
    netsim::SimOptions simulation = options_.simulation;
    simulation.fidelity = options_.fidelity;
    Result<netsim::SimResult> result = netsim::simulate(*routes_, graph, simulation);
    if (!result.ok()) return result.error();
    return Outcome{end_time(graph), std::move(*result), graph.size()};
  };
  if (options_.progress) options_.progress(fmt::format("{} {} on the backend", group.name, to_text(operation)));
  Result<Outcome> half = run(Bytes(size.count() / 2));
  Result<Outcome> whole = run(size);
  if (!half.ok() || !whole.ok()) {
    if (!problem_) problem_ = half.ok() ? whole.error() : half.error();
    return 1;
  }
  const double grown = static_cast<double>((whole->result.end - half->result.end).count()) / 1e12;
  const double ends = (whole->ends - half->ends) * kWire;
  const double factor = ends > 0 ? std::max(1.0, grown / ends) : 1;
  findings_.push_back({fmt::format("{} {} of {}", group.name, to_text(operation), to_text(bytes)), factor, size,
                       whole->transfers, std::move(whole->result)});
  return factor;
}

SimTime FabricTimer::slowed(const NcclChoice& choice, double slowdown) const {
  if (slowdown <= 1) return choice.time;
  const double moving = static_cast<double>((choice.time - choice.latency).count());
  return choice.latency + SimTime(std::llround(std::max(0.0, moving) * slowdown));
}

SimTime FabricTimer::collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) {
  if (group.ranks < 2 || bytes <= Bytes(0)) return SimTime(0);
  return slowed(alone_.choice(operation, bytes, group), slowdown(operation, bytes, group));
}

SimTime FabricTimer::message(Bytes bytes, const OpGroup& group) {
  const SimTime time = alone_.message(bytes, group);
  const double factor = slowdown(netsim::Collective::send_recv, bytes, group);
  return factor <= 1 ? time : SimTime(std::llround(static_cast<double>(time.count()) * factor));
}

}  // namespace weft::workload
