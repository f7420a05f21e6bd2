// The lease protocol as a model for model_check.h: the real table, agents and gates in a simulated network and
// environment with injected faults. For tests. The model's steps are in model_steps.h.
//
// The network never discards a message: once sent, it can be delivered at any time, any number of times, or never. This
// covers unbounded loss, duplication, delay and reordering. One additional fault empties the network, so the search for
// dead ends checks that lost messages are resent. Requests, starts, work and power cuts are bounded; see LeaseWorld.
//
// Each component state and each message is stored once and referenced by number; a component's reaction to a message is
// computed once by the real code and cached. A global state is then a few dozen bytes.
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

#include "lease/agent.h"
#include "lease/gate.h"
#include "lease/table.h"

namespace weft::lease {

// A disabled check or broken rule, to verify that the model checker detects it.
enum class LeaseMutant : std::uint8_t {
  none,
  gate_ignores_floor,      // a gate opens under an epoch it was ordered to close
  gate_ignores_boot,       // a gate accepts commands for an earlier boot
  gate_boot_reused,        // a gate reuses a boot number
  gate_starts_as_it_was,   // a gate restores its state from disk at start
  agent_ignores_session,   // an agent accepts replies from other sessions
  agent_start_reused,      // an agent reuses a start number
  grant_on_timeout,        // a timed-out revocation counts as a release
  send_before_journal,     // messages are sent before the records are on disk
  release_before_drained,  // an agent reports a release while work still runs
  fence_by_order,          // the power-off order counts as evidence that power is off
  fence_number_ignored,    // evidence for an earlier order counts for a later one
  nothing_repeated         // lost messages are not resent
};

struct LeaseWorld {
  std::vector<LeaseOwner> owners;
  int nodes = 1;
  int gpus = 1;                        // per node
  std::vector<LeaseRequest> requests;  // each made once, at any time, in this order
  int agent_starts = 0;                // crashes of agents
  int twins = 0;                       // agents started while the old one still runs
  int gate_starts = 0;                 // crashes of gates; work keeps running
  int works = 0;                       // units of work that engines start
  int fences = 0;                      // power-off orders
  int powers = 0;                      // power cut or restored without an order from the table
  int intrusions = 0;                  // work that bypasses its gate
  bool table_crashes = true;           // after any number of a step's records, any number of times
  bool give_back = false;              // engines return GPUs that they hold
  bool losses = true;
  bool cold = false;  // starts before any agent has sent hello; otherwise after the first request is held
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
    std::array<std::uint8_t, kAgents> starts{};    // of agents, per engine
    std::uint8_t off = 0;                          // nodes without power
    std::uint8_t requests = 0;
    std::uint8_t agent_starts = 0, twins = 0, gate_starts = 0, works = 0, fences = 0, powers = 0, intrusions = 0;
    std::uint8_t broken = 0;  // index of the violation caused by a step
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
  // A component's next state and the messages it sends.
  struct Outcome {
    std::uint16_t next = 0;
    std::vector<std::uint16_t> sent;
    std::uint8_t broken = 0;
  };
  // For the table: the step without a crash, then every way to crash in it.
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
  // Removes messages from the network that can no longer have any effect; the definition explains why.
  void prune(State& state);
  [[nodiscard]] bool is_spent(const State& state, const Message& message);
  [[nodiscard]] std::size_t owner_index(LeaseOwner owner) const {
    return static_cast<std::size_t>(std::find(world_.owners.begin(), world_.owners.end(), owner) -
                                    world_.owners.begin());
  }
  void send(State& state, const std::vector<std::uint16_t>& sent) const;

  LeaseWorld world_;
  // Deques: elements referenced by number keep their address when more are added.
  std::deque<TableState> tables_;
  std::deque<LeaseAgent> agents_;
  std::deque<LeaseGate> gates_;
  std::vector<std::uint16_t> gate_status_;  // each gate's status message
  std::deque<Message> messages_;
  std::deque<std::string> message_texts_;
  std::map<std::string, std::uint16_t> table_ids_, agent_ids_, gate_ids_, message_ids_;
  std::unordered_map<std::uint64_t, TableOutcome> table_steps_;
  std::unordered_map<std::uint64_t, Outcome> agent_steps_, gate_steps_;
  std::map<std::pair<std::size_t, std::uint64_t>, Outcome> starts_;
};

}  // namespace weft::lease
