// A graph of transfers: the common input of all three engines. A transfer may repeat in rounds, so a ring all-reduce
// over N ranks is N transfers of 2(N-1) rounds and not 2N(N-1) transfers. Flat arrays, no strings: a million transfers
// is a normal input. Independent of the job or pattern behind them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "netsim/network/network.h"

namespace weft::netsim {

enum class TransferId : std::uint32_t {};

// Index into SimOptions::classes.
using ClassIndex = std::uint8_t;

struct Transfer {
  NodeId source = model::kNone<NodeId>;
  NodeId destination = model::kNone<NodeId>;
  Bytes bytes;               // of each round; payload
  SimTime start;             // not before; of the first round
  std::uint32_t rounds = 1;  // how many times it is sent
  // Its round s+1 may start when round s of this transfer (often a neighbor's, or itself) has ended. Rounds of one
  // transfer use one connection in order: a round that may start while the previous one is still being sent waits for
  // it.
  TransferId round_after = model::kNone<TransferId>;
  ClassIndex traffic_class = 0;
  std::uint8_t queue_pairs = 1;  // the bytes are split evenly over this many connections, each with its own hash
  std::uint16_t tag = 0;         // set by the generator: job or pattern it belongs to, for tables
};

class TransferGraph {
 public:
  // `round_after` kNone means the transfer itself; it is ignored for one round. Ids are assigned in order of adding.
  TransferId add(const Transfer& transfer);
  // The first round of `transfer` starts after the last round of `earlier` has ended (and after all other
  // dependencies).
  void depend(TransferId transfer, TransferId earlier);
  // Call after adding all transfers, before reading dependents(). Returns an error for transfers that wait for each
  // other in a cycle, by dependencies or rounds, for an id out of range, a transfer from a node to itself, no bytes or
  // no rounds; node ids must be endpoints of `network`.
  [[nodiscard]] Status finish(const Network& network);

  [[nodiscard]] std::size_t size() const { return transfers_.size(); }
  [[nodiscard]] std::span<const Transfer> transfers() const { return transfers_; }
  [[nodiscard]] const Transfer& operator[](TransferId id) const { return transfers_[model::index_of(id)]; }
  Transfer& edit(TransferId id) { return transfers_[model::index_of(id)]; }
  // Transfers whose first round waits for the last round of `id`.
  [[nodiscard]] std::span<const TransferId> dependents(TransferId id) const;
  [[nodiscard]] std::uint32_t dependency_count(TransferId id) const { return dependency_counts_[model::index_of(id)]; }
  // Transfers whose next round waits for a round of `id` (id itself if it repeats by itself).
  [[nodiscard]] std::span<const TransferId> round_followers(TransferId id) const;
  // Sum over transfers of rounds, and of bytes times rounds; saturating.
  [[nodiscard]] std::uint64_t instance_count() const;
  [[nodiscard]] Bytes total_bytes() const;

 private:
  struct Edge {
    TransferId earlier;
    TransferId later;
  };
  [[nodiscard]] Status check_fields(const Network& network) const;
  [[nodiscard]] Status check_cycles() const;
  void group_edges();

  std::vector<Transfer> transfers_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> dependency_counts_;
  std::vector<std::uint32_t> dependent_offsets_;
  std::vector<TransferId> dependents_;
  std::vector<std::uint32_t> follower_offsets_;
  std::vector<TransferId> followers_;
};

}  // namespace weft::netsim
