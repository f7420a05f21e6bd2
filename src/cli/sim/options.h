// Options shared by `weft sim traffic` and `weft sim collective` (fidelity, transport, routing, switches, faults,
// pictures) and their conversion to netsim::SimOptions and netsim::RoutingOptions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/framework/command.h"
#include "cli/framework/option_reader.h"
#include "netsim/routing/routing.h"
#include "netsim/sim/options.h"

namespace weft::cli {

struct SimSetup {
  netsim::SimOptions options;
  netsim::RoutingOptions routing;
  std::vector<netsim::Fidelity> fidelities;  // coarsest first
  std::uint8_t queue_pairs = 1;
};

// Tables of options. `fallback` is the fidelity without --fidelity.
[[nodiscard]] std::vector<Option> sim_network_options();
[[nodiscard]] std::vector<Option> sim_run_options(const std::string& fallback);
[[nodiscard]] std::vector<Option> sim_detail_options();
[[nodiscard]] std::vector<Option> sim_fault_options();
[[nodiscard]] std::vector<Option> sim_result_options();

// Traffic classes and switch settings of a fabric from the cluster file; options on the command line override them.
void apply_cluster(const model::Cluster& cluster, model::FabricKind fabric, SimSetup& setup);
// All options that do not depend on a network. Problems stay in the reader.
void read_sim_options(OptionReader& reader, netsim::Fidelity fallback, SimSetup& setup);
// --series, for commands that have it.
void read_sim_series(OptionReader& reader, netsim::SimOptions& options);
// Links and endpoints by name: --fail, --restore, --errors, --link-mtu, --storm; --slow changes the network.
void read_sim_faults(OptionReader& reader, netsim::Network& network, netsim::SimOptions& options);

// "be-leaf01>be-spine01", "be-leaf01 > be-spine01 #2": the link, or an error that suggests similar names.
[[nodiscard]] Result<netsim::LinkId> find_link(const netsim::Network& network, std::string_view text);
// The same, or all cables of a node ("be-leaf01", "train001:gpu0") or server ("train001").
[[nodiscard]] Result<std::vector<netsim::LinkId>> find_links(const netsim::Network& network, std::string_view text);

}  // namespace weft::cli
