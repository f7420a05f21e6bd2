#include "netsim/traffic/transfer_cycle.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace weft::netsim {

namespace {

// Kahn's algorithm with rounds. Round r of a transfer needs round r-1 of its leader, which needs round r-2 of the
// leader's leader, and so on: a transfer of R rounds can end when it and the next R-1 on its chain of leaders may
// begin. Each one that may begin therefore searches for the first on its chain that may not, in a forest in which the
// others point to their leader, with path compression (union-find).
class Walk {
 public:
  explicit Walk(const TransferGraph& graph)
      : graph_(graph),
        waiting_(graph.size()),
        way_(graph.size()),
        endless_(graph.size(), false),
        ended_(graph.size(), false),
        lists_(graph.size()) {
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      waiting_[i] = graph.dependency_count(static_cast<TransferId>(i));
      way_[i] = {i, 0};
      if (waiting_[i] == 0) ready_.push_back(i);
    }
  }

  std::vector<CycleStep> run() {
    while (!ready_.empty()) {
      const std::uint32_t next = ready_.back();
      ready_.pop_back();
      begin(next);
    }
    return ended_count_ == graph_.size() ? std::vector<CycleStep>() : cycle();
  }

 private:
  struct Way {
    std::uint32_t to;       // itself: it may not begin yet, or its chain is a cycle
    std::int64_t distance;  // in leaders
  };
  // Transfers that wait for one on their chain to begin. `reach` grows with the distance to that one; an entry can end
  // when it has grown by its rounds since the entry was added.
  struct List {
    std::int64_t reach = 0;
    std::vector<std::pair<std::int64_t, std::uint32_t>> heap;  // (reach at which it can end, transfer)
  };

  [[nodiscard]] const Transfer& at(std::uint32_t i) const { return graph_.transfers()[i]; }

  Way find(std::uint32_t from) {
    std::uint32_t root = from;
    while (way_[root].to != root) root = way_[root].to;
    // From the root backwards, so that each adds the rest of its path.
    path_.clear();
    for (std::uint32_t i = from; i != root; i = way_[i].to) path_.push_back(i);
    std::int64_t distance = 0;
    for (auto it = path_.rbegin(); it != path_.rend(); ++it) {
      distance += way_[*it].distance;
      way_[*it] = {root, distance};
    }
    return {root, distance};
  }

  void begin(std::uint32_t i) {
    const std::uint32_t leader = model::index_of(at(i).round_after);
    if (find(leader).to == i) {
      endless_[i] = true;
    } else {
      way_[i] = {leader, 1};
    }
    push(lists_[i], lists_[i].reach + at(i).rounds, i);
    const Way free = find(i);
    List own = std::move(lists_[i]);
    lists_[i] = {};
    own.reach += free.distance;
    if (endless_[free.to]) {
      for (const auto& [reach, transfer] : own.heap) end(transfer);
      return;
    }
    List& list = lists_[free.to];
    if (list.heap.size() < own.heap.size()) std::swap(list, own);
    for (const auto& [reach, transfer] : own.heap) push(list, reach - own.reach + list.reach, transfer);
    while (!list.heap.empty() && list.heap.front().first <= list.reach) {
      const std::uint32_t done = list.heap.front().second;
      std::pop_heap(list.heap.begin(), list.heap.end(), std::greater<>());
      list.heap.pop_back();
      end(done);
    }
  }

  static void push(List& list, std::int64_t reach, std::uint32_t transfer) {
    list.heap.emplace_back(reach, transfer);
    std::push_heap(list.heap.begin(), list.heap.end(), std::greater<>());
  }

  void end(std::uint32_t i) {
    ended_[i] = true;
    ++ended_count_;
    for (const TransferId next : graph_.dependents(static_cast<TransferId>(i))) {
      if (--waiting_[model::index_of(next)] == 0) ready_.push_back(model::index_of(next));
    }
  }

  // Every transfer that has not ended waits for another such transfer: following these leads to a cycle.
  std::vector<CycleStep> cycle() {
    constexpr std::uint32_t kNobody = 0xFFFFFFFFU;
    std::vector<std::uint32_t> blocker(graph_.size(), kNobody);
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      if (ended_[i]) continue;
      if (waiting_[i] == 0) blocker[i] = find(i).to;
      for (const TransferId next : graph_.dependents(static_cast<TransferId>(i))) {
        if (blocker[model::index_of(next)] == kNobody) blocker[model::index_of(next)] = i;
      }
    }
    std::vector<bool> seen(graph_.size(), false);
    auto at_hand = static_cast<std::uint32_t>(std::find(ended_.begin(), ended_.end(), false) - ended_.begin());
    for (; !seen[at_hand]; at_hand = blocker[at_hand]) seen[at_hand] = true;
    std::vector<CycleStep> steps;
    for (std::uint32_t i = at_hand; steps.empty() || i != at_hand; i = blocker[i]) {
      steps.push_back({static_cast<TransferId>(i), waiting_[i] == 0});
    }
    const auto lowest = std::min_element(
        steps.begin(), steps.end(), [](const CycleStep& a, const CycleStep& b) { return a.transfer < b.transfer; });
    std::rotate(steps.begin(), lowest, steps.end());
    return steps;
  }

  const TransferGraph& graph_;
  std::vector<std::uint32_t> waiting_;  // dependencies that have not ended; at 0 it may begin
  std::vector<Way> way_;
  std::vector<bool> endless_;
  std::vector<bool> ended_;
  std::vector<List> lists_;
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> path_;
  std::size_t ended_count_ = 0;
};

}  // namespace

std::vector<CycleStep> find_cycle(const TransferGraph& graph) { return Walk(graph).run(); }

}  // namespace weft::netsim
