// Diagnosis of a run as sentences: its bottleneck and how to remove it. Everything is derived from the result; if the
// result does not show a cause, none is reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netsim/sim/result.h"
#include "netsim/views/link_class.h"

namespace weft::netsim {

// The bottleneck of a run, and the busiest class of links.
struct Bound {
  enum class Reason : std::uint8_t {
    links,    // the busiest link was busy most of the time
    phases,   // NVLink and the fabric in turn: together they were busy most of the time
    pauses,   // some link was paused for a large part of the run
    losses,   // timeouts
    control,  // senders slowed down by congestion control
    hosts,    // the hosts' software, which limits the rate of a connection
    latency,  // none of these: latency, and transfers that wait for each other
  };
  Reason reason = Reason::latency;
  LinkClass kind = LinkClass::nic_send;
  LinkId link = model::kNone<LinkId>;
  double utilization = 0;
  double scale_up = 0;    // utilization of the busiest NVLink, if `kind` is another class
  BitRate host_limit{0};  // per connection, if hosts are the reason
};
[[nodiscard]] Bound bound_of(const Network& network, const SimResult& result);
// Also detects host limits: transfers spent most of their time at the rate limit of a connection's software.
[[nodiscard]] Bound bound_of(const Network& network, const TransferGraph& transfers, const SimOptions& options,
                             const SimResult& result);
// "leaf uplinks at 97 %", "sending NICs at 54 %, NVLink at 40 % in turn", "latency and waiting (sending NICs at 23 %)",
// "congestion control (leaf uplinks at 40 %)", "host software at 42Gb/s a connection (sending NICs at 43 %)"
[[nodiscard]] std::string to_text(const Bound& bound);

// Connections that the hash (or static rule) assigns to each link, by LinkId. Empty if routing is per packet or there
// are more than `limit` connections.
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
