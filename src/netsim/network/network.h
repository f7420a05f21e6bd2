// The simulated network: nodes (endpoints that send and receive, switches that forward) and directed links, in flat
// arrays. It is built once from a Cluster (network/from_cluster.h), a generator (network/topologies.h) or another
// simulator's file (read_*.h), and does not change during a run: Routes and the engines handle failures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "netsim/network/sim_time.h"

namespace weft::netsim {

enum class NodeId : std::uint32_t {};
enum class LinkId : std::uint32_t {};  // one direction of a cable

enum class NodeKind : std::uint8_t { endpoint, network_switch };

// Packet buffer of a switch's ASIC. All ports share it.
struct SwitchBuffer {
  Bytes total{32'000'000};  // shared pool, headroom included
  Bytes cell{192};          // packets occupy whole cells
};

struct Node {
  NodeKind kind = NodeKind::endpoint;
  std::uint8_t tier = 0;     // 0 endpoint, 1 leaf (or scale-up switch), 2 spine, 3 core
  bool scale_up = false;     // an NVLink switch: never connects two hosts
  std::uint16_t buffer = 0;  // of switches: index into buffers()
  std::uint32_t group = 0;   // host of an endpoint, pod of a switch: kept together by folding and partitioning
  model::DeviceId device = model::kNone<model::DeviceId>;  // in the Cluster, if built from one
};

struct Link {
  NodeId from = model::kNone<NodeId>;
  NodeId to = model::kNone<NodeId>;
  LinkId reverse = model::kNone<LinkId>;  // the other direction of the same cable
  BitRate rate;
  SimTime delay;                                     // propagation, and the fixed latency of the receiving end
  model::PortId port = model::kNone<model::PortId>;  // the sending end in the Cluster, if built from one
};

class Network {
 public:
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[model::index_of(id)]; }
  [[nodiscard]] const Link& link(LinkId id) const { return links_[model::index_of(id)]; }
  [[nodiscard]] std::span<const SwitchBuffer> buffers() const { return buffers_; }
  [[nodiscard]] const SwitchBuffer& buffer_of(NodeId id) const { return buffers_[node(id).buffer]; }

  // Links that leave a node, by id.
  [[nodiscard]] std::span<const LinkId> out_links(NodeId id) const;
  // Endpoints in order: endpoints()[i] is "host i" of a traffic pattern.
  [[nodiscard]] std::span<const NodeId> endpoints() const { return endpoints_; }
  // "train001:gpu3", "be-leaf02", "host17".
  [[nodiscard]] const std::string& name_of(NodeId id) const { return names_[model::index_of(id)]; }
  // "be-leaf02 > be-spine01", with a number where there are several in parallel: "be-leaf02 > be-spine01 #2".
  [[nodiscard]] std::string link_name(LinkId id) const;
  [[nodiscard]] NodeId find_node(std::string_view name) const;  // kNone if not found; searches all names linearly
  // A cable that runs below its rate, such as one that negotiated fewer lanes; both directions. Before a run only.
  void set_rate(LinkId link, BitRate rate);

 private:
  friend class NetworkBuilder;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<std::string> names_;
  std::vector<SwitchBuffer> buffers_;
  std::vector<NodeId> endpoints_;
  std::vector<std::uint32_t> out_offsets_;
  std::vector<LinkId> out_links_;
};

class NetworkBuilder {
 public:
  NodeId add_node(Node node, std::string name);
  // Adds both directions; returns the one from `a` to `b`; the next id is the reverse.
  LinkId connect(NodeId a, NodeId b, BitRate rate, SimTime delay) { return connect(a, b, rate, delay, delay); }
  LinkId connect(NodeId a, NodeId b, BitRate rate, SimTime delay_to_b, SimTime delay_to_a);
  void ports(LinkId link, model::PortId from, model::PortId to);  // ports of a cable that came from a Cluster
  std::uint16_t add_buffer(SwitchBuffer buffer);                  // returns the index of an equal one if there is one
  [[nodiscard]] std::size_t node_count() const { return network_.nodes_.size(); }
  [[nodiscard]] Network finish() &&;

 private:
  Network network_;
};

}  // namespace weft::netsim
