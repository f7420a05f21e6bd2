// What `weft sim traffic` and `weft sim collective` share: the options that say how a run is made (fidelity, transport,
// routing, switches, faults, pictures) and their way into net::SimOptions and net::RoutingOptions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/option_reader.h"
#include "net/options.h"
#include "net/routing.h"

namespace weft {

struct SimSetup {
  net::SimOptions options;
  net::RoutingOptions routing;
  std::vector<net::Fidelity> fidelities;  // coarsest first
  std::uint8_t queue_pairs = 1;
};

// Tables of options. `fallback` is the fidelity without --fidelity.
[[nodiscard]] std::vector<Option> sim_network_options();
[[nodiscard]] std::vector<Option> sim_run_options(const std::string& fallback);
[[nodiscard]] std::vector<Option> sim_detail_options();
[[nodiscard]] std::vector<Option> sim_fault_options();
[[nodiscard]] std::vector<Option> sim_result_options();

// What a cluster file says about the classes and switches of a fabric; options given on the line win over it.
void apply_cluster(const Cluster& cluster, FabricKind fabric, SimSetup& setup);
// Everything that needs no network. Problems stay in the reader.
void read_sim_options(OptionReader& reader, net::Fidelity fallback, SimSetup& setup);
// --series of the commands that have it.
void read_sim_series(OptionReader& reader, net::SimOptions& options);
// Links and endpoints by name: --fail, --restore, --errors, --link-mtu, --storm.
void read_sim_faults(OptionReader& reader, const net::Network& network, net::SimOptions& options);

// "be-leaf01>be-spine01", "be-leaf01 > be-spine01 #2": the link, or an error that names what is near.
[[nodiscard]] Result<net::LinkId> find_link(const net::Network& network, std::string_view text);

}  // namespace weft
