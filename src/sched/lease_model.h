// The lease protocol as a model for model_check.h: the real table, agents and gates, with a network and a world around
// them that do their worst. For tests.
//
// The network never forgets: a message once sent can be delivered at any time, any number of times, or never. That is
// loss, duplication, delay and reordering without bounds. One more fault empties it, so that the search for dead ends
// sees whether what was lost is said again. What is bounded: requests, starts, work, powers cut; see LeaseWorld.
//
// The state of a part is kept once and known by number, and so is each message; what a part does with a message is
// worked out once by the real code and remembered. A state of the whole is then a few dozen bytes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "sched/lease_agent.h"
#include "sched/lease_gate.h"
#include "sched/lease_table.h"

namespace weft::sched {

// A check that is defeated or a rule that is broken, to show that the model checker sees what it is good for.
enum class LeaseMutant : std::uint8_t {
  none,
  gate_ignores_floor,      // a gate opens under an epoch it was told to give up
  gate_ignores_boot,       // a gate takes commands meant for an earlier start
  gate_boot_reused,        // a gate starts under a number it had before
  gate_starts_as_it_was,   // a gate that starts trusts what it had on disk
  agent_ignores_session,   // an agent takes answers to questions it never put
  agent_start_reused,      // an agent starts under a number it had before
  grant_on_timeout,        // no answer to a revocation counts as a release
  send_before_journal,     // messages leave before the records are on disk
  release_before_drained,  // an agent reports a release while work still runs
  fence_by_order,          // the order to cut the power counts as the power being cut
  fence_number_ignored,    // evidence for an earlier order counts for a later one
  nothing_repeated         // nobody says again what was lost
};

struct LeaseWorld {
  std::vector<LeaseOwner> owners;
  int nodes = 1;
  int gpus = 1;                        // of each node
  std::vector<LeaseRequest> requests;  // each made once, at any time, in this order
  int agent_starts = 0;                // crashes of agents
  int twins = 0;                       // agents started while the old one lives on
  int gate_starts = 0;                 // crashes of gates; work goes on
  int works = 0;                       // pieces of work that engines start
  int fences = 0;                      // orders to cut power
  int powers = 0;                      // power cut or restored without the table's leave
  int intrusions = 0;                  // work that bypasses its gate
  bool table_crashes = true;           // after any number of a step's records, as often as you like
  bool give_back = false;              // engines give back what they hold
  bool losses = true;
  bool cold = false;  // begins before any agent has said hello; otherwise after the first request is held
  LeaseMutant mutant = LeaseMutant::none;
};

class LeaseModel {
 public:
  static constexpr std::size_t kMessages = 1024;
  static constexpr std::size_t kAgents = 4;  // the last is a twin
  static constexpr std::size_t kGates = 6;
  static constexpr std::size_t kGpus = 2;
  static constexpr std::uint32_t kAbsent = 0xffffU;

  struct State {
    std::uint16_t table = 0;
    std::array<std::uint16_t, kAgents> agent{};
    std::array<std::uint16_t, kGates> gate{};
    std::array<std::uint8_t, kGates> intruding{};  // GPUs used without a lease
    std::array<std::uint8_t, kGpus * 2> top{};     // the highest epoch ever open on each GPU
    std::array<std::uint8_t, kAgents> starts{};    // of agents, by engine
    std::uint8_t off = 0;                          // nodes without power
    std::uint8_t requests = 0;
    std::uint8_t agent_starts = 0, twins = 0, gate_starts = 0, works = 0, fences = 0, powers = 0, intrusions = 0;
    std::uint8_t broken = 0;  // index of what a step broke
    std::array<std::uint64_t, kMessages / 64> network{};
    friend bool operator==(const State&, const State&) = default;

    [[nodiscard]] bool has(std::size_t message) const { return ((network[message / 64] >> (message % 64)) & 1U) != 0; }
  };

  explicit LeaseModel(LeaseWorld world) : world_(std::move(world)) {}

  State initial();
  template <class Emit>
  void successors(const State& state, Emit emit);
  void encode(const State& state, std::string& bytes) const;
  [[nodiscard]] std::string violation(const State& state) const;
  [[nodiscard]] bool goal(const State& state) const;
  [[nodiscard]] std::size_t messages() const { return messages_.size(); }
  [[nodiscard]] std::size_t tables() const { return tables_.size(); }

 private:
  struct Order : FenceOrder {};
  struct Evidence : FenceOrder {};
  using Message = std::variant<AgentMessage, TableMessage, GateCommand, GateStatus, Order, Evidence>;

  struct TableState {
    LeaseTable table;
    std::vector<LeaseRecord> journal;
    std::vector<LeaseView> views;  // of every GPU, node by node
  };
  // What a part becomes and what it sends.
  struct Outcome {
    std::uint16_t next = 0;
    std::vector<std::uint16_t> sent;
    std::uint8_t broken = 0;
  };
  // Of the table: the step as it should be, then every way of crashing in it.
  struct TableOutcome {
    Outcome whole;
    std::vector<Outcome> crashes;
  };

  [[nodiscard]] std::size_t gate_at(std::size_t owner, std::size_t node) const {
    return owner * static_cast<std::size_t>(world_.nodes) + node;
  }
  [[nodiscard]] const LeaseView& view_of(const State& state, std::size_t node, std::size_t gpu) const {
    return tables_[state.table].views[node * static_cast<std::size_t>(world_.gpus) + gpu];
  }
  std::uint16_t message_id(const Message& message);
  std::uint16_t table_id(const LeaseTable& table, std::vector<LeaseRecord> journal);
  std::uint16_t agent_id(const LeaseAgent& agent);
  std::uint16_t gate_id(const LeaseGate& gate);
  void warm_up(State& state);
  static std::string text_of(const Message& message);
  void post(std::vector<std::uint16_t>& sent, const LeaseStep& step);
  void post(std::vector<std::uint16_t>& sent, const AgentStep& step);
  void post(std::vector<std::uint16_t>& sent, const GateStatus& status);
  TableMessage forged(const TableMessage& message, const LeaseAgent& agent) const;
  static void grant_on_timeout(LeaseTable& table, LeaseStep& step);
  [[nodiscard]] std::uint8_t judge(const LeaseTable& table, const std::vector<LeaseRecord>& records) const;

  // `code`: 0 tick, 1.. request, 100.. fence, 200.. restore; 1000.. the message of that number.
  const TableOutcome& table_step(std::uint16_t table, std::uint32_t code);
  const Outcome& agent_step(std::uint16_t agent, std::uint32_t code);  // 0 tick, 1 give back, 1000.. message
  const Outcome& gate_step(std::uint16_t gate, std::uint32_t code);    // 1.. admit, 11.. ended, 21.. seen, 1000..
  const Outcome& new_agent(std::size_t owner, std::uint64_t start);
  std::uint16_t restarted(std::uint16_t gate, bool power, std::vector<std::uint16_t>& sent);
  Result<LeaseStep> do_table(LeaseTable& table, std::uint32_t code);

  template <class Emit>
  void table_successors(const State& state, const Emit& emit);
  template <class Emit>
  void table_event(const State& state, std::uint32_t code, const char* what, const Emit& emit);
  template <class Emit>
  void agent_successors(const State& state, const Emit& emit);
  template <class Emit>
  void gate_successors(const State& state, const Emit& emit);
  template <class Emit>
  void power_successors(const State& state, const Emit& emit);
  template <class Emit>
  void deliveries(const State& state, const Emit& emit);
  void note_open(State& state, std::size_t gate) const;
  void cut_power(State& state, std::size_t node);
  // Takes messages off the network that cannot change anything any more, whatever happens; see the definition for why.
  void prune(State& state);
  [[nodiscard]] bool is_spent(const State& state, const Message& message);
  [[nodiscard]] std::size_t owner_index(LeaseOwner owner) const {
    return static_cast<std::size_t>(std::find(world_.owners.begin(), world_.owners.end(), owner) -
                                    world_.owners.begin());
  }
  void send(State& state, const std::vector<std::uint16_t>& sent) const;

  LeaseWorld world_;
  // Deques: what is known by number stays where it is when more comes.
  std::deque<TableState> tables_;
  std::deque<LeaseAgent> agents_;
  std::deque<LeaseGate> gates_;
  std::vector<std::uint16_t> gate_status_;  // the message in which each says how it stands
  std::deque<Message> messages_;
  std::deque<std::string> message_texts_;
  std::map<std::string, std::uint16_t> table_ids_, agent_ids_, gate_ids_, message_ids_;
  std::unordered_map<std::uint64_t, TableOutcome> table_steps_;
  std::unordered_map<std::uint64_t, Outcome> agent_steps_, gate_steps_;
  std::map<std::pair<std::size_t, std::uint64_t>, Outcome> starts_;
};

template <class Emit>
void LeaseModel::successors(const State& state, Emit emit) {
  if (state.broken != 0) return;
  const auto tidy = [&](State next, bool fault, const auto& describe) {
    if (next == state) return;  // most deliveries are of something already known
    prune(next);
    emit(std::move(next), fault, describe);
  };
  table_successors(state, tidy);
  agent_successors(state, tidy);
  gate_successors(state, tidy);
  power_successors(state, tidy);
  deliveries(state, tidy);
  if (world_.losses && state.network != decltype(state.network){}) {
    State next = state;
    next.network = {};
    emit(std::move(next), true, [] { return std::string("all messages on their way are lost"); });
  }
}

template <class Emit>
void LeaseModel::table_event(const State& state, std::uint32_t code, const char* what, const Emit& emit) {
  const TableOutcome& outcome = table_step(state.table, code);
  const auto describe = [&](std::string_view how) {
    return code >= 1000 ? fmt::format("the table gets {}{}", message_texts_[code - 1000], how)
                        : fmt::format("{}{}", what, how);
  };
  State next = state;
  next.table = outcome.whole.next;
  next.broken = outcome.whole.broken;
  send(next, outcome.whole.sent);
  emit(std::move(next), false, [&] { return describe(""); });
  if (!world_.table_crashes) return;
  for (std::size_t k = 0; k < outcome.crashes.size(); ++k) {
    State crashed = state;
    crashed.table = outcome.crashes[k].next;
    crashed.broken = outcome.crashes[k].broken;
    send(crashed, outcome.crashes[k].sent);
    const bool early = world_.mutant == LeaseMutant::send_before_journal;
    emit(std::move(crashed), true, [&] {
      return describe(early ? " and crashes after sending, before writing"
                            : fmt::format(" and crashes with {} records written, nothing sent", k + 1));
    });
  }
}

template <class Emit>
void LeaseModel::table_successors(const State& state, const Emit& emit) {
  if (world_.mutant != LeaseMutant::nothing_repeated) table_event(state, 0, "the table repeats itself", emit);
  if (state.requests < world_.requests.size()) {
    State asked = state;
    ++asked.requests;
    const LeaseRequest& request = world_.requests[state.requests];
    const std::string what = fmt::format("request {}: {} for {}{}", request.id, to_text(request.gpus),
                                         to_text(request.owner), request.reclaim ? ", taken from others" : "");
    table_event(asked, 1 + state.requests, what.c_str(), emit);
  }
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(world_.nodes); ++n) {
    const bool fencing = tables_[state.table].table.fencing(NodeId{n}) != 0;
    if (state.fences > 0 && !fencing) {
      State next = state;
      --next.fences;
      table_event(next, 100U + n, "a person orders the node's power cut", emit);
    }
    const bool out = view_of(state, n, 0).phase == LeasePhase::out;
    if (out || fencing) table_event(state, 200U + n, "a person restores the node", emit);
  }
}

template <class Emit>
void LeaseModel::agent_successors(const State& state, const Emit& emit) {
  for (std::size_t a = 0; a < kAgents; ++a) {
    if (state.agent[a] == kAbsent) continue;
    const auto self_named = [&, a](const char* what) {
      return [&, a, what] {
        return fmt::format("agent {} {}", a < world_.owners.size() ? to_text(world_.owners[a]) : "twin", what);
      };
    };
    const auto step = [&](std::uint32_t code, const char* what) {
      const Outcome& outcome = agent_step(state.agent[a], code);
      State next = state;
      next.agent[a] = outcome.next;
      send(next, outcome.sent);
      emit(std::move(next), false, self_named(what));
    };
    const bool first_hello = agents_[state.agent[a]].session().turn == 0;
    if (world_.mutant != LeaseMutant::nothing_repeated || first_hello) step(0, "repeats itself");
    if (world_.give_back) step(1, "gives back what it has");
    if (a >= world_.owners.size()) continue;
    const bool reused = world_.mutant == LeaseMutant::agent_start_reused;
    const Outcome& fresh = new_agent(a, state.starts[a] + (reused ? 0U : 1U));
    if (state.agent_starts > 0) {
      State next = state;
      --next.agent_starts;
      if (!reused) ++next.starts[a];
      next.agent[a] = fresh.next;
      send(next, fresh.sent);
      emit(std::move(next), true, self_named("crashes and starts anew"));
    }
    if (state.twins > 0) {
      State next = state;
      --next.twins;
      ++next.starts[a];
      next.agent[kAgents - 1] = state.agent[a];
      next.agent[a] = fresh.next;
      send(next, fresh.sent);
      emit(std::move(next), true, self_named("is started a second time while the first lives on"));
    }
  }
}

template <class Emit>
void LeaseModel::gate_successors(const State& state, const Emit& emit) {
  for (std::size_t o = 0; o < world_.owners.size(); ++o) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(world_.nodes); ++n) {
      if (((state.off >> n) & 1U) != 0) continue;
      const std::size_t at = gate_at(o, n);
      const auto named = [&, o, n](std::string what) {
        return [&, o, n, what] { return fmt::format("{} of {} on node {}", what, to_text(world_.owners[o]), n); };
      };
      const GateStatus& status = gates_[state.gate[at]].status();
      const auto step = [&](State next, std::uint32_t code, std::string what) {
        const Outcome& outcome = gate_step(state.gate[at], code);
        next.gate[at] = outcome.next;
        send(next, outcome.sent);
        emit(std::move(next), false, named(std::move(what)));
      };
      for (unsigned g = 0; g < static_cast<unsigned>(world_.gpus); ++g) {
        const bool runs = ((status.running >> g) & 1U) != 0;
        State next = state;
        if (!runs && state.works > 0 && status.open[g] != 0) {
          --next.works;
          step(next, 1 + g, fmt::format("work starts on GPU {}", g));
        } else if (!runs && state.intrusions > 0) {
          --next.intrusions;
          next.intruding[at] = static_cast<std::uint8_t>(next.intruding[at] | (1U << g));
          step(next, 21 + g, fmt::format("work bypasses the gate on GPU {}", g));
        } else if (runs) {
          next.intruding[at] = static_cast<std::uint8_t>(next.intruding[at] & ~(1U << g));
          step(next, 11 + g, fmt::format("work ends on GPU {}", g));
        }
      }
      if (state.gate_starts == 0) continue;
      State next = state;
      --next.gate_starts;
      std::vector<std::uint16_t> sent;
      next.gate[at] = restarted(state.gate[at], false, sent);
      send(next, sent);
      emit(std::move(next), true, named("the gate crashes and starts anew, work going on,"));
    }
  }
}

template <class Emit>
void LeaseModel::power_successors(const State& state, const Emit& emit) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(world_.nodes); ++n) {
    const bool off = ((state.off >> n) & 1U) != 0;
    const bool fencing = tables_[state.table].table.fencing(NodeId{static_cast<std::uint32_t>(n)}) != 0;
    if (off && (!fencing || state.powers > 0)) {
      State next = state;
      next.off = static_cast<std::uint8_t>(next.off & ~(1U << n));
      if (fencing) --next.powers;
      for (std::size_t o = 0; o < world_.owners.size(); ++o) {
        std::vector<std::uint16_t> sent;
        post(sent, gates_[state.gate[gate_at(o, n)]].status());
        send(next, sent);
      }
      emit(std::move(next), fencing, [n] { return fmt::format("node {} gets power again", n); });
    }
    if (!off && state.powers > 0) {
      State next = state;
      --next.powers;
      cut_power(next, n);
      emit(std::move(next), true, [n] { return fmt::format("node {} loses power", n); });
    }
  }
}

template <class Emit>
void LeaseModel::deliveries(const State& state, const Emit& emit) {
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    if (!state.has(m)) continue;
    const auto code = static_cast<std::uint32_t>(1000 + m);
    const Message& message = messages_[m];
    if (std::holds_alternative<AgentMessage>(message) || std::holds_alternative<Evidence>(message)) {
      table_event(state, code, "", emit);
      continue;
    }
    const auto got = [&, m](std::string_view who) {
      return [&, m, who] { return fmt::format("{} gets {}", who, message_texts_[m]); };
    };
    if (const auto* order = std::get_if<Order>(&message)) {
      const std::size_t n = index_of(order->node);
      const bool off = ((state.off >> n) & 1U) != 0;
      const bool current = tables_[state.table].table.fencing(order->node) == order->number;
      if (!off && !current && state.powers == 0) continue;
      State next = state;
      if (!off && !current) --next.powers;
      if (!off) cut_power(next, n);
      send(next, {message_id(Evidence{*order})});
      emit(std::move(next), !off && !current, got("the power switch"));
      continue;
    }
    if (const auto* command = std::get_if<GateCommand>(&message)) {
      const std::size_t n = index_of(command->node);
      if (((state.off >> n) & 1U) != 0) continue;
      const std::size_t at = gate_at(owner_index(command->owner), n);
      const Outcome& outcome = gate_step(state.gate[at], code);
      State next = state;
      next.gate[at] = outcome.next;
      send(next, outcome.sent);
      note_open(next, at);
      emit(std::move(next), false, got("the gate"));
      continue;
    }
    const LeaseOwner to = std::holds_alternative<TableMessage>(message) ? std::get<TableMessage>(message).to
                                                                        : std::get<GateStatus>(message).owner;
    for (std::size_t a = 0; a < kAgents; ++a) {
      if (state.agent[a] == kAbsent) continue;
      if (a < world_.owners.size() && world_.owners[a] != to) continue;
      const Outcome& outcome = agent_step(state.agent[a], code);
      State next = state;
      next.agent[a] = outcome.next;
      send(next, outcome.sent);
      emit(std::move(next), false, got(a < world_.owners.size() ? "the agent" : "the twin"));
    }
  }
}

}  // namespace weft::sched
