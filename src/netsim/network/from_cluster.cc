#include "netsim/network/from_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/lossless.h"
#include "model/server_ports.h"

namespace weft::netsim {

namespace {

// Propagation speed in fiber and copper, in millimeters per second: two thirds of the speed of light, 5.05 ns/m, as in
// SONiC's headroom calculation (and in model/lossless.cc).
constexpr std::int64_t kMillimetresPerSecond = 198'000'000'000;
// Port to port, without queueing and serialization. NVIDIA states 130 ns for Quantum. For shared-buffer Ethernet ASICs
// (Spectrum, Tomahawk, Silicon One) vendors state 0.4 to 0.9 us depending on generation and speed; 700 ns is our middle
// of that, 3 us our estimate for 1 Gb/s switches.
constexpr SimTime kInfinibandLatency = nanoseconds(130);
constexpr SimTime kEthernetLatency = nanoseconds(700);
constexpr SimTime kGigabitLatency = microseconds(3);
constexpr BitRate kSlowSwitch = gigabits(1'000);  // total capacity below which a switch counts as a 1 Gb/s switch
// "Sub-600ns latency": NVIDIA's ConnectX-6 user manual.
constexpr SimTime kNicLatency = nanoseconds(600);
// Half of the 936.25 ns from GPU to GPU of ASTRA-sim's validated HGX-H100 network, per link.
constexpr SimTime kScaleUpLatency = picoseconds(468'125);

// One direction of a PCIe slot: transfers per second and lane double with each generation from 8 GT/s of the third,
// which has 128b/130b coding like the fourth and fifth; the sixth has none.
BitRate pcie_rate(std::int64_t generation, std::int64_t lanes) {
  const std::int64_t transfers = 8'000'000'000 << std::clamp<std::int64_t>(generation - 3, 0, 5);
  return BitRate(generation >= 6 ? transfers * lanes : transfers * lanes / 130 * 128);
}

class ClusterNetwork {
 public:
  ClusterNetwork(const model::Cluster& cluster, const ClusterNetworkOptions& options)
      : cluster_(cluster),
        options_(options),
        planes_(std::max(cluster.fabric(options.fabric).planes, 1U)),
        node_of_port_(cluster.ports().size(), model::kNone<NodeId>) {}

  Network make() && {
    for (const model::DeviceGroup& group : cluster_.groups()) {
      if (group.kind == model::DeviceKind::server && !group.manager) add_servers(group);
    }
    for (const SharedNic& nic : shared_nics_) add_shared_nic(nic);
    add_scale_up_switches();
    for (const model::DeviceGroup& group : cluster_.groups()) {
      if (group.kind == model::DeviceKind::network_switch && group.fabric == options_.fabric) add_switches(group);
    }
    for (std::size_t i = 0; i < cluster_.cables().size(); ++i) add_cable(static_cast<model::CableId>(i));
    return std::move(builder_).finish();
  }

 private:
  struct SharedNic {
    model::PortId port = model::kNone<model::PortId>;
    std::vector<NodeId> gpus;
    BitRate rate;
    std::uint32_t host = 0;
  };
  // GPUs of consecutive servers that reach each other over NVLink.
  struct Domain {
    std::pair<std::uint32_t, std::size_t> key;  // device group, and place in it
    std::string name;
    std::uint32_t host = 0;
    model::DeviceId device = model::kNone<model::DeviceId>;
    BitRate rate;
    std::vector<NodeId> gpus;
  };

  void add_servers(const model::DeviceGroup& group);
  void add_gpus(const model::DeviceGroup& group, model::DeviceId id);
  void add_to_domain(const model::ServerModel& server, model::DeviceId id, std::size_t gpu, NodeId node);
  void add_scale_up_switches();
  void add_shared_nic(const SharedNic& nic);
  void add_switches(const model::DeviceGroup& group);
  void add_cable(model::CableId id);
  NodeId add_endpoint(model::DeviceId id, std::string name);
  [[nodiscard]] std::vector<std::vector<model::PortId>> ports_by_gpu(const model::DeviceGroup& group,
                                                                     std::size_t gpus) const;
  [[nodiscard]] SimTime latency_of(const Node& node) const;

  const model::Cluster& cluster_;
  const ClusterNetworkOptions& options_;
  std::uint32_t planes_;
  NetworkBuilder builder_;
  std::vector<Node> nodes_;           // as passed to the builder
  std::vector<NodeId> node_of_port_;  // endpoint, shared NIC or switch
  std::vector<model::PortId> ports_;  // of the server being added, on this fabric
  std::uint32_t hosts_ = 0;
  std::vector<SharedNic> shared_nics_;
  std::vector<Domain> domains_;
};

NodeId ClusterNetwork::add_endpoint(model::DeviceId id, std::string name) {
  Node node;
  node.group = hosts_;
  node.device = id;
  nodes_.push_back(node);
  return builder_.add_node(node, std::move(name));
}

void ClusterNetwork::add_servers(const model::DeviceGroup& group) {
  for (std::uint32_t i = 0; i < group.count; ++i) {
    const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
    ports_.clear();
    for (const model::PortId port : cluster_.ports_of(id)) {
      if (cluster_.port(port).fabric == options_.fabric && cluster_.cable_of(port) != model::kNone<model::CableId>) {
        ports_.push_back(port);
      }
    }
    if (ports_.empty()) continue;
    if (options_.fabric == model::FabricKind::backend && cluster_.server_of(id).gpus.value > 0) {
      add_gpus(group, id);
    } else {
      const NodeId node = add_endpoint(id, cluster_.name_of(id));
      for (const model::PortId port : ports_) node_of_port_[model::index_of(port)] = node;
    }
    ++hosts_;
  }
}

// The ports of each GPU: those nearest to it according to the catalog; for a GPU without any, the least used port.
std::vector<std::vector<model::PortId>> ClusterNetwork::ports_by_gpu(const model::DeviceGroup& group,
                                                                     std::size_t gpus) const {
  const model::PortGroup* row = model::port_group(*group.server, model::PortUse::backend);
  CHECK(row != nullptr, "backend ports of a server that has none");
  std::vector<std::vector<model::PortId>> out(gpus);
  for (const model::PortId id : ports_) {
    const model::Port& port = cluster_.port(id);
    const std::size_t number =
        (port.cage - model::first_cage(*group.server, row)) * static_cast<std::size_t>(*row->per_cage) +
        port.lane / planes_;
    const std::size_t nearest =
        number < row->gpus->size() ? static_cast<std::size_t>(row->gpus.value[number]) : number % gpus;
    out[std::min(nearest, gpus - 1)].push_back(id);
  }
  std::vector<int> users(ports_.size(), 1);
  for (std::size_t g = 0; g < gpus; ++g) {
    if (!out[g].empty()) continue;
    const auto least = std::min_element(users.begin(), users.end());
    ++*least;
    out[g].push_back(ports_[static_cast<std::size_t>(least - users.begin())]);
  }
  return out;
}

void ClusterNetwork::add_gpus(const model::DeviceGroup& group, model::DeviceId id) {
  const model::ServerModel& server = cluster_.server_of(id);
  const auto gpus = static_cast<std::size_t>(server.gpus.value);
  const std::vector<std::vector<model::PortId>> ports = ports_by_gpu(group, gpus);
  std::vector<std::pair<model::PortId, NodeId>> users;
  for (std::size_t g = 0; g < gpus; ++g) {
    const NodeId node = add_endpoint(id, fmt::format("{}:gpu{}", cluster_.name_of(id), g));
    for (const model::PortId port : ports[g]) users.emplace_back(port, node);
    if (options_.scale_up) add_to_domain(server, id, g, node);
  }
  std::stable_sort(users.begin(), users.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < users.size();) {
    const model::PortId port = users[i].first;
    SharedNic nic;
    nic.port = port;
    nic.host = hosts_;
    for (; i < users.size() && users[i].first == port; ++i) nic.gpus.push_back(users[i].second);
    node_of_port_[model::index_of(port)] = nic.gpus.front();
    if (nic.gpus.size() == 1) continue;
    const model::GpuModel* model = cluster_.catalog().gpu(server.gpu.value);
    const bool known = model != nullptr && model->pcie_generation.has_value() && model->pcie_lanes.has_value();
    nic.rate = known ? pcie_rate(*model->pcie_generation, *model->pcie_lanes) : cluster_.port(port).speed();
    shared_nics_.push_back(std::move(nic));
  }
}

// A domain may be part of a server, a server, or (NVL72) several consecutive servers.
void ClusterNetwork::add_to_domain(const model::ServerModel& server, model::DeviceId id, std::size_t gpu, NodeId node) {
  const model::GpuInterconnect kind = server.interconnect.value;
  if (kind == model::GpuInterconnect::none || kind == model::GpuInterconnect::pcie) return;
  const model::GpuModel* model = cluster_.catalog().gpu(server.gpu.value);
  if (model == nullptr || !model->nvlink_bandwidth.has_value()) return;
  const auto gpus = static_cast<std::size_t>(server.gpus.value);
  const std::size_t domain = std::max<std::size_t>(
      1, server.nvlink_domain.has_value() ? static_cast<std::size_t>(*server.nvlink_domain) : gpus);
  const std::size_t index = cluster_.device(id).index;
  const std::size_t number =
      domain > gpus ? (index * gpus + gpu) / domain : index * ((gpus + domain - 1) / domain) + gpu / domain;
  const std::pair<std::uint32_t, std::size_t> key(cluster_.device(id).group, number);
  if (domains_.empty() || domains_.back().key != key) {
    Domain fresh;
    fresh.key = key;
    fresh.name = cluster_.name_of(id) + ":nvlink" + (domain < gpus ? fmt::format("{}", gpu / domain) : "");
    fresh.host = hosts_;
    fresh.device = id;
    fresh.rate = BitRate(model->nvlink_bandwidth->per_second.count() / 2 * 8);  // stated for both directions
    domains_.push_back(std::move(fresh));
  }
  domains_.back().gpus.push_back(node);
}

void ClusterNetwork::add_scale_up_switches() {
  const std::uint16_t buffer = builder_.add_buffer({});
  for (const Domain& domain : domains_) {
    if (domain.gpus.size() < 2 || domain.rate.count() <= 0) continue;
    Node node;
    node.kind = NodeKind::network_switch;
    node.tier = 1;
    node.scale_up = true;
    node.buffer = buffer;
    node.group = domain.host;
    node.device = domain.device;
    nodes_.push_back(node);
    const NodeId hub = builder_.add_node(node, domain.name);
    for (const NodeId gpu : domain.gpus) builder_.connect(gpu, hub, domain.rate, kScaleUpLatency);
  }
}

void ClusterNetwork::add_shared_nic(const SharedNic& nic) {
  Node node;
  node.kind = NodeKind::network_switch;
  node.tier = 0;
  node.group = nic.host;
  node.device = cluster_.port(nic.port).device;
  node.buffer = builder_.add_buffer({});
  nodes_.push_back(node);
  const NodeId id = builder_.add_node(node, cluster_.full_port_name(nic.port) + ":nic");
  node_of_port_[model::index_of(nic.port)] = id;
  const SimTime to_gpu = options_.nic_latency.count() > 0 ? options_.nic_latency : kNicLatency;
  for (const NodeId gpu : nic.gpus) builder_.connect(gpu, id, nic.rate, SimTime(), to_gpu);
}

void ClusterNetwork::add_switches(const model::DeviceGroup& group) {
  const model::SwitchModel& model = *group.network_switch;
  SwitchBuffer buffer;
  if (model.buffer.has_value() && model.buffer->count() > 0) buffer.total = model.buffer.value;
  if (const auto asic = model::asic_headroom(model.asic.value)) buffer.cell = Bytes(asic->cell);
  Node node;
  node.kind = NodeKind::network_switch;
  node.tier = static_cast<std::uint8_t>(group.tier);
  node.buffer = builder_.add_buffer(buffer);
  for (std::uint32_t i = 0; i < group.count; ++i) {
    node.device = static_cast<model::DeviceId>(model::index_of(group.first) + i);
    node.group = cluster_.device(node.device).pod;
    nodes_.push_back(node);
    const NodeId id = builder_.add_node(node, cluster_.name_of(node.device));
    for (const model::PortId port : cluster_.ports_of(node.device)) {
      if (cluster_.port(port).fabric == options_.fabric) node_of_port_[model::index_of(port)] = id;
    }
  }
}

// Latency of a packet that arrives at this node.
SimTime ClusterNetwork::latency_of(const Node& node) const {
  if (node.kind == NodeKind::endpoint) return options_.nic_latency.count() > 0 ? options_.nic_latency : kNicLatency;
  if (node.tier == 0) return {};  // a shared NIC: counted on the link to the GPU
  if (options_.switch_latency.count() > 0) return options_.switch_latency;
  const model::SwitchModel& model = *cluster_.group_of(node.device).network_switch;
  if (model.network.value == model::NetworkKind::infiniband) return kInfinibandLatency;
  return model.capacity.has_value() && model.capacity.value < kSlowSwitch ? kGigabitLatency : kEthernetLatency;
}

void ClusterNetwork::add_cable(model::CableId id) {
  const model::Cable& cable = cluster_.cable(id);
  if (cable.fabric != options_.fabric) return;
  const NodeId a = node_of_port_[model::index_of(cable.a)];
  const NodeId b = node_of_port_[model::index_of(cable.b)];
  if (a == model::kNone<NodeId> || b == model::kNone<NodeId>) return;
  const BitRate rate = std::min(cluster_.port(cable.a).speed(), cluster_.port(cable.b).speed());
  const SimTime on_cable(multiply_divide(cable.length_mm, 1'000'000'000'000, kMillimetresPerSecond));
  const LinkId link = builder_.connect(a, b, rate, on_cable + latency_of(nodes_[model::index_of(b)]),
                                       on_cable + latency_of(nodes_[model::index_of(a)]));
  builder_.ports(link, cable.a, cable.b);
}

}  // namespace

Result<Network> network_of(const model::Cluster& cluster, const ClusterNetworkOptions& options) {
  if (!cluster.fabric(options.fabric).present) {
    return Error{ErrorCode::not_found,
                 fmt::format("cluster {} has no {} fabric", cluster.name(), model::to_text(options.fabric)),
                 {}};
  }
  return ClusterNetwork(cluster, options).make();
}

}  // namespace weft::netsim
