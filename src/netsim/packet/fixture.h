// Shared by tests of the packet engine: a network, transfers between its hosts by number, one call to run.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "netsim/network/topologies.h"
#include "netsim/sim/simulate.h"

namespace weft::netsim {

struct PacketCase {
  explicit PacketCase(Network built) : network(std::move(built)) {
    // Plain RoCE without end-to-end control, so times follow from the wire alone.
    transport().kind = Transport::pfc_only;
    transport().window = kNoWindow;
  }

  TransportOptions& transport() { return options.classes.front().transport; }
  TransferId send(std::size_t from, std::size_t to, std::int64_t bytes, SimTime start = {}) {
    Transfer t;
    t.source = network.endpoints()[from];
    t.destination = network.endpoints()[to];
    t.bytes = Bytes(bytes);
    t.start = start;
    return graph.add(t);
  }
  LinkId link(std::string_view from, std::string_view to) const {
    for (std::size_t i = 0; i < network.links().size(); ++i) {
      const Link& link = network.links()[i];
      if (network.name_of(link.from) == from && network.name_of(link.to) == to) return static_cast<LinkId>(i);
    }
    return model::kNone<LinkId>;
  }
  SimResult run(SimMonitor* monitor = nullptr) {
    const Status status = graph.finish(network);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
    Routes routes(network, routing);
    Result<SimResult> result = simulate(routes, graph, options, monitor);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    return result.ok() ? std::move(result).value() : SimResult{};
  }

  Network network;
  TransferGraph graph;
  RoutingOptions routing;
  SimOptions options;
};

// Leaves and spines for hosts of 100 Gb/s.
inline Network small_fabric(std::uint32_t leaves, std::uint32_t hosts_per_leaf, std::uint32_t spines,
                            BitRate uplink_rate = gigabits(100)) {
  LeafSpineShape shape;
  shape.leaves = leaves;
  shape.hosts_per_leaf = hosts_per_leaf;
  shape.spines = spines;
  shape.host_rate = gigabits(100);
  shape.uplink_rate = uplink_rate;
  return leaf_spine(shape);
}

// Bytes on the wire of a message: full packets and a last one, each with its header.
inline std::int64_t wire_bytes(std::int64_t bytes, std::int64_t payload = 4096, std::int64_t header = 64) {
  return bytes + (bytes + payload - 1) / payload * header;
}

}  // namespace weft::netsim
