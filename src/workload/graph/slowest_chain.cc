#include <algorithm>
#include <numeric>

#include "workload/graph/graph_run.h"
#include "workload/graph/op_cycle.h"

namespace weft::workload {
namespace {

std::uint32_t index(OpId id) { return static_cast<std::uint32_t>(id); }

// Possible causes of each operation's start time, in flat arrays.
class Causes {
 public:
  Causes(const OpGraph& graph, const Execution& execution) : graph_(graph), execution_(execution) {
    index_dependencies();
    index_streams();
    index_matches();
  }

  // An operation that ended when `op` began (a receive: when it ended) and was not visited before; kNoOp if there is
  // none. Of several, the one that began first, which keeps the chain short.
  OpId before(OpId op, const std::vector<bool>& met) const {
    const Op& what = graph_[op];
    OpId best = kNoOp;
    const auto consider = [&](OpId other, SimTime at) {
      if (other == kNoOp || met[index(other)] || execution_.ended[index(other)] != at) return;
      const auto began = [&](OpId id) { return std::pair(execution_.started[index(id)], id); };
      if (best == kNoOp || began(other) < began(best)) best = other;
    };
    if (what.match != 0 && what.kind == OpKind::receive) {
      for (const OpId other : matched(op)) {
        if (graph_[other].kind == OpKind::send) consider(other, execution_.ended[index(op)]);
      }
      if (best != kNoOp) return best;
    }
    const bool joint = what.match != 0 && what.kind == OpKind::collective;
    const OpId alone[] = {op};
    for (const OpId member : joint ? matched(op) : std::span<const OpId>(alone)) {
      const SimTime start = execution_.started[index(member)];
      for (const OpId earlier : dependencies(member)) consider(earlier, start);
      consider(stream_before_[index(member)], start);
    }
    return best;
  }

 private:
  [[nodiscard]] std::span<const OpId> dependencies(OpId op) const {
    return {dependencies_.data() + offsets_[index(op)], offsets_[index(op) + 1] - offsets_[index(op)]};
  }
  [[nodiscard]] std::span<const OpId> matched(OpId op) const {
    const auto less = [&](OpId a, std::uint32_t match) { return graph_[a].match < match; };
    const auto greater = [&](std::uint32_t match, OpId a) { return match < graph_[a].match; };
    const std::uint32_t match = graph_[op].match;
    const auto first = std::lower_bound(matched_.begin(), matched_.end(), match, less);
    const auto last = std::upper_bound(first, matched_.end(), match, greater);
    return {first, last};
  }

  void index_dependencies() {
    const std::size_t size = graph_.size();
    offsets_.assign(size + 1, 0);
    for (std::uint32_t i = 0; i < size; ++i) offsets_[i + 1] = offsets_[i] + graph_.dependency_count(OpId{i});
    dependencies_.resize(offsets_[size]);
    std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
    for (std::uint32_t i = 0; i < size; ++i) {
      for (const OpId later : graph_.dependents(OpId{i})) dependencies_[next[index(later)]++] = OpId{i};
    }
  }

  void index_streams() {
    std::vector<OpId> order(graph_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = OpId{i};
    const auto stream = [&](OpId op) { return std::pair(graph_.class_of(op), graph_[op].stream); };
    std::sort(order.begin(), order.end(), [&](OpId a, OpId b) {
      if (stream(a) != stream(b)) return stream(a) < stream(b);
      const auto time = [&](OpId op) {
        return std::tuple(execution_.started[index(op)], execution_.ended[index(op)], op);
      };
      return time(a) < time(b);
    });
    stream_before_.assign(graph_.size(), kNoOp);
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (stream(order[i]) == stream(order[i - 1])) stream_before_[index(order[i])] = order[i - 1];
    }
  }

  void index_matches() {
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      if (graph_[OpId{i}].match != 0) matched_.push_back(OpId{i});
    }
    std::stable_sort(matched_.begin(), matched_.end(),
                     [&](OpId a, OpId b) { return graph_[a].match < graph_[b].match; });
  }

  const OpGraph& graph_;
  const Execution& execution_;
  std::vector<std::uint32_t> offsets_;
  std::vector<OpId> dependencies_;
  std::vector<OpId> stream_before_;
  std::vector<OpId> matched_;
};

}  // namespace

std::vector<OpId> slowest_chain(const OpGraph& graph, const Execution& execution) {
  std::vector<OpId> chain;
  if (graph.size() == 0) return chain;
  const Causes causes(graph, execution);
  const auto last = std::max_element(execution.ended.begin(), execution.ended.end());
  auto at = static_cast<OpId>(last - execution.ended.begin());
  std::vector<bool> met(graph.size(), false);
  while (at != kNoOp) {
    met[index(at)] = true;
    chain.push_back(at);
    at = execution.ended[index(at)] == SimTime(0) ? kNoOp : causes.before(at, met);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace weft::workload
