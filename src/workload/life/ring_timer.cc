#include "workload/life/ring_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "workload/life/play_life.h"
#include "workload/nccl/timer.h"

namespace weft::workload {
namespace {

// Ring constants from NCCL's src/graph/tuning.cc (2.2x), in seconds: cost per call, then per step over NVLink and over
// the network. LL sends a flag with every word, and so moves half as much.
struct Protocol {
  double base;
  double near;
  double far;
  double share;  // of the rate
};
constexpr std::array<Protocol, 2> kProtocols = {{{6.6e-6, 0.6e-6, 2.7e-6, 0.5}, {8.4e-6, 3.4e-6, 14e-6, 1.0}}};
// NCCL assumes 20.6 GB/s for an NVLink of 25 GB/s (SM90_NVLINK_BW in src/graph/topo.h): the rest is protocol and
// copying.
constexpr double kNvlinkShare = 20.6 / 25;

SimTime in_time(double seconds) {
  const double ps = seconds * 1e12;
  return ps >= 9e18 ? netsim::kNever : SimTime(std::llround(ps));
}

double to_rate(double near, double far, bool crosses) {
  if (!crosses) return near;
  return near > 0 ? std::min(near, far) : far;
}

const model::ServerModel* most_gpus(const model::Cluster& cluster, model::DeviceId& first, std::uint32_t& gpus) {
  const model::ServerModel* best = nullptr;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::server || group.server == nullptr || group.count == 0) continue;
    const auto count = static_cast<std::uint32_t>(group.server->gpus.value * group.count);
    if (count <= gpus) continue;
    best = group.server;
    first = group.first;
    gpus = count;
  }
  return best;
}

double backend_rate(const model::Cluster& cluster, model::DeviceId server) {
  double bits = 0;
  for (const model::PortId id : cluster.ports_of(server)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric == model::FabricKind::backend && cluster.cable_of(id) != model::kNone<model::CableId>) {
      bits += static_cast<double>(port.speed().count());
    }
  }
  return bits / 8;
}

// Per direction: 8 GT/s per lane in the third generation, doubled by each since; 128b/130b coding up to the fifth.
double pcie_rate(const model::GpuModel& gpu) {
  if (!gpu.pcie_generation.has_value() || !gpu.pcie_lanes.has_value()) return 0;
  const double transfers = 1e9 * std::pow(2.0, static_cast<double>(*gpu.pcie_generation));
  const double lanes = static_cast<double>(*gpu.pcie_lanes);
  return transfers * lanes / 8 * (*gpu.pcie_generation < 6 ? 128.0 / 130 : 1.0);
}

}  // namespace

Result<WorkloadMachine> workload_machine(const model::Cluster& cluster) {
  WorkloadMachine machine;
  model::DeviceId first = model::kNone<model::DeviceId>;
  const model::ServerModel* const server = most_gpus(cluster, first, machine.gpus);
  const auto fail = [&](std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; };
  if (server == nullptr) return fail(fmt::format("cluster `{}` has no GPU", cluster.name()));
  const model::GpuModel* const gpu = cluster.catalog().gpu(server->gpu.value);
  CHECK(gpu != nullptr, "a server's GPU is in the catalog");
  machine.server = server->name.value;
  machine.nccl = machine_of(cluster, *server);
  machine.gpu = server->gpu.value;
  const auto per_server = static_cast<double>(server->gpus.value);
  const bool linked = server->interconnect.value != model::GpuInterconnect::none &&
                      server->interconnect.value != model::GpuInterconnect::pcie && gpu->nvlink_bandwidth.has_value();
  if (linked) {
    machine.nvlink = static_cast<double>(gpu->nvlink_bandwidth->per_second.count()) / 2;  // stated for both directions
    const std::int64_t domain = server->nvlink_domain.has_value() ? *server->nvlink_domain : server->gpus.value;
    machine.node_gpus = static_cast<std::uint32_t>(std::max<std::int64_t>(domain, 1));
  }
  machine.nic = backend_rate(cluster, first) / per_server;
  if (machine.nic <= 0) return fail(fmt::format("servers `{}` are not on the backend", machine.server));
  for (const auto& [precision, rate] : gpu->dense_flops.value) {
    if (precision == "bf16") machine.flops = static_cast<double>(rate->count()) * 1e6;
  }
  machine.memory = static_cast<double>(gpu->memory_bandwidth->per_second.count());
  machine.host_link = pcie_rate(*gpu);
  return machine;
}

std::unique_ptr<CommunicationTimer> make_communication_timer(const WorkloadMachine& machine) {
  if (machine.nccl) return std::make_unique<NcclTimer>(*machine.nccl);
  return std::make_unique<RingTimer>(machine);
}

RingTimer::Rates RingTimer::rates() const { return {machine_.nvlink * kNvlinkShare, machine_.nic}; }

// A ring over k domains of g ranks takes 2 (n - 1) steps for all-reduce, n - 1 for the others; every (n / k)-th step
// crosses between domains. All g NICs of a domain carry parts of it, so its rate is the lower of NVLink's and of g
// NICs'. nccl-tests' factor is the number of bytes per link (PERFORMANCE.md).
SimTime RingTimer::collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) {
  if (group.ranks <= 1) return SimTime(0);
  if (operation == netsim::Collective::send_recv) return message(bytes, group);
  const Rates rate = rates();
  const double ranks = group.ranks;
  const double near_ranks = std::clamp(group.node_ranks, 1U, group.ranks);
  const bool crosses = near_ranks < ranks;
  const auto size = static_cast<double>(bytes.count());
  const double rounds = operation == netsim::Collective::all_reduce ? 2 : 1;
  const double steps = rounds * (ranks - 1);
  const double far_steps = crosses ? rounds * (std::ceil(ranks / near_ranks) - 1) : 0;
  double carried = 0;  // seconds at the full rate
  if (operation == netsim::Collective::all_to_all) {
    const double far_bytes = size * (ranks - near_ranks) / ranks;
    const double near_bytes = size * (near_ranks - 1) / ranks;
    const double near_rate = rate.near > 0 ? rate.near : rate.far;
    carried = std::max(far_bytes / rate.far, near_bytes / near_rate);
  } else {
    const double near_rate = near_ranks > 1 ? rate.near : 0;
    const double ring = to_rate(near_rate, rate.far * near_ranks, crosses || near_rate <= 0);
    carried = size * netsim::bus_factor(operation, group.ranks) / ring;
  }
  double best = 0;
  for (const Protocol& protocol : kProtocols) {
    const double latency = protocol.base + (steps - far_steps) * protocol.near + far_steps * protocol.far;
    // All pairs start at once: only the launch and one step add latency.
    const double all = operation == netsim::Collective::all_to_all
                           ? protocol.base + (crosses ? protocol.far : protocol.near) + carried / protocol.share
                           : latency + carried / protocol.share;
    if (best == 0 || all < best) best = all;
  }
  return in_time(best);
}

SimTime RingTimer::message(Bytes bytes, const OpGroup& group) {
  const Rates rate = rates();
  const bool near = group.node_ranks > 1 && rate.near > 0;
  double best = 0;
  for (const Protocol& protocol : kProtocols) {
    const double time = protocol.base + (near ? protocol.near : protocol.far) +
                        static_cast<double>(bytes.count()) / ((near ? rate.near : rate.far) * protocol.share);
    if (best == 0 || time < best) best = time;
  }
  return in_time(best);
}

}  // namespace weft::workload
