// State shared by the shards of a packet simulation: the renumbered network, thresholds, routes as port numbers, and
// the state arrays (packet/state.h). Built once; during a run each entry is changed by one shard only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "netsim/packet/state.h"
#include "netsim/sim/simulate.h"

namespace weft::netsim {

// A queue of every port: one per class, and the last one for congestion notifications.
struct QueuePlan {
  bool lossless = false;
  bool strict = false;
  bool ecn = false;
  double mark_probability = 0;
  std::uint32_t quantum = 0;  // bytes per turn of weighted round robin
  std::uint32_t largest = 0;  // wire bytes of its largest packet
};
struct MarkThresholds {
  std::int64_t low = 0;  // bytes
  std::int64_t high = 0;
};

class PacketWorld {
 public:
  PacketWorld(Routes& routes, const TransferGraph& graph, const SimOptions& options, int shards);
  PacketWorld(const PacketWorld&) = delete;
  PacketWorld& operator=(const PacketWorld&) = delete;

  [[nodiscard]] std::size_t lane_of(std::uint32_t port, std::uint32_t queue) const { return port * queues + queue; }
  [[nodiscard]] const TransportOptions& transport_of(std::uint8_t class_index) const {
    return options.classes[class_index].transport;
  }
  // Recomputes the path of a connection's data, or of its ACKs, after routes have changed. False if there is none; the
  // old one stays.
  bool reroute_data(std::uint32_t connection);
  bool reroute_acks(std::uint32_t connection);
  void forget_routes();
  // XOFF threshold of an ingress priority at a switch, in bytes.
  [[nodiscard]] std::int64_t pause_threshold(const SwitchState& node) const {
    if (options.switches.xoff.count() > 0) return options.switches.xoff.count();
    return static_cast<std::int64_t>(alpha_ * static_cast<double>(node.shared_size - node.shared_used));
  }
  [[nodiscard]] std::int64_t lossy_threshold(const SwitchState& node) const {
    return static_cast<std::int64_t>(lossy_alpha_ * static_cast<double>(node.shared_size - node.shared_used));
  }
  [[nodiscard]] SimTime round_trip_of(std::uint32_t connection) const;
  // Whether a dependent of any transfer starts on a node other than the one where that transfer's end is detected.
  [[nodiscard]] bool has_remote_triggers() const;

  Routes& routes;
  const Network& network;
  const TransferGraph& graph;
  const SimOptions& options;
  std::uint32_t queues = 0;
  bool per_packet_routing = false;
  bool pfc = true;
  std::uint16_t strict_mask = 0;
  std::vector<QueuePlan> plans;

  std::vector<Port> ports;
  std::vector<std::uint32_t> reverse;  // by port
  std::vector<PortCounters> counters;  // by port
  std::vector<Lane> lanes;             // by port and queue, like the next four
  std::vector<PauseClock> clocks;
  std::vector<Ingress> ingress;
  std::vector<MarkThresholds> thresholds;
  std::vector<SwitchState> switches;   // by node
  std::vector<std::uint8_t> shard_of;  // by node
  std::vector<std::uint32_t> link_of_port;
  std::vector<std::uint32_t> port_of_link;
  std::vector<std::uint32_t> route_table;  // ports

  std::vector<Sender> senders;  // by connection, like the next two
  std::vector<Control> controls;
  std::vector<Receiver> receivers;
  std::vector<TransferState> transfers;
  std::vector<SimTime> started;  // by transfer
  std::vector<SimTime> finished;
  std::vector<std::size_t> first_instance;  // by transfer, into instance_times; empty if there are too many
  std::vector<SimTime> instance_times;      // start of a round, then its duration

  std::int64_t lookahead = 0;  // ps; the shortest cable between two shards
  std::vector<std::string> warnings;

 private:
  void number_ports(int shards);
  void plan_queues();
  void build_ports();
  void build_switches();
  void build_connections();
  void add_connection(std::uint32_t transfer, std::uint32_t part);
  [[nodiscard]] bool takes_any_order(const TransportOptions& transport) const;
  std::uint32_t add_route(const FlowKey& key);
  // The current path of a part of a transfer, or of its ACKs; kNil if there is none.
  std::uint32_t route_of(std::uint32_t transfer, std::uint32_t part, bool back);
  template <class End>
  bool reroute(End& end, std::uint32_t connection, bool back);
  const std::int64_t* wire_times(BitRate rate);
  const std::uint32_t* cell_charges(Bytes cell);

  double alpha_ = 0;
  double lossy_alpha_ = 0;
  std::uint32_t largest_wire_ = 0;
  std::uint32_t smallest_wire_ = UINT32_MAX;
  std::map<std::int64_t, std::unique_ptr<std::int64_t[]>> wire_times_;
  std::map<std::int64_t, std::unique_ptr<std::uint32_t[]>> charges_;
  // By queue pair, then source and destination: connections between the same two share a path.
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> known_routes_;
  std::vector<LinkId> path_;
};

}  // namespace weft::netsim
