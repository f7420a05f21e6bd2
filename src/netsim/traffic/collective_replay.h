// For tests of collectives: creates one over a star of hosts, and replays its transfers with random durations while
// tracking what every rank holds, as sets of contributions. A transfer reads its sender's buffer when it starts and
// writes when it ends, so a missing dependency shows up as missing data.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "netsim/network/topologies.h"
#include "netsim/traffic/collective.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim::fixtures {

using Mask = std::uint64_t;  // bit r: the contribution of rank r

struct Cargo {
  std::vector<std::uint32_t> units;  // parts of the buffer
  bool adds = false;                 // reduced into the existing data; else replaces it
};

class Replay {
 public:
  // What round `round` of a transfer carries.
  using Carries = std::function<Cargo(TransferId, std::uint32_t round)>;

  // `graph` is finished, and node ids are ranks.
  Replay(const TransferGraph& graph, std::size_t ranks, std::size_t units)
      : graph_(graph), held_(ranks, std::vector<Mask>(units, 0)) {}

  std::vector<std::vector<Mask>>& held() { return held_; }

  // Replays the graph. Returns the end of the last transfer; every duration is 1 if `seed` is 0, else random from 1 to
  // 100.
  std::uint64_t run(const Carries& carries, std::uint64_t seed) {
    const std::size_t count = graph_.size();
    waiting_.resize(count);
    allowed_.assign(count, 1);  // rounds that may have started according to the transfer they follow
    for (std::size_t i = 0; i < count; ++i) waiting_[i] = graph_.dependency_count(static_cast<TransferId>(i));
    sent_.assign(count, 0);
    busy_.assign(count, 0);
    random_ = RandomStream(seed, "replay");
    unit_durations_ = seed == 0;
    carries_ = &carries;
    for (std::size_t i = 0; i < count; ++i) try_start(static_cast<TransferId>(i), 0);
    std::uint64_t now = 0;
    while (!running_.empty()) {
      const Running done = running_.top();
      running_.pop();
      now = done.end;
      deliver(done);
    }
    finished_ = 0;
    for (std::size_t i = 0; i < count; ++i) finished_ += sent_[i] == graph_.transfers()[i].rounds ? 1U : 0U;
    return now;
  }
  [[nodiscard]] bool all_ended() const { return finished_ == graph_.size(); }

 private:
  struct Running {
    std::uint64_t end;
    TransferId id;
    std::uint32_t round;
    Cargo cargo;
    std::vector<Mask> data;
    bool operator>(const Running& other) const { return std::tie(end, id) > std::tie(other.end, other.id); }
  };

  void try_start(TransferId id, std::uint64_t now) {
    const std::size_t i = model::index_of(id);
    const Transfer& t = graph_[id];
    if (waiting_[i] > 0 || busy_[i] != 0 || sent_[i] >= t.rounds || sent_[i] >= allowed_[i]) return;
    busy_[i] = 1;
    Running next{now + (unit_durations_ ? 1 : 1 + random_.below(100)), id, sent_[i], (*carries_)(id, sent_[i]), {}};
    for (const std::uint32_t unit : next.cargo.units) next.data.push_back(held_[model::index_of(t.source)][unit]);
    running_.push(std::move(next));
  }

  void deliver(const Running& done) {
    const Transfer& t = graph_[done.id];
    for (std::size_t u = 0; u < done.data.size(); ++u) {
      Mask& there = held_[model::index_of(t.destination)][done.cargo.units[u]];
      there = done.cargo.adds ? there | done.data[u] : done.data[u];
    }
    const std::size_t i = model::index_of(done.id);
    busy_[i] = 0;
    ++sent_[i];
    try_start(done.id, done.end);
    for (const TransferId next : graph_.round_followers(done.id)) {
      allowed_[model::index_of(next)] = std::max(allowed_[model::index_of(next)], done.round + 2);
      try_start(next, done.end);
    }
    if (sent_[i] < t.rounds) return;
    for (const TransferId next : graph_.dependents(done.id)) {
      --waiting_[model::index_of(next)];
      try_start(next, done.end);
    }
  }

  const TransferGraph& graph_;
  std::vector<std::vector<Mask>> held_;  // by rank, then unit
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> allowed_;
  std::vector<std::uint32_t> sent_;
  std::vector<char> busy_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  RandomStream random_{0};
  bool unit_durations_ = false;
  const Carries* carries_ = nullptr;
  std::size_t finished_ = 0;
};

inline Network hosts(std::uint32_t count) { return star(count, gigabits(400), microseconds(1), {}); }

struct Made {
  Network network;
  TransferGraph graph;
  std::vector<TransferId> ends;
};

inline Made make(std::uint32_t ranks, const CollectiveShape& shape) {
  Made made{hosts(ranks), {}, {}};
  made.ends = add_collective(made.graph, made.network.endpoints(), shape);
  EXPECT_TRUE(made.graph.finish(made.network).ok());
  EXPECT_EQ(made.graph.size(), transfer_count(shape, ranks));
  return made;
}

inline CollectiveShape shape_of(Collective operation, Algorithm algorithm = Algorithm::ring) {
  CollectiveShape shape;
  shape.operation = operation;
  shape.algorithm = algorithm;
  return shape;
}

}  // namespace weft::netsim::fixtures
