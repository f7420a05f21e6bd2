#include "net/options.h"

#include <fmt/format.h>

namespace weft::net {

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

Error bad(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

Status validate_class(const TrafficClassOptions& c) {
  if (c.priority > 7) return bad(fmt::format("class {}: priority {} is not 0 to 7", c.name, c.priority));
  if (c.weight == 0) return bad(fmt::format("class {}: weight 0 would never be served", c.name));
  if (c.ecn && !(c.ecn_min.count() >= 0 && c.ecn_min <= c.ecn_max)) {
    return bad(fmt::format("class {}: ECN minimum {} is above the maximum {}", c.name, to_text(c.ecn_min),
                           to_text(c.ecn_max)));
  }
  if (!(c.ecn_probability >= 0 && c.ecn_probability <= 1)) {
    return bad(fmt::format("class {}: ECN probability {} is not 0 to 1", c.name, c.ecn_probability));
  }
  const TransportOptions& t = c.transport;
  if (t.payload.count() < 64 || t.payload.count() > 64'000) {
    return bad(fmt::format("class {}: a payload of {} bytes is not 64 to 64000", c.name, t.payload.count()));
  }
  if (t.header.count() < 0 || t.header.count() > 1024 || t.control.count() < 1 || t.control.count() > 9216) {
    return bad(fmt::format("class {}: header or control packet size makes no sense", c.name));
  }
  if (t.ack_every == 0) return bad(fmt::format("class {}: ACKs must come at least once in a while", c.name));
  if (t.timeout.count() <= 0) return bad(fmt::format("class {}: a timeout must be positive", c.name));
  return {};
}

}  // namespace

Status validate(const SimOptions& options, const Network& network) {
  if (options.threads < 1 || options.threads > 64) return bad("threads must be 1 to 64");
  if (options.classes.empty() || options.classes.size() > 8) return bad("there must be 1 to 8 traffic classes");
  unsigned seen = 0;
  for (const TrafficClassOptions& c : options.classes) {
    if (Status status = validate_class(c); !status) return status;
    if ((seen & (1U << c.priority)) != 0) return bad(fmt::format("two classes use priority {}", c.priority));
    seen |= 1U << c.priority;
  }
  if (!(options.switches.alpha > 0)) return bad("the dynamic threshold's alpha must be positive");
  for (const LinkEvent& event : options.link_events) {
    if (index_of(event.link) >= network.links().size()) return bad("a link event names a link that does not exist");
    if (!(event.loss >= 0 && event.loss <= 1)) return bad("a loss probability must be 0 to 1");
  }
  for (const PauseStorm& storm : options.pause_storms) {
    if (index_of(storm.endpoint) >= network.nodes().size() || network.node(storm.endpoint).kind != NodeKind::endpoint) {
      return bad("a pause storm must come from an endpoint");
    }
  }
  return {};
}

}  // namespace weft::net
