// weft sim traffic: simulates a traffic pattern on a fabric.
#include <fmt/format.h>

#include "cli/framework/progress.h"
#include "cli/sim/patterns.h"
#include "cli/sim/run.h"
#include "netsim/views/diagnosis.h"
#include "netsim/views/result_view.h"

namespace weft::cli {
namespace {

Exit run_traffic(Context& context) {
  OptionReader reader(context.arguments());
  SimSetup setup;
  // Invalid values are reported before any file is opened.
  read_sim_options(reader, netsim::Fidelity::packet, setup);
  read_sim_series(reader, setup.options);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  SimInput input;
  const model::FabricKind fallback =
      wants_storage(context.arguments()) ? model::FabricKind::storage : model::FabricKind::backend;
  if (const auto exit = open_sim_input(context, reader, fallback, input)) return *exit;
  if (input.cluster() != nullptr) {
    setup = {};
    apply_cluster(*input.cluster(), input.fabric, setup);
    read_sim_options(reader, netsim::Fidelity::packet, setup);
    read_sim_series(reader, setup.options);
  }
  read_sim_faults(reader, input.network, setup.options);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  SimTraffic traffic;
  if (const auto exit = make_traffic(context, reader, input, setup, traffic)) return *exit;

  const InterruptGuard guard;
  std::vector<netsim::SimResult> results;
  std::vector<std::uint32_t> connections;
  for (const netsim::Fidelity fidelity : setup.fidelities) {
    setup.options.fidelity = fidelity;
    netsim::Routes routes(input.network, setup.routing);
    if (connections.empty()) connections = netsim::connections_by_link(routes, traffic.graph, setup.options.seed);
    Result<netsim::SimResult> result =
        run_simulation(context, routes, traffic.graph, setup.options, std::string(to_text(fidelity)));
    if (!result.ok()) return context.failed(result.error());
    results.push_back(std::move(result).value());
    if (results.back().interrupted) break;
  }
  const OutputFormat format = context.output_format();
  const bool for_people = format == OutputFormat::table || format == OutputFormat::wide;
  const netsim::ResultContext view{.network = input.network,
                                   .transfers = traffic.graph,
                                   .options = setup.options,
                                   .routing = setup.routing,
                                   .where = input.where,
                                   .what = traffic.what,
                                   .tags = traffic.tags,
                                   .connections = std::move(connections),
                                   .hottest = for_people ? 10U : 1000U,
                                   .storm_rows = for_people ? 20U : 10'000U};
  Document document =
      results.size() > 1 ? netsim::comparison_document(view, results) : netsim::result_document(view, results.back());
  if (!input.caveat().empty()) document.notes.push_back(input.caveat());
  const Exit outcome = results.back().complete ? Exit::ok : Exit::partial;
  const Exit delivered = context.deliver(document, outcome);
  if (delivered != outcome) return delivered;
  return write_pictures(context, input.network, results.back(), traffic.what, input.where, outcome);
}

}  // namespace

Command sim_traffic_command() {
  Command command;
  command.name = "sim traffic";
  command.summary = "Simulate traffic on a fabric, packet by packet";
  command.usage = "CLUSTER | --topology TOPOLOGY [OPTIONS]";
  command.description = {
      "Runs a pattern of transfers over a fabric of the cluster or a generated topology, and reports completion times, "
      "links that were busy, marked, paused or lossy, the bottleneck and what would remove it.",
      "Results are deterministic: byte-identical on every machine and with any number of threads. Ctrl-C stops a run "
      "and prints the results so far; a second Ctrl-C exits immediately.",
      "Exit code 3 if the run did not complete: interrupted, cut by --until, or deadlocked."};
  command.examples = {
      {"weft sim traffic cluster.yaml", "Random permutation of 10 MB, packet by packet"},
      {"weft sim traffic cluster.yaml --pattern incast --fan-in 64 --series 50us", "64 hosts to one, over time"},
      {"weft sim traffic cluster.yaml --fidelity all", "Packet, flow and analytic side by side, with their errors"},
      {"weft sim traffic cluster.yaml --routing adaptive --heat-map heat.svg", "Adaptive routing, with a heat map"},
      {"weft sim traffic cluster.yaml --storm train001:gpu0@0us --storm-tree storm.svg", "PFC storm from one NIC"},
      {"weft sim traffic --topology fat-tree:128 --flows w1.flows", "A flow file on a fat tree"},
  };
  command.arguments = {cluster_argument_or({"topology"})};
  for (std::vector<Option>& options :
       std::vector<std::vector<Option>>{sim_pattern_options(), sim_network_options(), sim_run_options("packet"),
                                        sim_result_options(), sim_fault_options(), sim_detail_options()}) {
    for (Option& option : options) command.options.push_back(std::move(option));
  }
  command.run = run_traffic;
  return command;
}

}  // namespace weft::cli
