#include "netsim/sim/simulate.h"

#include <fmt/format.h>

namespace weft::netsim {

namespace {

Status reachable(Routes& routes, const TransferGraph& transfers) {
  std::vector<NodeId> destinations;
  for (const Transfer& t : transfers.transfers()) destinations.push_back(t.destination);
  routes.prepare(destinations);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& t = transfers.transfers()[i];
    if (!routes.next_links(t.source, t.destination).empty()) continue;
    const Network& network = routes.network();
    return Error{ErrorCode::invalid_input,
                 fmt::format("transfer {}: no route from {} to {}", i, network.name_of(t.source),
                             network.name_of(t.destination)),
                 {}};
  }
  return {};
}

}  // namespace

Result<SimResult> simulate(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                           SimMonitor* monitor) {
  if (const Status status = validate(options, routes.network()); !status) return status.error();
  for (const Transfer& t : transfers.transfers()) {
    if (t.traffic_class >= options.classes.size()) {
      return Error{ErrorCode::invalid_input, fmt::format("traffic class {} does not exist", t.traffic_class), {}};
    }
  }
  if (const Status status = reachable(routes, transfers); !status) return status.error();
  switch (options.fidelity) {
    case Fidelity::analytic:
      return run_analytic_engine(routes, transfers, options, monitor);
    case Fidelity::flow:
      return run_flow_engine(routes, transfers, options, monitor);
    case Fidelity::packet:
      return run_packet_engine(routes, transfers, options, monitor);
  }
  return Error{ErrorCode::internal, "unknown fidelity", {}};
}

}  // namespace weft::netsim
