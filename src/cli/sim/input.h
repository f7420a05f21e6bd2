// Input of a simulation from the command line: the network of a cluster's fabric, of a generator or of another
// simulator's file, and the participating endpoints.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "netsim/network/network.h"
#include "netsim/traffic/transfer.h"

namespace weft::cli {

struct SimInput {
  std::unique_ptr<model::Loaded> loaded;  // of a cluster file; null without one
  model::FabricKind fabric = model::FabricKind::backend;
  netsim::Network network;
  std::string where;  // "pod32, backend fabric"
  [[nodiscard]] const model::Cluster* cluster() const { return loaded == nullptr ? nullptr : loaded->cluster.get(); }
  // Mechanisms of this network that are simulated as others; empty for none.
  [[nodiscard]] std::string caveat() const;
};

// Opens CLUSTER or --topology; `fallback` is the fabric without --fabric. Returns the exit code on failure, after
// reporting why.
[[nodiscard]] std::optional<Exit> open_sim_input(Context& context, OptionReader& reader, model::FabricKind fallback,
                                                 SimInput& input);

// "fat-tree:128", "leaf-spine:8x16x16", ...; empty if it is not the name of a generator.
struct GeneratedTopology {
  netsim::Network network;
  std::string words;  // "fat tree of 128 hosts"
};
struct TopologyDefaults {
  std::optional<BitRate> rate;
  std::optional<Duration> delay;
};
[[nodiscard]] bool names_generator(std::string_view text);
[[nodiscard]] Result<GeneratedTopology> generate_topology(std::string_view text, const TopologyDefaults& defaults);

// Endpoints by host list: "train[001-016]" selects all endpoints of these hosts, "train001:gpu3" one. In the order
// given, each once.
[[nodiscard]] Result<std::vector<netsim::NodeId>> endpoints_named(const netsim::Network& network,
                                                                  std::string_view hosts);
// Endpoints of --hosts, or of `all` without it, cut to --ranks.
[[nodiscard]] std::vector<netsim::NodeId> chosen_ranks(OptionReader& reader, const netsim::Network& network,
                                                       const std::vector<netsim::NodeId>& all);
// Endpoints of servers of the pools with this role; none without a cluster.
[[nodiscard]] std::vector<netsim::NodeId> endpoints_of_role(const SimInput& input, model::PoolRole role);

// The flow file of --flows, in any of the supported formats.
[[nodiscard]] std::optional<Exit> read_flow_file(Context& context, const std::string& path,
                                                 const netsim::Network& network, netsim::TransferGraph& graph);

}  // namespace weft::cli
