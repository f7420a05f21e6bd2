#include "net/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace weft::net {

namespace {

Error bad(std::size_t index, std::string_view what) {
  return {ErrorCode::invalid_input, fmt::format("transfer {}: {}", index, what), {}};
}

// Lists of followers by leader, from (leader, follower) pairs: counting sort, so the order of adding is kept.
template <class Pairs, class Leader, class Follower>
void group(std::size_t count, const Pairs& pairs, Leader leader, Follower follower, std::vector<std::uint32_t>& offsets,
           std::vector<TransferId>& grouped) {
  offsets.assign(count + 1, 0);
  for (const auto& pair : pairs) ++offsets[leader(pair) + 1];
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  grouped.resize(pairs.size());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (const auto& pair : pairs) grouped[next[leader(pair)]++] = follower(pair);
}

}  // namespace

TransferId TransferGraph::add(const Transfer& transfer) {
  const auto id = static_cast<TransferId>(transfers_.size());
  transfers_.push_back(transfer);
  if (transfer.round_after == kNone<TransferId>) transfers_.back().round_after = id;
  return id;
}

void TransferGraph::depend(TransferId transfer, TransferId earlier) { edges_.push_back({earlier, transfer}); }

Status TransferGraph::finish(const Network& network) {
  const std::size_t count = transfers_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Transfer& t = transfers_[i];
    for (const NodeId node : {t.source, t.destination}) {
      if (index_of(node) >= network.nodes().size() || network.node(node).kind != NodeKind::endpoint) {
        return bad(i, "its source or destination is not an endpoint of the network");
      }
    }
    if (t.source == t.destination) return bad(i, "it goes from a node to itself");
    if (t.bytes.count() <= 0) return bad(i, "it has no bytes");
    if (t.rounds == 0) return bad(i, "it has no rounds");
    if (t.queue_pairs == 0) return bad(i, "it has no queue pairs");
    if (t.start.count() < 0) return bad(i, "it starts before the run");
    if (index_of(t.round_after) >= count) return bad(i, "its rounds follow a transfer that does not exist");
    if (t.rounds > 1 && transfers_[index_of(t.round_after)].rounds < t.rounds - 1) {
      return bad(i, "its rounds follow a transfer with too few of them");
    }
  }
  for (const Edge& edge : edges_) {
    if (index_of(edge.earlier) >= count || index_of(edge.later) >= count) {
      return bad(index_of(edge.later), "it depends on a transfer that does not exist");
    }
  }
  dependency_counts_.assign(count, 0);
  for (const Edge& edge : edges_) ++dependency_counts_[index_of(edge.later)];
  group(
      count, edges_, [](const Edge& e) { return index_of(e.earlier); }, [](const Edge& e) { return e.later; },
      dependent_offsets_, dependents_);
  std::vector<Edge> rounds;
  for (std::size_t i = 0; i < count; ++i) {
    if (transfers_[i].rounds > 1) rounds.push_back({transfers_[i].round_after, static_cast<TransferId>(i)});
  }
  group(
      count, rounds, [](const Edge& e) { return index_of(e.earlier); }, [](const Edge& e) { return e.later; },
      follower_offsets_, followers_);

  // Kahn's walk. The later rounds of a transfer wait for an earlier round of another one, so its end needs that one's
  // first round: rounds add no cycle unless dependencies do, except through a leader that itself waits for the end.
  std::vector<std::uint32_t> waiting = dependency_counts_;
  std::vector<TransferId> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push_back(static_cast<TransferId>(i));
  }
  std::size_t seen = 0;
  for (; seen < ready.size(); ++seen) {
    for (const TransferId next : dependents(ready[seen])) {
      if (--waiting[index_of(next)] == 0) ready.push_back(next);
    }
  }
  if (seen < count) {
    const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](std::uint32_t n) { return n > 0; });
    return bad(static_cast<std::size_t>(stuck - waiting.begin()), "it waits for itself through its dependencies");
  }
  return {};
}

std::span<const TransferId> TransferGraph::dependents(TransferId id) const {
  const std::uint32_t first = dependent_offsets_[index_of(id)];
  return std::span(dependents_).subspan(first, dependent_offsets_[index_of(id) + 1] - first);
}

std::span<const TransferId> TransferGraph::round_followers(TransferId id) const {
  const std::uint32_t first = follower_offsets_[index_of(id)];
  return std::span(followers_).subspan(first, follower_offsets_[index_of(id) + 1] - first);
}

std::uint64_t TransferGraph::instance_count() const {
  std::uint64_t count = 0;
  for (const Transfer& t : transfers_) count += t.rounds;
  return count;
}

Bytes TransferGraph::total_bytes() const {
  constexpr auto kMost = static_cast<Uint128>(std::numeric_limits<std::int64_t>::max());
  Uint128 total = 0;
  for (const Transfer& t : transfers_) total += static_cast<Uint128>(t.bytes.count()) * t.rounds;
  return Bytes(static_cast<std::int64_t>(std::min(total, kMost)));
}

}  // namespace weft::net
