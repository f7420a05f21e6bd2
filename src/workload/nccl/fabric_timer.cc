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
constexpr double kPacketBytes = 4e9;            // all groups together
constexpr std::int64_t kRingBytes = 8'000'000;  // per rank: at least 1 MB per round of each of 8 channels
constexpr std::uint64_t kMaxTransfers = 400'000;
constexpr double kWire = 1 + 64.0 / 4096;  // headers, which NCCL's rates already include

}  // namespace

FabricTimer::FabricTimer(NcclMachine machine, FabricTimerOptions options, double oversubscription,
                         std::uint32_t unit_ranks)
    : alone_(std::move(machine)),
      options_(std::move(options)),
      oversubscription_(std::max(1.0, oversubscription)),
      unit_ranks_(std::max(1U, unit_ranks)),
      known_(options_.memory ? options_.memory : std::make_shared<FabricMemory>()) {}

void FabricTimer::use_network(const netsim::Network& network, std::vector<netsim::NodeId> ranks) {
  network_ = &network;
  ranks_ = std::move(ranks);
}

void FabricTimer::use_faults(const BackendFaults& faults, PortsLeft ports) {
  faults_ = &faults;
  ports_ = std::move(ports);
  if (!options_.memory) known_->faulty.clear();
}

// A group within one unit never uses an uplink. Between units, a ring crosses with one flow per rail and unit, which
// the uplinks of a rail's leaf carry easily; messages all cross, and of an all-to-all the part for other units, which
// the uplinks carry while the NICs send the rest.
double FabricTimer::closed_form(netsim::Collective operation, const OpGroup& group) const {
  const std::uint64_t reach = std::uint64_t{group.stride} * group.ranks;
  if (group.node_ranks >= group.ranks || reach <= unit_ranks_) return 1;
  if (operation == netsim::Collective::all_to_all) {
    const std::uint32_t in_unit = std::clamp(unit_ranks_ / std::max(1U, group.stride), group.node_ranks, group.ranks);
    const double others = group.ranks - group.node_ranks;
    return std::max(1.0, oversubscription_ * static_cast<double>(group.ranks - in_unit) / others);
  }
  const bool far = group.stride >= unit_ranks_;  // each neighbor in the ring is in another unit
  return operation == netsim::Collective::send_recv || far ? oversubscription_ : 1;
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
  const FabricMemory::Key key{operation, simulated_bytes(bytes, group).count(), group.ranks, group.stride};
  auto healthy = known_->healthy.find(key);
  if (healthy == known_->healthy.end()) {
    const bool closed = options_.fidelity == netsim::Fidelity::analytic || network_ == nullptr;
    const double factor =
        closed ? std::max(closed_form(operation, group), socket_factor()) : simulate(operation, bytes, group);
    healthy = known_->healthy.emplace(key, factor).first;
  }
  if (faults_ == nullptr || !shows_faults_ || network_ == nullptr) return healthy->second;
  if (const auto found = known_->faulty.find(key); found != known_->faulty.end()) return found->second;
  return known_->faulty[key] = with_faults(operation, bytes, group, healthy->second);
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

bool FabricTimer::share_nvlink(netsim::NodeId a, netsim::NodeId b) const {
  const auto hub = [this](netsim::NodeId id) {
    for (const netsim::LinkId link : network_->out_links(id)) {
      if (network_->node(network_->link(link).to).scale_up) return network_->link(link).to;
    }
    return model::kNone<netsim::NodeId>;
  };
  const netsim::NodeId of_a = hub(a);
  return of_a != model::kNone<netsim::NodeId> && of_a == hub(b);
}

// `members` are ranks of the job. After a fault, rings use the rails that all servers of the group still have, which
// NCCL's search of the topology finds on each of them; other transfers of a GPU without a port leave by another's NIC.
void FabricTimer::add_group(netsim::TransferGraph& graph, const std::vector<std::size_t>& members,
                            const NcclChoice& choice, const OpGroup& group, netsim::Collective operation, Bytes bytes,
                            bool faulty) const {
  NcclGroup shape;
  shape.ranks = group.ranks;
  shape.node_ranks = group.node_ranks;
  NcclTransferOptions laid;
  laid.queue_pairs = options_.queue_pairs;
  std::vector<std::size_t> order = members;
  const std::size_t per_node = std::max<std::size_t>(1, group.node_ranks);
  const auto lost = [&](std::size_t rank) { return faulty && rank < ports_.lost.size() && ports_.lost[rank]; };
  std::vector<bool> dead(per_node, false);
  for (std::size_t i = 0; i < members.size(); ++i) dead[i % per_node] = dead[i % per_node] || lost(members[i]);
  const auto alive = static_cast<std::size_t>(std::count(dead.begin(), dead.end(), false));
  if (alive < per_node && alive > 0) {
    std::vector<std::size_t> places;
    for (const bool second : {false, true}) {
      for (std::size_t k = 0; k < per_node; ++k) {
        if (dead[k] == second) places.push_back(k);
      }
    }
    for (std::size_t i = 0; i < members.size(); ++i) order[i] = members[i / per_node * per_node + places[i % per_node]];
    laid.nics = static_cast<std::uint32_t>(alive);
  }
  std::vector<netsim::NodeId> ends;
  ends.reserve(order.size());
  for (const std::size_t rank : order) ends.push_back(ranks_[rank]);
  std::map<netsim::NodeId, netsim::NodeId> other;
  for (const std::size_t rank : members) {
    if (lost(rank)) other[ranks_[rank]] = ports_.endpoint[rank];
  }
  const std::size_t first = graph.size();
  add_nccl_collective(graph, ends, choice, shape, operation, bytes, laid);
  if (other.empty()) return;
  for (std::size_t i = first; i < graph.size(); ++i) {
    netsim::Transfer& one = graph.edit(static_cast<netsim::TransferId>(i));
    if (share_nvlink(one.source, one.destination)) continue;
    if (const auto found = other.find(one.source); found != other.end()) one.source = found->second;
    if (const auto found = other.find(one.destination); found != other.end()) one.destination = found->second;
  }
}

Result<FabricTimer::Run> FabricTimer::run(netsim::Collective operation, Bytes bytes, const OpGroup& group,
                                          const NcclChoice& choice, bool faulty, netsim::Fidelity fidelity) {
  const std::size_t block = std::size_t{group.stride} * group.ranks;
  netsim::TransferGraph graph;
  std::vector<std::size_t> members(group.ranks);
  for (std::size_t base = 0; base + block <= ranks_.size() && graph.size() < kMaxTransfers; base += block) {
    for (std::size_t offset = 0; offset < group.stride; ++offset) {
      for (std::uint32_t i = 0; i < group.ranks; ++i) members[i] = base + offset + std::size_t{i} * group.stride;
      add_group(graph, members, choice, group, operation, bytes, faulty);
    }
  }
  const netsim::Network& network = faulty ? faults_->network : *network_;
  if (const Status status = graph.finish(network); !status.ok()) return status.error();
  std::optional<netsim::Routes>& routes = faulty ? faulty_routes_ : routes_;
  if (!routes) {
    routes.emplace(network, options_.routing);
    if (faulty) {
      for (const netsim::LinkId link : faults_->down()) routes->set_link(link, false);
    }
  }
  netsim::SimOptions simulation = options_.simulation;
  simulation.fidelity = fidelity;
  simulation.link_events.clear();
  simulation.pause_storms.clear();
  if (faulty) {
    simulation.link_events = faults_->impaired;
    simulation.pause_storms = faults_->storms;
  }
  Result<netsim::SimResult> result = netsim::simulate(*routes, graph, simulation);
  if (!result.ok()) return result.error();
  return Run{end_time(graph), std::move(*result), graph.size()};
}

Result<FabricTimer::Growth> FabricTimer::growth(netsim::Collective operation, Bytes bytes, Bytes size,
                                                const OpGroup& group, bool faulty, netsim::Fidelity fidelity) {
  NcclGroup shape;
  shape.ranks = group.ranks;
  shape.node_ranks = group.node_ranks;
  NcclChoice chosen = nccl_choose(alone_.machine(), operation, bytes, shape);
  // A tree waits for its own pipeline, which NCCL's time includes already: the fabric's effect on its bytes is measured
  // with a ring over the same ranks.
  if (chosen.algorithm == NcclAlgorithm::tree || chosen.algorithm == NcclAlgorithm::nvls_tree) {
    chosen.algorithm = NcclAlgorithm::ring;
    chosen.protocol = NcclProtocol::simple;
  }
  Result<Run> half = run(operation, Bytes(size.count() / 2), group, chosen, faulty, fidelity);
  if (!half.ok()) return half.error();
  Result<Run> whole = run(operation, size, group, chosen, faulty, fidelity);
  if (!whole.ok()) return whole.error();
  if (whole->result.unfinished > 0 && !whole->result.interrupted) {
    return Error{
        ErrorCode::unavailable,
        fmt::format("{} {} does not end: packets of some transfers never arrive", group.name, to_text(operation)),
        {}};
  }
  Growth grown;
  grown.seconds = static_cast<double>((whole->result.end - half->result.end).count()) / 1e12;
  grown.ends = (whole->ends - half->ends) * kWire;
  grown.transfers = whole->transfers;
  grown.result = std::move(whole->result);
  return grown;
}

double FabricTimer::simulate(netsim::Collective operation, Bytes bytes, const OpGroup& group) {
  if (options_.progress) options_.progress(fmt::format("{} {} on the backend", group.name, to_text(operation)));
  Result<Growth> grown = growth(operation, bytes, simulated_bytes(bytes, group), group, false, options_.fidelity);
  if (!grown.ok()) {
    if (!problem_) problem_ = grown.error();
    return 1;
  }
  const double factor = grown->ends > 0 ? std::max(1.0, grown->seconds / grown->ends) : 1;
  findings_.push_back({fmt::format("{} {} of {}", group.name, to_text(operation), to_text(bytes)), factor,
                       simulated_bytes(bytes, group), grown->transfers, std::move(grown->result)});
  return factor;
}

// How much longer the same bytes take than without the faults. A simulation of some milliseconds contains few lost
// packets, or none: where links lose them, the mean that the flow engine computes counts as well.
double FabricTimer::with_faults(netsim::Collective operation, Bytes bytes, const OpGroup& group, double healthy) {
  if (options_.progress)
    options_.progress(fmt::format("{} {} on the backend with its faults", group.name, to_text(operation)));
  std::vector<netsim::Fidelity> fidelities{options_.fidelity};
  if (options_.fidelity == netsim::Fidelity::packet && !faults_->impaired.empty())
    fidelities.push_back(netsim::Fidelity::flow);
  double factor = 1;
  for (const netsim::Fidelity fidelity : fidelities) {
    // Only the packet engine's cost grows with the bytes. Rounds of a ring should be long beside their latency.
    const bool packet = fidelity == netsim::Fidelity::packet;
    const Bytes size = packet ? simulated_bytes(bytes, group) : Bytes(kRingBytes * std::int64_t{group.ranks});
    const Result<Growth> before = growth(operation, bytes, size, group, false, fidelity);
    Result<Growth> after = growth(operation, bytes, size, group, true, fidelity);
    if (!before.ok() || !after.ok()) {
      if (!problem_) problem_ = before.ok() ? after.error() : before.error();
      return healthy;
    }
    if (before->seconds > 0) factor = std::max(factor, after->seconds / before->seconds);
    findings_.push_back({fmt::format("{} {} of {} after the faults", group.name, to_text(operation), to_text(bytes)),
                         healthy * factor, size, after->transfers, std::move(after->result)});
  }
  return healthy * factor;
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
