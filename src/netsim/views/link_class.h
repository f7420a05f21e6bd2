// Links classified by what they connect, so that a table can list "leaf uplinks" instead of thousands of names, and the
// utilization of each class. Recommendations are in views/diagnosis.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "netsim/sim/result.h"

namespace weft::netsim {

enum class LinkClass : std::uint8_t {
  nic_send,
  nic_receive,
  scale_up_send,
  scale_up_receive,
  leaf_up,
  spine_down,
  spine_up,
  core_down,
  lateral,  // between two switches of one tier
};

[[nodiscard]] LinkClass class_of(const Network& network, LinkId link);
[[nodiscard]] std::string_view to_text(LinkClass kind);  // "leaf uplinks"

// Bits sent over bits that could have been sent by `end`; 0 for a run of no length.
[[nodiscard]] double utilization(const Link& link, const LinkStats& stats, SimTime end);

struct ClassLoad {
  LinkClass kind = LinkClass::nic_send;
  std::uint32_t links = 0;
  std::uint32_t used = 0;       // links that carried anything
  double mean_utilization = 0;  // of those
  double max_utilization = 0;
  LinkId hottest = model::kNone<LinkId>;
  Bytes max_queue;
  SimTime paused;  // summed over the links
  std::uint64_t pauses = 0;
  std::uint64_t marked = 0;
  std::uint64_t dropped = 0;
};
// Loads of the classes that the network has, in the order of the enumeration.
[[nodiscard]] std::vector<ClassLoad> class_loads(const Network& network, const SimResult& result);

// The links of the same class that leave the same node, including `link`.
[[nodiscard]] std::vector<LinkId> siblings_of(const Network& network, LinkId link);

}  // namespace weft::netsim
