#include "netsim/sim/options.h"

#include <fmt/format.h>

namespace weft::netsim {

std::string_view to_text(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::analytic:
      return "analytic";
    case Fidelity::flow:
      return "flow";
    case Fidelity::packet:
      return "packet";
  }
  return "?";
}

std::string_view to_text(Transport transport) {
  switch (transport) {
    case Transport::dcqcn:
      return "dcqcn";
    case Transport::pfc_only:
      return "pfc-only";
    case Transport::hpcc:
      return "hpcc";
    case Transport::nscc:
      return "nscc";
    case Transport::receiver:
      return "receiver";
    case Transport::tcp:
      return "tcp";
  }
  return "?";
}

namespace {

Error invalid_options(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

Status validate_class(const TrafficClassOptions& c) {
  if (c.priority > 7)
    return invalid_options(fmt::format("class {}: priority {} is not between 0 and 7", c.name, c.priority));
  if (c.weight == 0) return invalid_options(fmt::format("class {}: weight 0 is never served; use 1 or more", c.name));
  if (c.ecn && !(c.ecn_min.count() >= 0 && c.ecn_min <= c.ecn_max)) {
    return invalid_options(fmt::format("class {}: ECN minimum {} is above the maximum {}", c.name, to_text(c.ecn_min),
                                       to_text(c.ecn_max)));
  }
  if (!(c.ecn_probability >= 0 && c.ecn_probability <= 1)) {
    return invalid_options(
        fmt::format("class {}: ECN probability {} is not between 0 and 1", c.name, c.ecn_probability));
  }
  const TransportOptions& t = c.transport;
  if (t.payload.count() < 64 || t.payload.count() > 64'000) {
    return invalid_options(
        fmt::format("class {}: payload of {} bytes is not between 64 and 64000", c.name, t.payload.count()));
  }
  if (t.header.count() < 0 || t.header.count() > 1024 || t.control.count() < 1 || t.control.count() > 9216) {
    return invalid_options(fmt::format(
        "class {}: header of {} bytes (0 to 1024) or control packet of {} bytes (1 to 9216) is out of range", c.name,
        t.header.count(), t.control.count()));
  }
  if (t.ack_every == 0) return invalid_options(fmt::format("class {}: packets per ACK is 0; use 1 or more", c.name));
  if (t.host_limit.count() < 0 || t.host_overhead.count() < 0) {
    return invalid_options(fmt::format("class {}: host limit and host overhead must not be negative", c.name));
  }
  if (t.timeout.count() <= 0) return invalid_options(fmt::format("class {}: timeout must be positive", c.name));
  return {};
}

}  // namespace

HostCost host_cost(const TransportOptions& transport, const Network& network, LinkId first) {
  if (network.node(network.link(first).to).scale_up) return {};
  const std::int64_t payload = transport.payload.count();
  const BitRate limit(multiply_divide(transport.host_limit.count(), payload + transport.header.count(), payload));
  return {transport.host_overhead, limit};
}

void use_tcp(TrafficClassOptions& traffic) {
  traffic.name = "tcp";
  traffic.priority = 0;
  traffic.lossless = false;
  traffic.ecn = false;
  traffic.transport.kind = Transport::tcp;
  // One core serves a connection, and copying to the application saturates it at about 42 Gb/s (Cai et al.,
  // "Understanding Host Network Stack Overheads", SIGCOMM 2021). NCCL over sockets at 100 Gb/s reaches 4 to 6 GB/s at
  // best (NVIDIA/nccl issue 450); virtual machines do worse, 60 % of 32 Gb/s (issue 209).
  traffic.transport.host_limit = gigabits(42);
  // A small message and its response through two kernels take about 23 us (TCP_RR in Marty et al., "Snap", SOSP 2019),
  // of which 2 to 3 are cables and a switch: 5 us for each of the four ends. An estimate; NCCL's smallest broadcast
  // over sockets takes 38 us and more, including its kernels (NVIDIA/nccl-tests issue 82).
  traffic.transport.host_overhead = microseconds(5);
}

Status validate(const SimOptions& options, const Network& network) {
  if (options.threads < 1 || options.threads > 64)
    return invalid_options(fmt::format("{} threads; expected 1 to 64", options.threads));
  if (options.classes.empty() || options.classes.size() > 8)
    return invalid_options(fmt::format("{} traffic classes; expected 1 to 8", options.classes.size()));
  unsigned seen = 0;
  for (const TrafficClassOptions& c : options.classes) {
    if (Status status = validate_class(c); !status) return status;
    if ((seen & (1U << c.priority)) != 0)
      return invalid_options(fmt::format("two classes use priority {}", c.priority));
    seen |= 1U << c.priority;
  }
  if (!(options.switches.alpha > 0)) return invalid_options("the alpha of the dynamic threshold must be positive");
  for (const LinkEvent& event : options.link_events) {
    if (model::index_of(event.link) >= network.links().size())
      return invalid_options("a link event names a link that does not exist");
    if (!(event.loss >= 0 && event.loss <= 1)) return invalid_options("a loss probability must be between 0 and 1");
  }
  for (const PauseStorm& storm : options.pause_storms) {
    if (model::index_of(storm.endpoint) >= network.nodes().size() ||
        network.node(storm.endpoint).kind != NodeKind::endpoint) {
      return invalid_options("a pause storm must come from an endpoint");
    }
  }
  return {};
}

}  // namespace weft::netsim
