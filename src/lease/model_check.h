// Explicit-state model checker: explores every reachable state of a model breadth-first, and reports a state that
// violates an invariant with a shortest trace to it. It can also search for dead ends: states from which no fault-free
// sequence of steps reaches a goal. The model may run any code; the checker identifies states by their encoded bytes
// and compares them in full, so a clean result is a proof within the model's bounds.
//
// A model has
//   State                                            copyable
//   State initial()
//   void successors(const State&, emit)              emit(State next, bool fault, describe); describe() is the text of
//                                                   the step, called only for a trace. The same calls in the same
//                                                    order each time
//   void encode(const State&, std::string& bytes)    appends; equal bytes for equal states
//   std::string violation(const State&)              "" when the state is sound
//   bool goal(const State&)
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace weft::lease {

struct ModelCheckOptions {
  std::uint32_t max_states = 1'000'000;
  bool dead_ends = true;
};

struct ModelCheckResult {
  std::uint32_t states = 0;
  std::uint64_t steps = 0;
  std::uint32_t depth = 0;         // of the state furthest from the initial one
  std::uint32_t goals = 0;         // states that are goals
  bool complete = false;           // every reachable state was visited
  std::string violation;           // "" when every state is sound
  std::vector<std::string> trace;  // the steps that lead to it
  [[nodiscard]] bool clean() const { return complete && violation.empty(); }
  [[nodiscard]] std::string text() const {
    std::string out = violation;
    for (std::size_t i = 0; i < trace.size(); ++i) out += "\n  " + std::to_string(i + 1) + ". " + trace[i];
    return out;
  }
};

template <class Model>
class ModelChecker {
 public:
  explicit ModelChecker(Model& model, ModelCheckOptions options = {}) : model_(model), options_(options) {}

  ModelCheckResult run() {
    add(model_.initial(), 0, 0);
    for (std::uint32_t at = 0; at < seen_.size() && bad_ == kNone; ++at) {
      const typename Model::State state = std::move(frontier_.front());
      frontier_.pop_front();
      std::uint32_t ordinal = 0;
      model_.successors(state, [&](typename Model::State next, bool fault, const auto&) {
        if (bad_ != kNone || full_) return;
        const std::uint32_t to = add(std::move(next), at, ordinal++);
        ++result_.steps;
        if (options_.dead_ends && !fault && to != at && to != kNone) edges_.push_back({to, at});
      });
      result_.depth = seen_[at].depth;
      if (full_) break;
    }
    result_.states = static_cast<std::uint32_t>(seen_.size());
    result_.complete = !full_ && bad_ == kNone;
    if (bad_ == kNone && !full_ && options_.dead_ends) find_dead_end();
    if (bad_ != kNone) trace();
    return result_;
  }

 private:
  struct Seen {
    std::size_t begin = 0;  // of its bytes
    std::uint32_t parent = 0;
    std::uint32_t ordinal = 0;
    std::uint32_t depth = 0;
    bool goal = false;
  };
  struct Edge {
    std::uint32_t to = 0;
    std::uint32_t from = 0;
  };
  static constexpr std::uint32_t kNone = 0xffffffffU;

  [[nodiscard]] std::string_view bytes_of(std::uint32_t id) const {
    const std::size_t end = id + 1 < seen_.size() ? seen_[id + 1].begin : bytes_.size();
    return std::string_view(bytes_).substr(seen_[id].begin, end - seen_[id].begin);
  }

  void grow() {
    slots_.assign(slots_.empty() ? 1U << 12U : slots_.size() * 2, kNone);
    for (std::uint32_t id = 0; id < seen_.size(); ++id) {
      std::size_t slot = hash64(bytes_of(id)) & (slots_.size() - 1);
      while (slots_[slot] != kNone) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = id;
    }
  }

  std::uint32_t add(typename Model::State state, std::uint32_t parent, std::uint32_t ordinal) {
    if (seen_.size() * 2 >= slots_.size()) grow();
    key_.clear();
    model_.encode(state, key_);
    std::size_t slot = hash64(key_) & (slots_.size() - 1);
    for (; slots_[slot] != kNone; slot = (slot + 1) & (slots_.size() - 1)) {
      if (bytes_of(slots_[slot]) == key_) return slots_[slot];
    }
    if (seen_.size() >= options_.max_states) {
      full_ = true;
      return kNone;
    }
    const auto id = static_cast<std::uint32_t>(seen_.size());
    slots_[slot] = id;
    const std::uint32_t depth = id == 0 ? 0 : seen_[parent].depth + 1;
    seen_.push_back({bytes_.size(), parent, ordinal, depth, model_.goal(state)});
    bytes_ += key_;
    result_.goals += seen_.back().goal ? 1U : 0U;
    if (std::string why = model_.violation(state); !why.empty()) {
      bad_ = id;
      result_.violation = std::move(why);
    }
    frontier_.push_back(std::move(state));
    return id;
  }

  // Backward search from the goals over fault-free steps; the first state not reached is a dead end.
  void find_dead_end() {
    std::vector<std::uint32_t> first(seen_.size() + 1, 0);
    for (const Edge& edge : edges_) ++first[edge.to + 1];
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<std::uint32_t> sources(edges_.size());
    std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
    for (const Edge& edge : edges_) sources[fill[edge.to]++] = edge.from;
    std::vector<bool> met(seen_.size(), false);
    std::vector<std::uint32_t> todo;
    for (std::uint32_t id = 0; id < seen_.size(); ++id) {
      if (!seen_[id].goal) continue;
      met[id] = true;
      todo.push_back(id);
    }
    while (!todo.empty()) {
      const std::uint32_t at = todo.back();
      todo.pop_back();
      for (std::uint32_t i = first[at]; i < first[at + 1]; ++i) {
        if (met[sources[i]]) continue;
        met[sources[i]] = true;
        todo.push_back(sources[i]);
      }
    }
    for (std::uint32_t id = 0; id < seen_.size(); ++id) {
      if (met[id]) continue;
      bad_ = id;
      result_.violation = "a dead end: no steps without faults lead from here to a goal";
      return;
    }
  }

  void trace() {
    std::vector<std::uint32_t> ordinals;
    for (std::uint32_t id = bad_; id != 0; id = seen_[id].parent) ordinals.push_back(seen_[id].ordinal);
    typename Model::State state = model_.initial();
    for (auto step = ordinals.rbegin(); step != ordinals.rend(); ++step) {
      std::uint32_t ordinal = 0;
      typename Model::State chosen = state;
      model_.successors(state, [&](typename Model::State next, bool fault, const auto& describe) {
        if (ordinal++ != *step) return;
        chosen = std::move(next);
        result_.trace.push_back((fault ? "FAULT: " : "") + std::string(describe()));
      });
      state = std::move(chosen);
    }
  }

  Model& model_;
  ModelCheckOptions options_;
  ModelCheckResult result_;
  std::deque<typename Model::State> frontier_;
  std::vector<Seen> seen_;
  std::vector<std::uint32_t> slots_;  // open addressing, a power of two
  std::string bytes_;                 // of all states, one after the other
  std::string key_;
  std::vector<Edge> edges_;
  std::uint32_t bad_ = kNone;
  bool full_ = false;
};

template <class Model>
ModelCheckResult check_model(Model& model, ModelCheckOptions options = {}) {
  return ModelChecker<Model>(model, options).run();
}

}  // namespace weft::lease
