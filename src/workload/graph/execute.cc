// Event-driven simulation of an operation graph. All operations that end at one time are processed before any starts,
// in the order of class, stream and operation, so the result does not depend on how the queue breaks ties.
#include <algorithm>

#include "workload/graph/op_cycle.h"
#include "workload/graph/op_graph.h"

namespace weft::workload {
namespace {

constexpr std::uint32_t kNoMatch = UINT32_MAX;

std::uint32_t index(OpId id) { return static_cast<std::uint32_t>(id); }

SimTime later_by(SimTime time, SimTime duration) {  // saturates: durations in a trace may be absurd
  return duration > netsim::kNever - time ? netsim::kNever : time + duration;
}

struct Event {
  SimTime time;
  std::uint32_t stream = 0;
  OpId op{0};
  friend bool operator>(const Event& a, const Event& b) {
    if (a.time != b.time) return a.time > b.time;
    return a.stream != b.stream ? a.stream > b.stream : a.op > b.op;
  }
};

// Operations that are matched: a collective of several classes, or a send and its receive.
struct Match {
  std::uint32_t first = 0;  // index into Player::members_
  std::uint32_t count = 0;
  std::uint32_t arrived = 0;
  SimTime duration;
  OpId waiting_receive = kNoOp;
  bool sent = false;
};

struct Queued {  // a stream's entry in `ready` order; a collective has one key in all its streams, so they cannot cross
  SimTime since;
  OpId key{0};
  OpId op{0};
  friend bool operator>(const Queued& a, const Queued& b) {
    return a.since != b.since ? a.since > b.since : a.key > b.key;
  }
};

class Player {
 public:
  Player(const OpGraph& graph, StreamOrder order) : graph_(graph), program_(order == StreamOrder::program) {
    lay_out_streams();
    join_matches();
  }

  void ask(CommunicationTimer& timer);
  Result<Execution> play();

 private:
  void lay_out_streams();
  void join_matches();
  [[nodiscard]] SimTime answer(CommunicationTimer& timer, const Op& op, Bytes bytes) const;

  void became_ready(OpId op);
  void enqueue(OpId op, OpId key);
  void touch(std::uint32_t stream);
  void start_on(std::uint32_t stream);
  void start_in_program_order(std::uint32_t stream);
  void start_what_is_ready(std::uint32_t stream);
  void begin(OpId op, SimTime duration);
  void schedule(OpId op, SimTime time);
  void end(OpId op);
  void message_sent(Match& match);
  [[nodiscard]] bool is_next(OpId op) const;
  [[nodiscard]] Error stuck() const;

  [[nodiscard]] std::span<const OpId> members(const Match& match) const {
    return {members_.data() + match.first, match.count};
  }
  [[nodiscard]] Match* match_of(OpId op) {
    return match_of_[index(op)] == kNoMatch ? nullptr : &matches_[match_of_[index(op)]];
  }

  const OpGraph& graph_;
  const bool program_;
  Execution result_;
  SimTime now_;
  std::vector<std::uint32_t> left_;       // by operation: number of operations it still waits for
  std::vector<std::uint32_t> stream_of_;  // by operation: stream index, counted over all classes
  std::vector<std::uint32_t> offsets_;    // by stream: its part of `order_` or `queue_`
  std::vector<std::uint32_t> position_;   // by stream: program: next in `order_`; ready: how many are queued
  std::vector<bool> busy_;                // by stream
  std::vector<bool> touched_;             // by stream
  std::vector<std::uint32_t> touched_list_;
  std::vector<OpId> order_;    // program: operations of each stream
  std::vector<Queued> queue_;  // ready: one heap per stream
  std::vector<std::uint32_t> match_of_;
  std::vector<Match> matches_;
  std::vector<OpId> members_;
  std::vector<SimTime> durations_;  // of unmatched operations
  std::vector<Event> events_;       // a heap
  std::size_t ended_ = 0;
};

void Player::lay_out_streams() {
  const std::size_t size = graph_.size();
  std::vector<std::uint32_t> base(graph_.class_count() + 1, 0);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto id = static_cast<OpId>(i);
    std::uint32_t& streams = base[static_cast<std::uint32_t>(graph_.class_of(id)) + 1];
    streams = std::max(streams, graph_[id].stream + std::uint32_t{1});
  }
  for (std::size_t c = 1; c < base.size(); ++c) base[c] += base[c - 1];
  const std::uint32_t streams = base.back();
  stream_of_.resize(size);
  offsets_.assign(streams + std::size_t{1}, 0);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto id = static_cast<OpId>(i);
    stream_of_[i] = base[static_cast<std::uint32_t>(graph_.class_of(id))] + graph_[id].stream;
    ++offsets_[stream_of_[i] + 1];
  }
  for (std::size_t s = 1; s < offsets_.size(); ++s) offsets_[s] += offsets_[s - 1];
  busy_.assign(streams, false);
  touched_.assign(streams, false);
  if (!program_) {
    position_.assign(streams, 0);
    queue_.resize(size);
    return;
  }
  position_.assign(offsets_.begin(), offsets_.end() - 1);
  order_.resize(size);
  std::vector<std::uint32_t> next = position_;
  for (std::uint32_t i = 0; i < size; ++i) order_[next[stream_of_[i]]++] = static_cast<OpId>(i);
}

void Player::join_matches() {
  match_of_.assign(graph_.size(), kNoMatch);
  for (std::uint32_t i = 0; i < graph_.size(); ++i) {
    if (graph_[static_cast<OpId>(i)].match != 0) members_.push_back(static_cast<OpId>(i));
  }
  std::stable_sort(members_.begin(), members_.end(), [&](OpId a, OpId b) { return graph_[a].match < graph_[b].match; });
  for (std::uint32_t i = 0; i < members_.size(); ++i) {
    if (i == 0 || graph_[members_[i]].match != graph_[members_[i - 1]].match) matches_.emplace_back().first = i;
    ++matches_.back().count;
    match_of_[index(members_[i])] = static_cast<std::uint32_t>(matches_.size() - 1);
  }
}

SimTime Player::answer(CommunicationTimer& timer, const Op& op, Bytes bytes) const {
  const OpGroup& group = graph_.group(op.group);
  const SimTime time =
      op.kind == OpKind::collective ? timer.collective(op.collective, bytes, group) : timer.message(bytes, group);
  CHECK(time >= SimTime(0), "communication takes no negative time");
  return time;
}

// In order of operations; matched operations are timed once, with the largest byte count of their members.
void Player::ask(CommunicationTimer& timer) {
  durations_.resize(graph_.size());
  for (std::uint32_t i = 0; i < graph_.size(); ++i) {
    const Op& op = graph_[static_cast<OpId>(i)];
    const bool talks = op.kind == OpKind::collective || op.kind == OpKind::send || op.kind == OpKind::receive;
    const bool asked = talks && op.duration == SimTime(0);
    Match* const match = match_of(static_cast<OpId>(i));
    if (!asked) {
      durations_[i] = op.duration;
    } else if (match == nullptr) {
      durations_[i] = answer(timer, op, op.bytes);
    } else if (members(*match).front() == static_cast<OpId>(i)) {
      Bytes most = op.bytes;
      for (const OpId member : members(*match)) most = std::max(most, graph_[member].bytes);
      match->duration = answer(timer, op, most);
    }
  }
}

Result<Execution> Player::play() {
  const std::size_t size = graph_.size();
  result_.started.resize(size);
  result_.ended.resize(size);
  left_.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto id = static_cast<OpId>(i);
    // In ready order, a receive occupies its stream only after the message was sent.
    const bool after_send = !program_ && graph_[id].kind == OpKind::receive && graph_[id].match != 0;
    left_[i] = graph_.dependency_count(id) + (after_send ? 1U : 0U);
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    if (left_[i] == 0) became_ready(static_cast<OpId>(i));
  }
  std::vector<std::uint32_t> streams;
  for (;;) {
    streams.swap(touched_list_);
    std::sort(streams.begin(), streams.end());
    for (const std::uint32_t stream : streams) {
      touched_[stream] = false;
      start_on(stream);
    }
    streams.clear();
    if (events_.empty()) break;
    now_ = events_.front().time;
    while (!events_.empty() && events_.front().time == now_) {
      const OpId op = events_.front().op;
      std::pop_heap(events_.begin(), events_.end(), std::greater<>());
      events_.pop_back();
      end(op);
    }
  }
  if (ended_ < size) return stuck();
  result_.end = now_;
  return std::move(result_);
}

void Player::touch(std::uint32_t stream) {
  if (touched_[stream]) return;
  touched_[stream] = true;
  touched_list_.push_back(stream);
}

bool Player::is_next(OpId op) const {
  const std::uint32_t stream = stream_of_[index(op)];
  if (program_) return position_[stream] < offsets_[stream + 1] && order_[position_[stream]] == op;
  return position_[stream] > 0 && queue_[offsets_[stream]].op == op;
}

void Player::became_ready(OpId op) {
  if (program_) {
    if (is_next(op)) touch(stream_of_[index(op)]);
    return;
  }
  Match* const match = match_of(op);
  if (match == nullptr || graph_[op].kind != OpKind::collective) {
    enqueue(op, op);
    return;
  }
  if (++match->arrived < match->count) return;
  for (const OpId member : members(*match)) enqueue(member, members(*match).front());
}

void Player::enqueue(OpId op, OpId key) {
  const std::uint32_t stream = stream_of_[index(op)];
  const auto first = queue_.begin() + offsets_[stream];
  first[position_[stream]++] = {now_, key, op};
  std::push_heap(first, first + position_[stream], std::greater<>());
  touch(stream);
}

void Player::start_on(std::uint32_t stream) {
  if (busy_[stream]) return;
  if (program_) {
    start_in_program_order(stream);
  } else {
    start_what_is_ready(stream);
  }
}

// Like a CUDA stream: a kernel that waits for its peers blocks the stream.
void Player::start_in_program_order(std::uint32_t stream) {
  if (position_[stream] == offsets_[stream + 1]) return;
  const OpId op = order_[position_[stream]];
  if (left_[index(op)] != 0) return;
  Match* const match = match_of(op);
  if (match == nullptr) {
    begin(op, durations_[index(op)]);
  } else if (graph_[op].kind == OpKind::send) {
    begin(op, match->duration);
  } else if (graph_[op].kind == OpKind::collective) {
    busy_[stream] = true;
    if (++match->arrived < match->count) return;
    for (const OpId member : members(*match)) begin(member, match->duration);
  } else if (match->sent) {
    begin(op, SimTime(0));
  } else {
    busy_[stream] = true;
    result_.started[index(op)] = now_;
    match->waiting_receive = op;
  }
}

void Player::start_what_is_ready(std::uint32_t stream) {
  if (position_[stream] == 0) return;
  const OpId op = queue_[offsets_[stream]].op;
  const Match* const match = match_of(op);
  const OpId alone[] = {op};
  std::span<const OpId> together = alone;
  SimTime duration = durations_[index(op)];
  if (match != nullptr) {
    duration = graph_[op].kind == OpKind::receive ? SimTime(0) : match->duration;
    if (graph_[op].kind == OpKind::collective) together = members(*match);
  }
  for (const OpId member : together) {
    if (busy_[stream_of_[index(member)]] || !is_next(member)) return;
  }
  for (const OpId member : together) {
    const std::uint32_t its = stream_of_[index(member)];
    const auto first = queue_.begin() + offsets_[its];
    std::pop_heap(first, first + position_[its], std::greater<>());
    --position_[its];
    begin(member, duration);
  }
}

void Player::begin(OpId op, SimTime duration) {
  busy_[stream_of_[index(op)]] = true;
  result_.started[index(op)] = now_;
  schedule(op, later_by(now_, duration));
}

void Player::schedule(OpId op, SimTime time) {
  events_.push_back({time, stream_of_[index(op)], op});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

void Player::end(OpId op) {
  const std::uint32_t stream = stream_of_[index(op)];
  result_.ended[index(op)] = now_;
  ++ended_;
  busy_[stream] = false;
  if (program_) ++position_[stream];
  touch(stream);
  for (const OpId later : graph_.dependents(op)) {
    if (--left_[index(later)] == 0) became_ready(later);
  }
  if (Match* const match = match_of(op); match != nullptr && graph_[op].kind == OpKind::send) message_sent(*match);
}

void Player::message_sent(Match& match) {
  match.sent = true;
  if (match.waiting_receive != kNoOp) schedule(match.waiting_receive, now_);
  if (program_) return;
  for (const OpId member : members(match)) {
    if (graph_[member].kind == OpKind::receive && --left_[index(member)] == 0) became_ready(member);
  }
}

// Deadlock: nothing runs and some operations have not ended. Each waits for a dependency, for an earlier operation in
// its stream, or for the other ends of its communication. Following these leads to a cycle.
Error Player::stuck() const {
  const auto size = static_cast<std::uint32_t>(graph_.size());
  std::vector<bool> ended(size, false);
  std::vector<OpId> waits_for(size, kNoOp);
  const auto arrived = [&](OpId op) {
    return program_ ? is_next(op) && busy_[stream_of_[index(op)]] : left_[index(op)] == 0;
  };
  // An operation that has not ended is at or after its stream's position, or was never queued.
  if (program_) {
    for (std::uint32_t i = 0; i < size; ++i) ended[index(order_[i])] = i < position_[stream_of_[index(order_[i])]];
  } else {
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t match = match_of_[i];
      const bool joint = match != kNoMatch && graph_[static_cast<OpId>(i)].kind == OpKind::collective;
      ended[i] = left_[i] == 0 && (!joint || matches_[match].arrived == matches_[match].count);
    }
  }
  OpId from = kNoOp;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (ended[i]) continue;
    const auto op = static_cast<OpId>(i);
    if (from == kNoOp) from = op;
    if (program_ && !is_next(op) && waits_for[i] == kNoOp) waits_for[i] = order_[position_[stream_of_[i]]];
    if (match_of_[i] != kNoMatch && (is_next(op) || !program_) && waits_for[i] == kNoOp) {
      for (const OpId member : members(matches_[match_of_[i]])) {
        const bool missing = graph_[op].kind == OpKind::collective ? !arrived(member) : !ended[index(member)];
        if (member != op && missing && graph_[member].kind != OpKind::receive) waits_for[i] = member;
      }
    }
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    if (ended[i]) continue;
    for (const OpId later : graph_.dependents(static_cast<OpId>(i))) waits_for[index(later)] = static_cast<OpId>(i);
  }
  return {ErrorCode::invalid_input,
          "operations wait for each other in a cycle: " + cycle_text(graph_, find_cycle(waits_for, from)),
          {}};
}

// Disjoint intervals, sorted by start.
using Intervals = std::vector<std::pair<SimTime, SimTime>>;

Intervals united(const OpGraph& graph, const Execution& execution, ClassId rank_class, std::uint32_t streams) {
  Intervals all;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<OpId>(i);
    const std::uint8_t stream = graph[id].stream;
    if (graph.class_of(id) != rank_class || stream >= 32 || ((streams >> stream) & 1U) == 0) continue;
    if (execution.started[i] < execution.ended[i]) all.emplace_back(execution.started[i], execution.ended[i]);
  }
  std::sort(all.begin(), all.end());
  Intervals joined;
  for (const auto& [start, end] : all) {
    if (joined.empty() || start > joined.back().second) {
      joined.emplace_back(start, end);
    } else {
      joined.back().second = std::max(joined.back().second, end);
    }
  }
  return joined;
}

}  // namespace

Result<Execution> execute(const OpGraph& graph, CommunicationTimer& timer, StreamOrder order) {
  Player player(graph, order);
  player.ask(timer);
  return player.play();
}

Exposure exposure(const OpGraph& graph, const Execution& execution, ClassId rank_class, std::uint32_t streams,
                  std::uint32_t over) {
  const Intervals ours = united(graph, execution, rank_class, streams);
  const Intervals theirs = united(graph, execution, rank_class, over);
  Exposure result;
  std::size_t from = 0;
  for (const auto& [start, end] : ours) {
    result.busy += end - start;
    result.exposed += end - start;
    while (from < theirs.size() && theirs[from].second <= start) ++from;
    for (std::size_t i = from; i < theirs.size() && theirs[i].first < end; ++i) {
      result.exposed -= std::min(end, theirs[i].second) - std::max(start, theirs[i].first);
    }
  }
  return result;
}

}  // namespace weft::workload
