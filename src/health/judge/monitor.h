// The monitor: signals of all nodes in, incidents and the health of each node out. It has no clock and no threads:
// every call says when. Silence never makes a node healthy, and a signal from before a repair says nothing about after
// it. It proposes actions and executes none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "health/judge/incident.h"
#include "health/judge/watch.h"

namespace weft::health {

using WatchedSeries = std::uint32_t;
inline constexpr WatchedSeries kNotWatched = 0xFFFFFFFF;  // no rule looks at it

// What makes earlier events of a node a matter of the past.
enum class Repair : std::uint8_t {
  boot,
  gpu_reset,  // of one part
  validated,  // active checks have passed
  person      // an operator says so: ends everything
};

class Monitor {
 public:
  Monitor(std::shared_ptr<const Rules> rules, std::vector<std::string> nodes);

  // A signal of this node, observed at signal.at, or now if it has no time.
  void note(NodeIndex node, const Signal& signal, sched::Moment now);
  // A measurement that comes again and again. kNotWatched: no rule looks at it.
  [[nodiscard]] WatchedSeries add_series(NodeIndex node, std::string_view signal, std::string_view part);
  void sample(WatchedSeries series, double value, sched::Moment at);
  // This source should report from now on, and is unknown until it does.
  void expect(NodeIndex node, SignalSource source);
  // The source reported, whether or not there was anything to say. From then on it is expected. A signal alone does not
  // make its source an expected one: a log may have nothing to say for weeks.
  void heard(NodeIndex node, SignalSource source, sched::Moment at);
  // `part`: of a GPU reset; "" otherwise.
  void repaired(NodeIndex node, Repair repair, std::string_view part, sched::Moment at);
  // Time has passed: bursts end, events expire, sources become stale.
  void advance(sched::Moment now);

  [[nodiscard]] const Rules& rules() const { return *rules_; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] const std::string& name(NodeIndex node) const { return nodes_[node].name; }
  [[nodiscard]] const NodeHealth& health(NodeIndex node) const { return nodes_[node].health; }
  // The open incident of a node; null: none.
  [[nodiscard]] const Incident* open_incident(NodeIndex node) const;
  // Incidents that are closed, oldest first, and how many were forgotten before them.
  [[nodiscard]] const std::deque<Incident>& closed() const { return closed_; }
  // Signals that matched a rule of severity `info`, which open no incident.
  [[nodiscard]] std::uint64_t info_count() const { return infos_; }
  // Signals that no rule looks at.
  [[nodiscard]] std::uint64_t unmatched_count() const { return unmatched_; }
  // Nodes whose health or incident has changed since the last call, each once, in ascending order.
  [[nodiscard]] std::vector<NodeIndex> take_changed();

  static constexpr std::size_t kMaxClosed = 10'000;
  static constexpr std::size_t kMaxFindings = 1'000;  // of an incident; more are counted in the last one

 private:
  struct Counted {
    sched::Moment at;
    SignalSource source;
  };
  struct EventWindow {  // of a rule with at_least > 1
    const Rule* rule;
    std::string part;
    std::deque<Counted> events;  // in the order of their times
  };
  struct Seen {  // to know a signal that is read again
    std::uint64_t hash;
    sched::Moment at;
  };
  struct NodeState {
    std::string name;
    std::array<sched::Moment, kSignalSources> heard{};
    std::uint32_t expected = 0;  // bits of SignalSource
    sched::Moment repaired{};    // events up to this time belong to the past
    std::vector<EventWindow> windows;
    std::vector<DriverAdvice> advice;
    std::vector<Finding> tentative;  // that count only if nothing else is found
    std::deque<Seen> seen;
    std::vector<Finding> before;  // findings that a repair ended, to know those that return
    std::optional<Incident> open;
    NodeHealth health;
    bool changed = false;
    bool dirty = false;  // the health is to be judged again
  };
  struct Series {
    NodeIndex node;
    std::uint32_t part;   // in strings_
    std::uint32_t first;  // in watches_
    std::uint16_t count;
    bool advises;  // it is the driver's recovery action
  };

  const std::vector<const Rule*>& rules_for(const std::string& signal);
  [[nodiscard]] bool is_repeated(NodeState& node, const Signal& signal, sched::Moment at);
  void apply(NodeIndex index, const Signal& signal, sched::Moment at);
  void note_event(NodeIndex index, const Rule& rule, const Signal& signal, sched::Moment at);
  [[nodiscard]] std::size_t count_event(NodeState& node, const Rule& rule, const Signal& signal, sched::Moment at);
  [[nodiscard]] std::optional<std::uint32_t> intern(std::string_view text);
  [[nodiscard]] std::vector<const Rule*> rules_watching(const std::string& signal);
  void note_advice(NodeState& node, const std::string& part, std::uint64_t code, sched::Moment at);
  void raise(NodeIndex index, Finding finding);
  void open(NodeIndex index, const Finding& first);
  void close(NodeIndex index, std::string why, sched::Moment at);
  void end_condition(NodeIndex index, const Rule& rule, std::string_view part, sched::Moment at);
  void derive(NodeIndex index, const char* signal, const Finding& finding, sched::Moment at);
  void advance_node(NodeIndex index, sched::Moment now);
  void settle(NodeIndex index, sched::Moment now);
  [[nodiscard]] std::string find_silent(const NodeState& node, sched::Moment now) const;
  void mark(NodeIndex index);

  std::shared_ptr<const Rules> rules_;
  std::vector<NodeState> nodes_;
  std::vector<Series> series_;
  std::vector<Watch> watches_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::vector<const Rule*>> by_signal_;  // only looked up, never iterated
  std::unordered_map<std::string, std::uint32_t> string_index_;          // the same
  std::unordered_map<std::uint64_t, WatchedSeries> series_index_;        // the same
  std::deque<Incident> closed_;
  std::vector<NodeIndex> changed_;
  IncidentId last_incident_ = 0;
  std::uint64_t infos_ = 0;
  std::uint64_t unmatched_ = 0;
  sched::Moment now_{};
};

}  // namespace weft::health
