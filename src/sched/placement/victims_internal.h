// State of the search for preemption victims: the machine with some items removed, as counts. Internal to victims.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "sched/placement/victims.h"

namespace weft::sched::victims {

inline constexpr std::size_t kMaxListed = 8;  // locals per node up to which all subsets are enumerated (256)

struct VictimSlot {
  std::uint32_t node = 0;  // index into PreemptionProblem::nodes
  std::uint32_t local = 0;
};

// The constant data of a search, and a cache of counts.
class Board {
 public:
  explicit Board(const PreemptionProblem& problem) : problem_(problem) {
    const Machine& machine = *problem.machine;
    const Gang& gang = problem.gang;
    places_.resize(problem.items.size());
    first_known_.resize(problem.nodes.size(), SIZE_MAX);
    std::size_t subsets = 0;
    for (std::uint32_t n = 0; n < problem.nodes.size(); ++n) {
      const std::vector<PreemptionProblem::Local>& locals = problem.nodes[n].locals;
      CHECK(locals.size() <= PreemptionProblem::kMaxLocals, "a node's locals fit in a mask");
      if (locals.size() <= kMaxListed) {
        first_known_[n] = subsets;
        subsets += std::size_t{1} << locals.size();
      }
      for (std::uint32_t l = 0; l < locals.size(); ++l) {
        if (locals[l].whole >= 0) places_[static_cast<std::size_t>(locals[l].whole)].push_back({n, l});
        if (locals[l].unit >= 0) places_[static_cast<std::size_t>(locals[l].unit)].push_back({n, l});
      }
    }
    known_.assign(subsets, -1);
    const auto nodes = static_cast<std::uint32_t>(machine.nodes().size());
    const auto domain = [&](Level level, std::uint32_t node) {
      return level == Level::node ? node : machine.domain_of(level, static_cast<NodeId>(node));
    };
    for (std::uint32_t node = 0; node < nodes; ++node) {
      domain_of_.push_back(domain(gang.required, node));
      if (gang.segment > 0) piece_of_.push_back(domain(gang.segment_level, node));
    }
    domains_ = nodes == 0 ? 0 : *std::max_element(domain_of_.begin(), domain_of_.end()) + 1;
    pieces_ = piece_of_.empty() ? 0 : *std::max_element(piece_of_.begin(), piece_of_.end()) + 1;
  }

  [[nodiscard]] const PreemptionProblem& problem() const { return problem_; }
  [[nodiscard]] const std::vector<VictimSlot>& places(std::uint32_t item) const { return places_[item]; }
  [[nodiscard]] std::uint32_t domain_of(std::uint32_t node) const { return domain_of_[node]; }
  [[nodiscard]] std::uint32_t piece_of(std::uint32_t node) const { return piece_of_[node]; }
  [[nodiscard]] std::uint32_t domains() const { return domains_; }
  [[nodiscard]] std::uint32_t pieces() const { return pieces_; }
  [[nodiscard]] bool segmented() const { return problem_.gang.segment > 0; }
  // The target of a domain: tasks, or segments.
  [[nodiscard]] std::int64_t target() const {
    return segmented() ? problem_.gang.tasks / problem_.gang.segment : problem_.gang.tasks;
  }
  std::int32_t count(std::uint32_t index, std::uint64_t mask) {
    if (first_known_[index] == SIZE_MAX) return problem_.count(index, mask);
    std::int32_t& known = known_[first_known_[index] + mask];
    if (known < 0) known = problem_.count(index, mask);
    return known;
  }

 private:
  const PreemptionProblem& problem_;
  std::vector<std::vector<VictimSlot>> places_;  // by item
  std::vector<std::uint32_t> domain_of_;         // of the required level, by node
  std::vector<std::uint32_t> piece_of_;          // of the segment level
  std::vector<std::int32_t> known_;              // counts by subset, of one node after another; -1: not computed
  std::vector<std::size_t> first_known_;         // by node; SIZE_MAX: too many subsets
  std::uint32_t domains_ = 0;
  std::uint32_t pieces_ = 0;
};

// The machine with some items evicted.
class Room {
 public:
  explicit Room(Board& board) : board_(&board) {
    const PreemptionProblem& problem = board.problem();
    gone_.assign(problem.items.size(), 0);
    in_pool_.assign(problem.pools.size(), 0);
    value_.assign(board.domains(), 0);
    if (board.segmented()) piece_.assign(board.pieces(), 0);
    for (std::uint32_t node = 0; node < problem.fit.size(); ++node) change(node, problem.fit[node]);
    for (const PreemptionProblem::Node& node : problem.nodes) {
      masks_.push_back(0);
      counts_.push_back(problem.fit[node.node]);
    }
  }

  [[nodiscard]] bool gone(std::uint32_t item) const { return gone_[item] != 0; }
  [[nodiscard]] const Loss& loss() const { return loss_; }
  [[nodiscard]] std::int32_t count(std::uint32_t index) const { return counts_[index]; }
  [[nodiscard]] std::uint64_t mask(std::uint32_t index) const { return masks_[index]; }
  [[nodiscard]] std::int64_t value(std::uint32_t domain) const { return value_[domain]; }
  [[nodiscard]] std::int64_t tasks_in_piece(std::uint32_t piece) const { return piece_[piece]; }
  [[nodiscard]] bool fits(std::uint32_t domain) const { return value_[domain] >= board_->target(); }
  [[nodiscard]] bool fits_somewhere() const { return fitting_ > 0; }
  // Whether one more item of its pool may be evicted.
  [[nodiscard]] bool may_go(std::uint32_t item) const {
    const std::int32_t pool = board_->problem().items[item].pool;
    return pool < 0 ||
           in_pool_[static_cast<std::size_t>(pool)] < board_->problem().pools[static_cast<std::size_t>(pool)];
  }

  void set(std::uint32_t item, bool gone) {
    if ((gone_[item] != 0) == gone) return;
    gone_[item] = gone ? 1 : 0;
    const PreemptionProblem::Item& what = board_->problem().items[item];
    if (what.pool >= 0) in_pool_[static_cast<std::size_t>(what.pool)] += gone ? 1 : -1;
    if (gone) {
      loss_ += what.loss;
    } else {
      loss_ -= what.loss;
    }
    for (const VictimSlot& place : board_->places(item)) refresh(place);
  }

  [[nodiscard]] std::vector<std::uint32_t> chosen() const {
    std::vector<std::uint32_t> items;
    for (std::uint32_t item = 0; item < gone_.size(); ++item) {
      if (gone_[item] != 0) items.push_back(item);
    }
    return items;
  }
  [[nodiscard]] bool admitted() const { return !board_->problem().admits || board_->problem().admits(chosen()); }

 private:
  void refresh(const VictimSlot& place) {
    const PreemptionProblem::Node& node = board_->problem().nodes[place.node];
    const PreemptionProblem::Local& local = node.locals[place.local];
    const bool is_gone = (local.whole >= 0 && gone_[static_cast<std::size_t>(local.whole)] != 0) ||
                         (local.unit >= 0 && gone_[static_cast<std::size_t>(local.unit)] != 0);
    const std::uint64_t bit = std::uint64_t{1} << place.local;
    const std::uint64_t mask = is_gone ? masks_[place.node] | bit : masks_[place.node] & ~bit;
    if (mask == masks_[place.node]) return;
    masks_[place.node] = mask;
    const std::int32_t count = board_->count(place.node, mask);
    if (count == counts_[place.node]) return;
    change(node.node, count - counts_[place.node]);
    counts_[place.node] = count;
  }

  void change(std::uint32_t node, std::int64_t by) {
    const std::uint32_t domain = board_->domain_of(node);
    const bool before = fits(domain);
    if (board_->segmented()) {
      std::int64_t& piece = piece_[board_->piece_of(node)];
      const std::int64_t segment = board_->problem().gang.segment;
      value_[domain] += (piece + by) / segment - piece / segment;
      piece += by;
    } else {
      value_[domain] += by;
    }
    fitting_ += (fits(domain) ? 1 : 0) - (before ? 1 : 0);
  }

  Board* board_;
  std::vector<char> gone_;
  std::vector<std::int32_t> in_pool_;
  std::vector<std::uint64_t> masks_;  // by index of PreemptionProblem::nodes
  std::vector<std::int32_t> counts_;
  std::vector<std::int64_t> value_;  // by domain
  std::vector<std::int64_t> piece_;  // tasks, by domain of the segment level
  Loss loss_;
  std::int32_t fitting_ = 0;
};

}  // namespace weft::sched::victims
