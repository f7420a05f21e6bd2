#include "work/storage_simulation.h"

#include <algorithm>

#include "base/random.h"
#include "net/network_from_cluster.h"
#include "net/simulate.h"
#include "work/storage_limits.h"

namespace weft::work {
namespace {

using net::NodeId;

const FabricSpec& spec_of(const Cluster& cluster, FabricKind fabric) {
  const FabricsSpec& fabrics = *cluster.spec().fabrics;
  return fabric == FabricKind::frontend ? *fabrics.frontend : *fabrics.storage;
}

net::RoutingOptions routing_of(const FabricSpec& fabric, std::uint64_t seed) {
  net::RoutingOptions options;
  options.seed = seed;
  if (*fabric.load_balancing == LoadBalancing::adaptive) options.mode = net::RoutingMode::adaptive;
  if (*fabric.load_balancing == LoadBalancing::spray) options.mode = net::RoutingMode::spray;
  if (!*fabric.hash_seeds) options.seeds = net::HashSeeds::shared;
  return options;
}

net::SimOptions options_of(const StoragePath& path, const StorageTraffic& traffic, const net::RoutingOptions& routing) {
  net::SimOptions options;
  options.fidelity = traffic.fidelity;
  options.seed = traffic.seed;
  options.pause_log = 0;
  net::TrafficClassOptions& storage = options.classes.front();
  if (routing.mode != net::RoutingMode::ecmp) storage.transport.recovery = net::Recovery::selective;
  if (!path.tcp) return options;
  storage.name = "tcp";
  storage.priority = 0;
  storage.lossless = false;
  storage.ecn = false;
  storage.transport.kind = net::Transport::tcp;
  storage.transport.host_limit = BitRate(static_cast<std::int64_t>(kTcpConnection * 8));
  return options;
}

// Endpoints of these devices.
std::vector<NodeId> nodes_of(const net::Network& network, const std::vector<DeviceId>& devices, std::size_t count,
                             std::size_t device_count) {
  std::vector<NodeId> by_device(device_count, kNone<NodeId>);
  for (const NodeId id : network.endpoints()) {
    const DeviceId device = network.node(id).device;
    if (device != kNone<DeviceId>) by_device[index_of(device)] = id;
  }
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < std::min(count, devices.size()); ++i) {
    const NodeId id = by_device[index_of(devices[i])];
    if (id != kNone<NodeId>) nodes.push_back(id);
  }
  return nodes;
}

// How much is played: enough that starts and ends do not count, no more than a few seconds of computing.
struct Window {
  std::uint32_t slots = 1;   // requests in flight of a client
  std::uint32_t rounds = 1;  // requests of a slot, one after another
  Bytes request;
};

Window window_of(const StoragePath& path, const StorageTraffic& traffic, std::size_t clients) {
  const bool packets = traffic.fidelity == net::Fidelity::packet;
  const double most_transfers = packets ? 3'000 : 6'000;
  const double part = static_cast<double>(clients) / static_cast<double>(std::max<std::size_t>(1, path.clients.size()));
  const double rate = std::min(path.server_links, path.client_links * part);
  // 2 ms and 256 MB of packets, 40 ms and 8 GB of flows.
  const double bytes = packets ? std::clamp(rate * 2e-3, 16e6, 256e6) : std::clamp(rate * 40e-3, 256e6, 8e9);
  Window window;
  const double width = static_cast<double>(clients) * traffic.stripes;
  const auto slots = static_cast<std::uint32_t>(std::clamp(most_transfers / width / 4, 1.0, 16.0));
  window.slots = std::min(std::max(1U, traffic.in_flight), slots);
  window.rounds = static_cast<std::uint32_t>(std::clamp(most_transfers / width / window.slots, 2.0, 16.0));
  const double transfers = width * window.slots * window.rounds;
  window.request = Bytes(static_cast<std::int64_t>(std::max(65'536.0, bytes / transfers)));
  return window;
}

// Request r of slot s of client c starts at a target that a hash picks; its stripes follow on the next ones. A slot
// sends its next request when the last has ended.
void add_requests(const StoragePath& path, const StorageTraffic& traffic, const Window& window,
                  const std::vector<NodeId>& clients, const std::vector<NodeId>& servers, net::TransferGraph& graph) {
  const auto targets = static_cast<std::uint64_t>(path.targets);
  RandomStream random(traffic.seed, "storage requests");
  std::vector<net::TransferId> last;
  std::vector<net::TransferId> next;
  for (const NodeId client : clients) {
    for (std::uint32_t s = 0; s < window.slots; ++s) {
      last.clear();
      for (std::uint32_t r = 0; r < window.rounds; ++r) {
        const std::uint64_t first = random.below(targets);
        next.clear();
        for (std::uint32_t i = 0; i < traffic.stripes; ++i) {
          const NodeId server = servers[(first + i) % targets % servers.size()];
          net::Transfer transfer;
          transfer.source = traffic.write ? client : server;
          transfer.destination = traffic.write ? server : client;
          transfer.bytes = window.request;
          // As many connections as a client holds to one server: a link each at least.
          transfer.queue_pairs = path.tcp ? 1 : 2;
          next.push_back(graph.add(transfer));
        }
        for (const net::TransferId id : next) {
          for (const net::TransferId earlier : last) graph.depend(id, earlier);
        }
        std::swap(last, next);
      }
    }
  }
}

}  // namespace

Result<double> storage_rate(const Cluster& cluster, const StoragePath& path, const StorageTraffic& traffic) {
  const Result<net::Network> network = net::network_of(cluster, {.fabric = path.fabric});
  if (!network.ok()) return network.error();
  const std::size_t devices = cluster.devices().size();
  const std::vector<NodeId> clients = nodes_of(*network, path.clients, traffic.clients, devices);
  const std::vector<NodeId> servers = nodes_of(*network, path.servers, path.servers.size(), devices);
  if (clients.empty() || servers.empty()) {
    return Error{ErrorCode::invalid_input, "no server has a port on the storage traffic's fabric", cluster.name()};
  }
  // Beyond 8 stripes, or on very many clients, a request's parts are no longer told apart.
  StorageTraffic bounded = traffic;
  const auto most = static_cast<std::uint32_t>(std::clamp<std::size_t>(3'000 / clients.size(), 1, 8));
  bounded.stripes = std::clamp(traffic.stripes, 1U, most);
  const Window window = window_of(path, bounded, clients.size());
  net::TransferGraph graph;
  add_requests(path, bounded, window, clients, servers, graph);
  if (const Status status = graph.finish(*network); !status.ok()) return status.error();
  net::Routes routes(*network, routing_of(spec_of(cluster, path.fabric), traffic.seed));
  const net::SimOptions options = options_of(path, traffic, routes.options());
  const Result<net::SimResult> result = net::simulate(routes, graph, options);
  if (!result.ok()) return result.error();
  // The last stragglers are left out: what arrived until 95 % of the requests had ended, a second.
  std::vector<SimTime> ends = result->finished;
  std::sort(ends.begin(), ends.end());
  const std::size_t counted = std::max<std::size_t>(1, ends.size() * 95 / 100);
  const double seconds = seconds_of(ends[counted - 1]);
  if (ends[counted - 1] == net::kNever || seconds <= 0) {
    return Error{ErrorCode::internal, "the storage traffic did not end", cluster.name()};
  }
  return static_cast<double>(counted) * static_cast<double>(window.request.count()) / seconds;
}

}  // namespace weft::work
