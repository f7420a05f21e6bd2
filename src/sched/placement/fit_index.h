// Index of how many tasks of a given request fit on each node and in each domain, updated from the State's change log:
// the cost of an update is proportional to the number of changes, not to the size of the machine. One FitClass per
// distinct request; those not used recently are dropped.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sched/placement/state.h"

namespace weft::sched {

// Cost of placing a task on a node, lower first. Depends only on the node and the request, so it can be cached.
class NodeScorer {
 public:
  virtual ~NodeScorer() = default;
  [[nodiscard]] virtual std::uint32_t cost(const Request& request, const NodeShape& shape,
                                           const NodeFree& free) const = 0;
};

// Fills up nodes: the least GPU, then CPU, left over after the task.
class BestFitScorer : public NodeScorer {
 public:
  [[nodiscard]] std::uint32_t cost(const Request& request, const NodeShape& shape, const NodeFree& free) const override;
};

struct FitClass {
  Request request;
  std::vector<std::uint16_t> fit;           // tasks, by node
  std::vector<std::uint32_t> cost;          // by node; meaningful if fit is not 0
  std::vector<std::int64_t> sums[kLevels];  // tasks, by domain of each level above node
  std::uint16_t most = 0;                   // the maximum over all nodes when empty
  std::uint64_t position = 0;               // in the State's log
};

class FitIndex {
 public:
  FitIndex() = default;
  explicit FitIndex(std::shared_ptr<const NodeScorer> scorer) : scorer_(std::move(scorer)) {}
  // A copy starts empty: it is made for a what-if that queries only one or two requests.
  FitIndex(const FitIndex& other) : scorer_(other.scorer_) {}
  FitIndex& operator=(const FitIndex& other);
  FitIndex(FitIndex&&) = default;
  FitIndex& operator=(FitIndex&&) = default;
  ~FitIndex() = default;

  // The class of a request, brought up to date. The reference is valid until the next call.
  const FitClass& of(const Request& request, const State& state);

 private:
  static constexpr std::size_t kMaxClasses = 512;
  struct Entry {
    std::unique_ptr<FitClass> fits;
    std::list<Request>::iterator use;
  };
  void fill(FitClass& fits, const State& state) const;
  void catch_up(FitClass& fits, const State& state) const;
  void look_at(FitClass& fits, const State& state, NodeId node) const;

  std::shared_ptr<const NodeScorer> scorer_ = std::make_shared<BestFitScorer>();
  std::map<Request, Entry> classes_;
  std::list<Request> uses_;  // latest first
};

}  // namespace weft::sched
