// From the numbers of a run to sentences: what bounded it and what would change that. Everything said is worked out
// from the result; where the result does not show a cause, nothing is said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netsim/sim/result.h"
#include "netsim/views/link_class.h"

namespace weft::netsim {

// What the run waited for, and the busiest class of links.
struct Bound {
  enum class Reason : std::uint8_t {
    links,    // the busiest was busy most of the time
    phases,   // NVLink and the fabric in turn: together they were busy most of the time
    pauses,   // some link stood still for a good part of it
    losses,   // timeouts
    control,  // senders that congestion control had slowed down
    hosts,    // the software of the hosts, which moves no more on a connection
    latency,  // none of these: latency, and transfers that wait for each other
  };
  Reason reason = Reason::latency;
  LinkClass kind = LinkClass::nic_send;
  LinkId link = model::kNone<LinkId>;
  double utilization = 0;
  double scale_up = 0;    // utilization of the busiest NVLink, where `kind` is another
  BitRate host_limit{0};  // of a connection, where hosts are the reason
};
[[nodiscard]] Bound bound_of(const Network& network, const SimResult& result);
// Also tells when hosts were the limit: transfers spent most of their time at what a connection's software can move.
[[nodiscard]] Bound bound_of(const Network& network, const TransferGraph& transfers, const SimOptions& options,
                             const SimResult& result);
// "leaf uplinks at 97 %", "sending NICs at 54 %, NVLink at 40 % in turn", "latency and waiting (sending NICs at 23 %)",
// "congestion control (leaf uplinks at 40 %)", "host software at 42Gb/s a connection (sending NICs at 43 %)"
[[nodiscard]] std::string to_text(const Bound& bound);

// Connections that the hash (or static rule) puts on each link, by LinkId. Empty where the routing decides by packet or
// where there are more than `limit` connections.
[[nodiscard]] std::vector<std::uint32_t> connections_by_link(Routes& routes, const TransferGraph& transfers,
                                                             std::uint64_t seed, std::uint64_t limit = 500'000);

struct DiagnosisInput {
  const Network& network;
  const TransferGraph& transfers;
  const SimOptions& options;
  const RoutingOptions& routing;
  const SimResult& result;
  std::vector<std::uint32_t> connections;  // from connections_by_link()
};
// Sentences, the most important first.
[[nodiscard]] std::vector<std::string> diagnose(const DiagnosisInput& input);

}  // namespace weft::netsim
