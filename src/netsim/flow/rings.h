// Uncontended rings of transfers in closed form: if every round of a member takes the same time, the rounds follow a
// max-plus recurrence, and the last one can be computed without simulating the others. A ring of 16,384 members and
// 32,766 rounds is half a billion sends; this is linear in the members.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "netsim/traffic/transfer.h"

namespace weft::netsim {

// Member i+1 may start a round when the previous round has arrived from member i (cyclic).
struct RingMember {
  SimTime first;  // when its first round starts
  SimTime send;   // time a round keeps its connection busy
  SimTime move;   // from the start of a round to its end at the receiver; at least `send`
};

// When each member starts its last of `rounds` rounds:
//   S(i, 0) = first(i),  S(i, s+1) = max(S(i-1, s) + move(i-1), S(i, s) + send(i)).
// The cost grows with members times distinct values of `send`.
[[nodiscard]] std::vector<SimTime> last_starts(std::span<const RingMember> ring, std::uint32_t rounds);

// Cycles of round_after, each in order of following (member i+1 follows member i) from its lowest id. Only those whose
// members have the same number of rounds (two or more) and one follower each.
[[nodiscard]] std::vector<std::vector<TransferId>> rings_of(const TransferGraph& transfers);

}  // namespace weft::netsim
