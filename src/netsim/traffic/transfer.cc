#include "netsim/traffic/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "netsim/traffic/transfer_cycle.h"

namespace weft::netsim {

namespace {

constexpr std::size_t kNamed = 8;  // transfers of a cycle listed in an error

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
  if (transfer.round_after == model::kNone<TransferId>) transfers_.back().round_after = id;
  return id;
}

void TransferGraph::depend(TransferId transfer, TransferId earlier) { edges_.push_back({earlier, transfer}); }

Status TransferGraph::check_fields(const Network& network) const {
  const std::size_t count = transfers_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Transfer& t = transfers_[i];
    for (const NodeId node : {t.source, t.destination}) {
      if (model::index_of(node) >= network.nodes().size() || network.node(node).kind != NodeKind::endpoint) {
        return bad(i, "its source or destination is not an endpoint of the network");
      }
    }
    if (t.source == t.destination) return bad(i, "its source is its destination");
    if (t.bytes.count() <= 0) return bad(i, "its size is 0 bytes");
    if (t.rounds == 0) return bad(i, "it has no rounds");
    if (t.queue_pairs == 0) return bad(i, "it has no queue pairs");
    if (t.start.count() < 0) return bad(i, "it starts before the run");
    if (model::index_of(t.round_after) >= count) return bad(i, "its rounds follow a transfer that does not exist");
    if (t.rounds > 1 && transfers_[model::index_of(t.round_after)].rounds < t.rounds - 1) {
      return bad(i, "its rounds follow a transfer with too few of them");
    }
  }
  for (const Edge& edge : edges_) {
    if (model::index_of(edge.earlier) >= count || model::index_of(edge.later) >= count) {
      return bad(model::index_of(edge.later), "it depends on a transfer that does not exist");
    }
  }
  return {};
}

void TransferGraph::group_edges() {
  const std::size_t count = transfers_.size();
  dependency_counts_.assign(count, 0);
  for (const Edge& edge : edges_) ++dependency_counts_[model::index_of(edge.later)];
  group(
      count, edges_, [](const Edge& e) { return model::index_of(e.earlier); }, [](const Edge& e) { return e.later; },
      dependent_offsets_, dependents_);
  std::vector<Edge> rounds;
  for (std::size_t i = 0; i < count; ++i) {
    if (transfers_[i].rounds > 1) rounds.push_back({transfers_[i].round_after, static_cast<TransferId>(i)});
  }
  group(
      count, rounds, [](const Edge& e) { return model::index_of(e.earlier); }, [](const Edge& e) { return e.later; },
      follower_offsets_, followers_);
}

// Without rounds that follow others, Kahn's algorithm is enough.
Status TransferGraph::check_cycles() const {
  std::vector<std::uint32_t> waiting = dependency_counts_;
  std::vector<TransferId> ready;
  bool follow = false;
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    if (waiting[i] == 0) ready.push_back(static_cast<TransferId>(i));
    follow = follow || (transfers_[i].rounds > 1 && model::index_of(transfers_[i].round_after) != i);
  }
  for (std::size_t seen = 0; seen < ready.size(); ++seen) {
    for (const TransferId next : dependents(ready[seen])) {
      if (--waiting[model::index_of(next)] == 0) ready.push_back(next);
    }
  }
  if (ready.size() == transfers_.size() && (!follow || edges_.empty())) return {};
  const std::vector<CycleStep> cycle = find_cycle(*this);
  if (cycle.empty()) return {};
  std::string text = "dependency cycle: it";
  for (std::size_t i = 0; i < std::min(cycle.size(), kNamed); ++i) {
    text += fmt::format("{} {} transfer {}", i == 0 ? "" : ", which",
                        cycle[i].by_rounds ? "has rounds that follow" : "depends on",
                        model::index_of(cycle[(i + 1) % cycle.size()].transfer));
  }
  if (cycle.size() > kNamed) text += fmt::format(", and so on: {} transfers in all", cycle.size());
  return bad(model::index_of(cycle.front().transfer), text);
}

Status TransferGraph::finish(const Network& network) {
  if (Status status = check_fields(network); !status) return status;
  group_edges();
  return check_cycles();
}

std::span<const TransferId> TransferGraph::dependents(TransferId id) const {
  const std::uint32_t first = dependent_offsets_[model::index_of(id)];
  return std::span(dependents_).subspan(first, dependent_offsets_[model::index_of(id) + 1] - first);
}

std::span<const TransferId> TransferGraph::round_followers(TransferId id) const {
  const std::uint32_t first = follower_offsets_[model::index_of(id)];
  return std::span(followers_).subspan(first, follower_offsets_[model::index_of(id) + 1] - first);
}

std::uint64_t TransferGraph::instance_count() const {
  std::uint64_t count = 0;
  for (const Transfer& t : transfers_) count += t.rounds;
  return count;
}

Bytes TransferGraph::total_bytes() const {
  constexpr auto kMax = static_cast<Uint128>(std::numeric_limits<std::int64_t>::max());
  Uint128 total = 0;
  for (const Transfer& t : transfers_) total += static_cast<Uint128>(t.bytes.count()) * t.rounds;
  return Bytes(static_cast<std::int64_t>(std::min(total, kMax)));
}

}  // namespace weft::netsim
