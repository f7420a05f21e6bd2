// From the numbers of a run to sentences: what bounded it and what would change that. Everything said is worked out
// from the result; where the result does not show a cause, nothing is said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/link_class.h"
#include "net/result.h"

namespace weft::net {

// The busiest class of links, and whether it was busy enough to be what the run waited for.
struct Bound {
  bool by_links = false;  // else by latency and by transfers that wait for each other
  LinkClass kind = LinkClass::nic_send;
  LinkId link = kNone<LinkId>;
  double utilisation = 0;
};
[[nodiscard]] Bound bound_of(const Network& network, const SimResult& result);
// "leaf uplinks at 97 %", "latency (NICs, sending at 23 %)"
[[nodiscard]] std::string to_text(const Bound& bound);

// Connections that the hash (or static rule) puts on each link, by LinkId. Empty where the routing decides by packet or
// where there are more than `limit` connections.
[[nodiscard]] std::vector<std::uint32_t> connections_by_link(Routes& routes, const TransferGraph& transfers,
                                                             std::uint64_t seed, std::uint64_t limit = 500'000);

struct AnswerInput {
  const Network& network;
  const TransferGraph& transfers;
  const SimOptions& options;
  const RoutingOptions& routing;
  const SimResult& result;
  std::vector<std::uint32_t> connections;  // from connections_by_link()
};
// Sentences, the most important first.
[[nodiscard]] std::vector<std::string> answers(const AnswerInput& input);

}  // namespace weft::net
