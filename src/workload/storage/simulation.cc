#include "workload/storage/simulation.h"

#include <algorithm>

#include "base/random.h"
#include "netsim/network/from_cluster.h"
#include "netsim/sim/simulate.h"
#include "workload/storage/limits.h"

namespace weft::workload {
namespace {

using netsim::NodeId;

netsim::RoutingOptions routing_of(const model::FabricSpec& fabric, std::uint64_t seed) {
  netsim::RoutingOptions options;
  options.seed = seed;
  if (*fabric.load_balancing == model::LoadBalancing::adaptive) options.mode = netsim::RoutingMode::adaptive;
  if (*fabric.load_balancing == model::LoadBalancing::spray) options.mode = netsim::RoutingMode::spray;
  if (!*fabric.hash_seeds) options.seeds = netsim::HashSeeds::shared;
  return options;
}

netsim::SimOptions options_of(const StoragePath& path, const StorageTraffic& traffic,
                              const netsim::RoutingOptions& routing) {
  netsim::SimOptions options;
  options.fidelity = traffic.fidelity;
  options.seed = traffic.seed;
  options.pause_log = 0;
  netsim::TrafficClassOptions& storage = options.classes.front();
  if (routing.mode != netsim::RoutingMode::ecmp) storage.transport.recovery = netsim::Recovery::selective;
  if (!path.tcp) return options;
  storage.name = "tcp";
  storage.priority = 0;
  storage.lossless = false;
  storage.ecn = false;
  storage.transport.kind = netsim::Transport::tcp;
  storage.transport.host_limit = BitRate(static_cast<std::int64_t>(kTcpConnection * 8));
  return options;
}

// A server's ports on the fabric as endpoints: one per port, or one in total if they are bonded.
struct Ports {
  std::vector<NodeId> nodes;
  std::vector<std::uint8_t> rails;
};

struct PortNetwork {
  netsim::Network network;
  std::vector<Ports> by_device;  // empty for devices without ports
};

// Each port of a server has its own address, and storage connections are made between ports: no hash selects among
// them. Every link of an endpoint gets its own endpoint, unless the links form one bond.
PortNetwork by_port(const model::Cluster& cluster, const netsim::Network& whole, bool bonded) {
  PortNetwork result;
  result.by_device.resize(cluster.devices().size());
  netsim::NetworkBuilder builder;
  std::vector<NodeId> renamed(whole.nodes().size(), model::kNone<NodeId>);
  const auto splits = [&](const netsim::Node& node) {
    return !bonded && node.kind == netsim::NodeKind::endpoint && node.device != model::kNone<model::DeviceId>;
  };
  for (std::uint32_t i = 0; i < whole.nodes().size(); ++i) {
    netsim::Node node = whole.nodes()[i];
    if (splits(node)) continue;
    node.buffer =
        node.kind == netsim::NodeKind::network_switch ? builder.add_buffer(whole.buffers()[node.buffer]) : node.buffer;
    renamed[i] = builder.add_node(node, whole.name_of(static_cast<NodeId>(i)));
    if (node.kind != netsim::NodeKind::endpoint || node.device == model::kNone<model::DeviceId>) continue;
    result.by_device[model::index_of(node.device)] = {{renamed[i]}, {0}};
  }
  // The end of a link: its node, or a new endpoint for it.
  const auto end_of = [&](NodeId id, model::PortId port) {
    const netsim::Node& node = whole.node(id);
    if (!splits(node)) return renamed[model::index_of(id)];
    Ports& ports = result.by_device[model::index_of(node.device)];
    const auto rail = port == model::kNone<model::PortId> ? std::uint8_t{0} : cluster.port(port).rail;
    ports.nodes.push_back(builder.add_node(node, whole.name_of(id) + ":" + std::to_string(ports.nodes.size() + 1)));
    ports.rails.push_back(rail);
    return ports.nodes.back();
  };
  for (std::size_t i = 0; i + 1 < whole.links().size(); i += 2) {
    const netsim::Link& there = whole.links()[i];
    const netsim::Link& back = whole.links()[i + 1];
    const NodeId from = end_of(there.from, there.port);
    const NodeId to = end_of(there.to, back.port);
    builder.ports(builder.connect(from, to, there.rate, there.delay, back.delay), there.port, back.port);
  }
  result.network = std::move(builder).finish();
  return result;
}

std::vector<const Ports*> ports_of(const PortNetwork& network, const std::vector<model::DeviceId>& devices,
                                   std::size_t count) {
  std::vector<const Ports*> all;
  for (std::size_t i = 0; i < std::min(count, devices.size()); ++i) {
    const Ports& ports = network.by_device[model::index_of(devices[i])];
    if (!ports.nodes.empty()) all.push_back(&ports);
  }
  return all;
}

// The `turn`-th pair of ports between two servers. A port stays on its rail if the client has a port on every rail of
// the server, or if rails are separate networks.
std::pair<NodeId, NodeId> ports_between(const Ports& client, const Ports& server, bool apart, std::uint64_t turn) {
  const std::size_t mine = turn % client.nodes.size();
  const std::uint64_t skip = turn / client.nodes.size();
  const auto on = [](const Ports& ports, std::uint8_t rail) {
    return static_cast<std::uint64_t>(std::count(ports.rails.begin(), ports.rails.end(), rail));
  };
  const bool all =
      std::all_of(server.rails.begin(), server.rails.end(), [&](std::uint8_t rail) { return on(client, rail) > 0; });
  const std::uint64_t same = on(server, client.rails[mine]);
  if (same == 0 || (!all && !apart)) return {client.nodes[mine], server.nodes[skip % server.nodes.size()]};
  std::uint64_t left = skip % same;
  for (std::size_t i = 0; i < server.nodes.size(); ++i) {
    if (server.rails[i] != client.rails[mine]) continue;
    if (left-- == 0) return {client.nodes[mine], server.nodes[i]};
  }
  return {client.nodes[mine], server.nodes.front()};
}

// How much is simulated: enough that ramp-up and drain do not matter, at most a few seconds of CPU time.
struct Window {
  std::uint32_t slots = 1;   // requests in flight per client
  std::uint32_t rounds = 1;  // requests per slot, one after another
  Bytes request;
  bool rails_apart = false;
};

// Concurrent connections, and their total: the flow engine's time grows with their product.
constexpr double kInFlight = 4'000;
constexpr double kTransfers = 8'000;

std::uint32_t share_of(double budget, double users, std::uint32_t most) {
  return static_cast<std::uint32_t>(std::clamp(budget / users, 1.0, static_cast<double>(most)));
}

Window window_of(const StoragePath& path, const StorageTraffic& traffic, std::size_t clients) {
  const bool packets = traffic.fidelity == netsim::Fidelity::packet;
  const double part = static_cast<double>(clients) / static_cast<double>(std::max<std::size_t>(1, path.clients.size()));
  const double rate = std::min(path.server_links, path.client_links * part);
  // 2 ms and 256 MB of packets, 40 ms and 8 GB of flows.
  const double bytes = packets ? std::clamp(rate * 2e-3, 16e6, 256e6) : std::clamp(rate * 40e-3, 256e6, 8e9);
  Window window;
  // The number in flight determines how evenly targets are hit, so it has priority over rounds.
  const double width = static_cast<double>(clients) * traffic.stripes;
  window.slots = std::min(std::max(1U, traffic.in_flight), share_of(kInFlight, width, 16));
  window.rounds = std::max(2U, share_of(kTransfers, width * window.slots, 8));
  const double transfers = width * window.slots * window.rounds;
  window.request = Bytes(static_cast<std::int64_t>(std::max(65'536.0, bytes / transfers)));
  return window;
}

// Request r of slot s of client c starts at a random target; its stripes use the next ones. A slot sends its next
// request when the previous one has ended. With active/standby paths, a client always uses the same one to a server;
// otherwise requests alternate.
void add_requests(const StoragePath& path, const StorageTraffic& traffic, const Window& window,
                  const std::vector<const Ports*>& clients, const std::vector<const Ports*>& servers,
                  netsim::TransferGraph& graph) {
  const auto targets = static_cast<std::uint64_t>(path.targets);
  RandomStream random(traffic.seed, "storage requests");
  std::vector<netsim::TransferId> last;
  std::vector<netsim::TransferId> next;
  std::uint64_t turn = 0;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    for (std::uint32_t s = 0; s < window.slots; ++s) {
      last.clear();
      for (std::uint32_t r = 0; r < window.rounds; ++r) {
        const std::uint64_t first = random.below(targets);
        next.clear();
        for (std::uint32_t i = 0; i < traffic.stripes; ++i) {
          const std::size_t server = (first + i) % targets % servers.size();
          const std::uint64_t which = one_path(path) ? c + server : turn++;
          const auto [near, far] = ports_between(*clients[c], *servers[server], window.rails_apart, which);
          netsim::Transfer transfer;
          transfer.source = traffic.write ? near : far;
          transfer.destination = traffic.write ? far : near;
          transfer.bytes = window.request;
          next.push_back(graph.add(transfer));
        }
        for (const netsim::TransferId id : next) {
          for (const netsim::TransferId earlier : last) graph.depend(id, earlier);
        }
        std::swap(last, next);
      }
    }
  }
}

// Steady state: from the end of the first 20 % of transfers to that of 70 %. Before, the first round starts all at
// once; after, slots run out of requests.
Result<double> steady_rate(const netsim::SimResult& result, const Window& window, const StoragePath& path,
                           const StorageTraffic& traffic) {
  std::vector<SimTime> ends = result.finished;
  std::sort(ends.begin(), ends.end());
  if (ends.empty() || ends.back() == netsim::kNever) {
    return Error{ErrorCode::internal, "storage traffic did not finish", path.system->name->text};
  }
  const SimTime from = ends[ends.size() / 5];
  const SimTime until = ends[ends.size() * 7 / 10];
  auto counted = static_cast<double>(std::upper_bound(ends.begin(), ends.end(), until) -
                                     std::upper_bound(ends.begin(), ends.end(), from));
  double seconds = seconds_of(until - from);
  if (seconds <= 0) {
    counted = static_cast<double>(ends.size());
    seconds = seconds_of(ends.back());
  }
  const double part =
      static_cast<double>(traffic.clients) / static_cast<double>(std::max<std::size_t>(1, path.clients.size()));
  const double links = std::min(path.server_links, path.client_links * std::min(1.0, part));
  return std::min(links, counted * static_cast<double>(window.request.count()) / seconds);
}

}  // namespace

namespace {

Result<double> simulated_rate(const model::Cluster& cluster, const StoragePath& path, const StorageTraffic& traffic) {
  const model::FabricSpec& fabric = cluster.data_fabric_spec(path.fabric);
  const Result<netsim::Network> whole = netsim::network_of(cluster, {.fabric = path.fabric});
  if (!whole.ok()) return whole.error();
  const PortNetwork ports = by_port(cluster, *whole, *fabric.bond);
  const std::vector<const Ports*> clients = ports_of(ports, path.clients, traffic.clients);
  const std::vector<const Ports*> servers = ports_of(ports, path.servers, path.servers.size());
  if (clients.empty() || servers.empty()) {
    return Error{ErrorCode::invalid_input, "no server has a port on the storage traffic's fabric", cluster.name()};
  }
  // Beyond 8 stripes, or with very many clients, further stripes of a request are not simulated separately.
  StorageTraffic bounded = traffic;
  const auto most = static_cast<std::uint32_t>(std::clamp<std::size_t>(3'000 / clients.size(), 1, 8));
  bounded.stripes = std::clamp(traffic.stripes, 1U, most);
  Window window = window_of(path, bounded, clients.size());
  window.rails_apart = cluster.fabric(path.fabric).wiring == model::Wiring::rail_only;
  netsim::TransferGraph graph;
  add_requests(path, bounded, window, clients, servers, graph);
  if (const Status status = graph.finish(ports.network); !status.ok()) return status.error();
  netsim::Routes routes(ports.network, routing_of(fabric, traffic.seed));
  const netsim::SimOptions options = options_of(path, traffic, routes.options());
  const Result<netsim::SimResult> result = netsim::simulate(routes, graph, options);
  if (!result.ok()) return result.error();
  return steady_rate(*result, window, path, traffic);
}

}  // namespace

Result<double> storage_rate(const model::Cluster& cluster, const StoragePath& path, const StorageTraffic& traffic) {
  if (!traffic.memory) return simulated_rate(cluster, path, traffic);
  StorageMemory::Key key{path.system->name->text, path.clients,    traffic.write, traffic.clients,
                         traffic.in_flight,       traffic.stripes, path.tcp};
  if (const auto known = traffic.memory->rates.find(key); known != traffic.memory->rates.end()) return known->second;
  Result<double> rate = simulated_rate(cluster, path, traffic);
  if (rate.ok()) traffic.memory->rates.emplace(std::move(key), *rate);
  return rate;
}

}  // namespace weft::workload
