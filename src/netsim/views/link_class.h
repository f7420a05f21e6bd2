// Links by what they join, so that a table can say "leaf uplinks" where it would otherwise list thousands of names, and
// how busy each class was. What to do about it is views/diagnosis.h's.
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
  std::uint32_t used = 0;       // that carried anything
  double mean_utilization = 0;  // of those
  double max_utilization = 0;
  LinkId hottest = model::kNone<LinkId>;
  Bytes max_queue;
  SimTime paused;  // summed over the links
  std::uint64_t pauses = 0;
  std::uint64_t marked = 0;
  std::uint64_t dropped = 0;
};
// Of the classes that the network has, in the order of the enumeration.
[[nodiscard]] std::vector<ClassLoad> class_loads(const Network& network, const SimResult& result);

// The links that leave the same node and are of the same class, `link` among them.
[[nodiscard]] std::vector<LinkId> siblings_of(const Network& network, LinkId link);

}  // namespace weft::netsim
