// Transitions of the lease model. Contains no tests: the name links it into the test binary only.
#include <bit>

#include "lease/model.h"
#include "lease/model_steps.h"

namespace weft::lease {
namespace {

constexpr std::array<const char*, 4> kBroken = {"", "an epoch was opened after a later one on the same GPU",
                                                "a set was not granted whole",
                                                "a GPU was granted that another is known to use"};

GpuSet all_gpus(int nodes, int gpus) {
  GpuSet set;
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(nodes); ++n) {
    insert(set, sched::NodeId{n}, static_cast<std::uint16_t>((1U << static_cast<unsigned>(gpus)) - 1U));
  }
  return set;
}

std::uint64_t key(std::uint16_t part, std::uint32_t code) { return (std::uint64_t{part} << 32U) | code; }

}  // namespace

std::string LeaseModel::text_of(const Message& message) {
  static constexpr std::array<const char*, 7> kSaid = {"hello",     "alive",     "held", "released",
                                                       "give_back", "intruding", "gone"};
  if (const auto* said = std::get_if<AgentMessage>(&message)) {
    return fmt::format("{}({}) of {} in session {}.{} lease {}", kSaid[static_cast<std::size_t>(said->kind)],
                       to_text(said->gpus), to_text(said->from), said->session.start, said->session.turn, said->epoch);
  }
  if (const auto* told = std::get_if<TableMessage>(&message)) {
    std::string text = fmt::format("{} to {} in session {}.{}:", told->welcome ? "welcome" : "word", to_text(told->to),
                                   told->session.start, told->session.turn);
    for (const LeaseShare& share : told->shares) {
      text += fmt::format(" {} lease {} of {}", share.revoked ? "give up" : "take", share.epoch, to_text(share.gpus));
    }
    return told->intruding.empty() ? text : text + " intruding on " + to_text(told->intruding);
  }
  if (const auto* command = std::get_if<GateCommand>(&message)) {
    static constexpr std::array<const char*, 3> kDo = {"probe", "open", "close"};
    return fmt::format("{}(gpus {:x}) of {} node {} boot {} lease {}", kDo[static_cast<std::size_t>(command->kind)],
                       command->gpus, to_text(command->owner), sched::index_of(command->node), command->boot,
                       command->epoch);
  }
  if (const auto* status = std::get_if<GateStatus>(&message)) {
    std::string text = fmt::format("status of {} node {} boot {}.{} running {:x}", to_text(status->owner),
                                   sched::index_of(status->node), status->boot, status->serial, status->running);
    for (std::size_t g = 0; g < 4; ++g) text += fmt::format(" open {} floor {}", status->open[g], status->floor[g]);
    return text;
  }
  if (const auto* order = std::get_if<Order>(&message)) {
    return fmt::format("the order {} to cut the power of node {}", order->number, sched::index_of(order->node));
  }
  const auto& evidence = std::get<Evidence>(message);
  return fmt::format("evidence that node {} was off (order {})", sched::index_of(evidence.node), evidence.number);
}

std::uint16_t LeaseModel::message_id(const Message& message) {
  std::string text = text_of(message);
  const auto [at, fresh] = message_ids_.emplace(std::move(text), static_cast<std::uint16_t>(messages_.size()));
  if (fresh) {
    CHECK(messages_.size() < kMessages, "the model has room for its messages");
    messages_.push_back(message);
    message_texts_.push_back(at->first);
  }
  return at->second;
}

std::uint16_t LeaseModel::table_id(const LeaseTable& table, std::vector<LeaseRecord> journal) {
  const auto [at, fresh] = table_ids_.emplace(table.state(), static_cast<std::uint16_t>(tables_.size()));
  if (fresh) {
    CHECK(tables_.size() < 0xffff, "the model has room for its tables");
    tables_.push_back({table, std::move(journal), {}});
    for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(world_.nodes); ++n) {
      for (std::uint8_t g = 0; g < world_.gpus; ++g)
        tables_.back().views.push_back(table.who({sched::NodeId{n}, g}, {}));
    }
  }
  return at->second;
}

std::uint16_t LeaseModel::agent_id(const LeaseAgent& agent) {
  const auto [at, fresh] = agent_ids_.emplace(agent.state(), static_cast<std::uint16_t>(agents_.size()));
  if (fresh) agents_.push_back(agent);
  CHECK(agents_.size() < kAbsent, "the model has room for its agents");
  return at->second;
}

std::uint16_t LeaseModel::gate_id(const LeaseGate& gate) {
  const auto [at, fresh] = gate_ids_.emplace(text_of(gate.status()), static_cast<std::uint16_t>(gates_.size()));
  if (fresh) {
    gates_.push_back(gate);
    gate_status_.push_back(message_id(gate.status()));
  }
  return at->second;
}

void LeaseModel::post(std::vector<std::uint16_t>& sent, const LeaseStep& step) {
  for (const TableMessage& message : step.messages) sent.push_back(message_id(message));
  for (const FenceOrder& order : step.fences) {
    sent.push_back(message_id(Order{order}));
    if (world_.mutant == LeaseMutant::fence_by_order) sent.push_back(message_id(Evidence{order}));
  }
}

void LeaseModel::post(std::vector<std::uint16_t>& sent, const AgentStep& step) {
  for (const AgentMessage& message : step.messages) {
    if (message.kind != AgentMessage::Kind::alive) sent.push_back(message_id(message));
  }
  for (const GateCommand& command : step.commands) sent.push_back(message_id(command));
}

void LeaseModel::post(std::vector<std::uint16_t>& sent, const GateStatus& status) {
  sent.push_back(message_id(status));
}

TableMessage LeaseModel::forged(const TableMessage& message, const LeaseAgent& agent) const {
  TableMessage copy = message;
  if (world_.mutant == LeaseMutant::agent_ignores_session) copy.session = agent.session();
  return copy;
}

// Treats every unacknowledged revocation as released.
void LeaseModel::grant_on_timeout(LeaseTable& table, LeaseStep& step) {
  const std::vector<TableMessage> asked = step.messages;
  for (const TableMessage& message : asked) {
    for (const LeaseShare& share : message.shares) {
      if (!share.revoked) continue;
      LeaseStep more =
          table.receive({AgentMessage::Kind::released, message.to, message.session, share.epoch, share.gpus, {}}, {});
      step.records.insert(step.records.end(), more.records.begin(), more.records.end());
      step.messages.insert(step.messages.end(), more.messages.begin(), more.messages.end());
    }
  }
}

Result<LeaseStep> LeaseModel::do_table(LeaseTable& table, std::uint32_t code) {
  if (code >= 1000) {
    const Message& message = messages_[code - 1000];
    if (const auto* said = std::get_if<AgentMessage>(&message)) return table.receive(*said, {});
    FenceOrder evidence = std::get<Evidence>(message);
    if (world_.mutant == LeaseMutant::fence_number_ignored) evidence.number = table.fencing(evidence.node);
    return table.fenced(evidence, {});
  }
  if (code >= 200) return table.restore(sched::NodeId{code - 200}, {});
  if (code >= 100) return table.fence(sched::NodeId{code - 100}, {});
  if (code >= 1) return table.request(world_.requests[code - 1], {});
  LeaseStep step = table.tick({});
  if (world_.mutant == LeaseMutant::grant_on_timeout) grant_on_timeout(table, step);
  return step;
}

// Checks the records of a step for what the table must never do.
std::uint8_t LeaseModel::judge(const LeaseTable& table, const std::vector<LeaseRecord>& records) const {
  if (records.empty() || records.back().kind != LeaseRecord::Kind::grant) return 0;
  const auto asked = std::find_if(world_.requests.begin(), world_.requests.end(),
                                  [&](const LeaseRequest& request) { return request.id == records.back().number; });
  for (const NodeGpus& part : asked->gpus) {
    for (std::uint8_t g = 0; g < world_.gpus; ++g) {
      if (((part.gpus >> g) & 1U) == 0) continue;
      const LeaseView view = table.who({part.node, g}, {});
      if (view.epoch != records.back().epoch || view.owner != asked->owner) return 2;
      if (!view.conflict.empty() && view.conflict != to_text(asked->owner)) return 3;
    }
  }
  return 0;
}

const LeaseModel::TableOutcome& LeaseModel::table_step(std::uint16_t table, std::uint32_t code) {
  const auto [at, fresh] = table_steps_.try_emplace(key(table, code));
  TableOutcome& outcome = at->second;
  if (!fresh) return outcome;
  const std::vector<LeaseRecord> before = tables_[table].journal;
  LeaseTable live = tables_[table].table;
  const Result<LeaseStep> step = do_table(live, code);
  if (!step.ok()) {
    outcome.whole.next = table;
    return outcome;
  }
  post(outcome.whole.sent, *step);
  // The journal goes through its text format and the real replay, record by record: each prefix is a crash point.
  std::vector<LeaseRecord> journal = before;
  for (const LeaseRecord& record : step->records) {
    Result<LeaseRecord> read = parse_lease_record(to_text(record));
    CHECK(read.ok() && *read == record, "a record survives its text");
    journal.push_back(std::move(read).value());
    const Result<LeaseTable> restored = LeaseTable::replay(journal);
    CHECK(restored.ok(), "every prefix of a journal can be replayed");
    Outcome crash;
    crash.next = table_id(*restored, journal);
    crash.broken = judge(*restored, journal);
    outcome.crashes.push_back(std::move(crash));
  }
  if (world_.mutant == LeaseMutant::send_before_journal) outcome.crashes = {{table, outcome.whole.sent, 0}};
  outcome.whole.next = table_id(live, journal);
  const Result<LeaseTable> restored = LeaseTable::replay(journal);
  CHECK(restored.ok() && restored->state() == live.state(), "the journal gives the same table again");
  for (const Outcome& crash : outcome.crashes) outcome.whole.broken = std::max(outcome.whole.broken, crash.broken);
  return outcome;
}

const LeaseModel::Outcome& LeaseModel::agent_step(std::uint16_t agent, std::uint32_t code) {
  const auto [at, fresh] = agent_steps_.try_emplace(key(agent, code));
  Outcome& outcome = at->second;
  if (!fresh) return outcome;
  LeaseAgent live = agents_[agent];
  AgentStep step;
  if (code == 0) {
    step = live.tick();
  } else if (code == 1) {
    step = live.give_back(all_gpus(world_.nodes, world_.gpus));
  } else if (const auto* told = std::get_if<TableMessage>(&messages_[code - 1000])) {
    step = live.receive(forged(*told, live));
  } else {
    GateStatus status = std::get<GateStatus>(messages_[code - 1000]);
    if (world_.mutant == LeaseMutant::release_before_drained) status.running = 0;
    step = live.receive(status);
  }
  outcome.next = agent_id(live);
  post(outcome.sent, step);
  return outcome;
}

const LeaseModel::Outcome& LeaseModel::gate_step(std::uint16_t gate, std::uint32_t code) {
  const auto [at, fresh] = gate_steps_.try_emplace(key(gate, code));
  Outcome& outcome = at->second;
  if (!fresh) return outcome;
  LeaseGate live = gates_[gate];
  const GateStatus before = live.status();
  if (code >= 1000) {
    GateCommand command = std::get<GateCommand>(messages_[code - 1000]);
    if (world_.mutant == LeaseMutant::gate_ignores_boot) command.boot = before.boot;
    if (world_.mutant == LeaseMutant::gate_ignores_floor && command.kind == GateCommand::Kind::open) {
      live = LeaseGate(before.owner, before.node, before.boot, before.running);
    }
    (void)live.receive(command);
  } else if (code >= 21) {
    live.observe(static_cast<std::uint16_t>(before.running | (1U << (code - 21))), "");
  } else if (code >= 11) {
    live.ended(static_cast<int>(code - 11));
  } else {
    CHECK(live.admit(static_cast<int>(code - 1)), "an open gate admits work");
  }
  outcome.next = gate_id(live);
  post(outcome.sent, live.status());
  return outcome;
}

const LeaseModel::Outcome& LeaseModel::new_agent(std::size_t owner, std::uint64_t start) {
  const auto [at, fresh] = starts_.try_emplace({owner, start});
  if (!fresh) return at->second;
  const LeaseAgent agent(world_.owners[owner], start);
  at->second.next = agent_id(agent);
  std::vector<sched::NodeId> nodes;
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(world_.nodes); ++n) nodes.push_back(sched::NodeId{n});
  post(at->second.sent, agent.probe(nodes));
  return at->second;
}

std::uint16_t LeaseModel::restarted(std::uint16_t gate, bool power, std::vector<std::uint16_t>& sent) {
  const GateStatus& old = gates_[gate].status();
  const std::uint64_t boot = old.boot + (world_.mutant == LeaseMutant::gate_boot_reused ? 0 : 1);
  LeaseGate fresh(old.owner, old.node, boot, power ? std::uint16_t{0} : old.running);
  if (world_.mutant == LeaseMutant::gate_starts_as_it_was) {
    for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
      (void)fresh.receive(
          {GateCommand::Kind::open, old.owner, old.node, boot, old.open[g], static_cast<std::uint16_t>(1U << g)});
    }
  }
  if (!power) post(sent, fresh.status());
  return gate_id(fresh);
}

void LeaseModel::cut_power(State& state, std::size_t node) {
  state.off = static_cast<std::uint8_t>(state.off | (1U << node));
  for (std::size_t o = 0; o < world_.owners.size(); ++o) {
    std::vector<std::uint16_t> none;
    state.gate[gate_at(o, node)] = restarted(state.gate[gate_at(o, node)], true, none);
    state.intruding[gate_at(o, node)] = 0;
  }
}

void LeaseModel::send(State& state, const std::vector<std::uint16_t>& sent) const {
  for (const std::uint16_t message : sent) state.network[message / 64U] |= std::uint64_t{1} << (message % 64U);
}

// Messages of ended sessions are always ignored. So is a status older than what its agent has seen, unless an agent may
// still start that has seen nothing. A command that its gate will never execute only triggers a status, and that one is
// already on the network: gates report every change unprompted.
bool LeaseModel::is_spent(const State& state, const Message& message) {
  const LeaseTable& table = tables_[state.table].table;
  if (const auto* said = std::get_if<AgentMessage>(&message)) return said->session < table.session(said->from);
  const auto unheard = [&](LeaseOwner owner, const auto& newer) {
    if (state.agent[kAgents - 1] != kAbsent && !newer(agents_[state.agent[kAgents - 1]])) return false;
    return newer(agents_[state.agent[owner_index(owner)]]);
  };
  if (const auto* told = std::get_if<TableMessage>(&message)) {
    return unheard(told->to, [&](const LeaseAgent& agent) { return told->session < agent.session(); });
  }
  if (const auto* status = std::get_if<GateStatus>(&message)) {
    if (state.agent_starts > 0 || state.twins > 0) return false;
    return unheard(status->owner, [&](const LeaseAgent& agent) {
      const GateStatus* seen = agent.seen(status->node);
      return seen != nullptr && std::pair(status->boot, status->serial) < std::pair(seen->boot, seen->serial);
    });
  }
  if (const auto* command = std::get_if<GateCommand>(&message)) {
    const std::uint16_t gate = state.gate[gate_at(owner_index(command->owner), sched::index_of(command->node))];
    const GateStatus& now = gates_[gate].status();
    if (((state.off >> sched::index_of(command->node)) & 1U) != 0 || !state.has(gate_status_[gate])) return false;
    if (command->kind == GateCommand::Kind::probe || command->boot < now.boot) return true;
    for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
      if (((command->gpus >> g) & 1U) != 0 && command->epoch > now.floor[g]) return false;
    }
    return true;
  }
  return false;
}

void LeaseModel::prune(State& state) {
  switch (world_.mutant) {  // those that violate the assumptions of pruning
    case LeaseMutant::gate_ignores_floor:
    case LeaseMutant::gate_ignores_boot:
    case LeaseMutant::gate_boot_reused:
    case LeaseMutant::agent_ignores_session:
    case LeaseMutant::agent_start_reused:
      return;
    default:
      break;
  }
  for (std::size_t word = 0; word < state.network.size(); ++word) {
    for (std::uint64_t left = state.network[word]; left != 0; left &= left - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(left));
      if (is_spent(state, messages_[word * 64 + at])) state.network[word] &= ~(std::uint64_t{1} << at);
    }
  }
}

void LeaseModel::note_open(State& state, std::size_t gate) const {
  const GateStatus& status = gates_[state.gate[gate]].status();
  for (std::size_t g = 0; g < static_cast<std::size_t>(world_.gpus); ++g) {
    std::uint8_t& top = state.top[sched::index_of(status.node) * static_cast<std::size_t>(world_.gpus) + g];
    if (status.open[g] == 0) continue;
    if (status.open[g] < top && world_.mutant == LeaseMutant::none) state.broken = 1;
    top = std::max(top, static_cast<std::uint8_t>(status.open[g]));
  }
}

// All agents welcomed, the first request held, and no message left that would change anything.
void LeaseModel::warm_up(State& state) {
  const auto deliver_all = [&] {
    for (bool changed = true; changed;) {
      changed = false;
      std::string before;
      encode(state, before);
      State after = state;
      deliveries(state, [&](State next, bool fault, const auto&) {
        std::string bytes;
        encode(next, bytes);
        if (changed || fault || bytes == before) return;
        changed = true;
        after = std::move(next);
      });
      state = std::move(after);
    }
  };
  deliver_all();
  for (std::size_t o = 0; o < world_.owners.size(); ++o) {
    const Outcome& hello = agent_step(state.agent[o], 0);
    state.agent[o] = hello.next;
    send(state, hello.sent);
  }
  deliver_all();
  const Outcome& asked = table_step(state.table, 1).whole;
  state.requests = 1;
  state.table = asked.next;
  send(state, asked.sent);
  deliver_all();
  prune(state);
}

LeaseModel::State LeaseModel::initial() {
  State state;
  state.agent.fill(kAbsent);
  LeaseTable table;
  std::vector<LeaseRecord> journal;
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(world_.nodes); ++n) {
    for (const bool add : {true, false}) {
      const Result<LeaseStep> step =
          add ? table.add(sched::NodeId{n}, world_.gpus, {}) : table.restore(sched::NodeId{n}, {});
      CHECK(step.ok(), "the nodes go in");
      journal.insert(journal.end(), step->records.begin(), step->records.end());
    }
  }
  state.table = table_id(table, std::move(journal));
  for (std::size_t o = 0; o < world_.owners.size(); ++o) {
    for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(world_.nodes); ++n) {
      state.gate[gate_at(o, n)] = gate_id(LeaseGate(world_.owners[o], sched::NodeId{n}, 1));
    }
    const Outcome& agent = new_agent(o, 1);
    state.starts[o] = 1;
    state.agent[o] = agent.next;
    send(state, agent.sent);
  }
  if (!world_.cold) warm_up(state);
  const auto budget = [](int value) { return static_cast<std::uint8_t>(value); };
  state.agent_starts = budget(world_.agent_starts);
  state.twins = budget(world_.twins);
  state.gate_starts = budget(world_.gate_starts);
  state.works = budget(world_.works);
  state.fences = budget(world_.fences);
  state.powers = budget(world_.powers);
  state.intrusions = budget(world_.intrusions);
  return state;
}

void LeaseModel::encode(const State& state, std::string& bytes) const {
  std::array<char, 256> buffer;  // at most 2 + 4 * 3 + 6 * 3 + 4 + 10 + 128 are used
  std::size_t end = 0;
  const auto put = [&](std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) buffer[end++] = static_cast<char>((value >> (8 * i)) & 0xffU);
  };
  put(state.table, 2);
  for (std::size_t a = 0; a < kAgents; ++a) {
    if (a >= world_.owners.size() && a + 1 < kAgents) continue;
    put(state.agent[a], 2);
    put(state.starts[a], 1);
  }
  const std::size_t gates = world_.owners.size() * static_cast<std::size_t>(world_.nodes);
  for (std::size_t g = 0; g < gates; ++g) {
    put(state.gate[g], 2);
    put(state.intruding[g], 1);
  }
  for (const std::uint8_t value : state.top) put(value, 1);
  for (const std::uint8_t value : {state.off, state.requests, state.agent_starts, state.twins, state.gate_starts,
                                   state.works, state.fences, state.powers, state.intrusions, state.broken}) {
    put(value, 1);
  }
  std::size_t words = state.network.size();
  while (words > 0 && state.network[words - 1] == 0) --words;
  for (std::size_t i = 0; i < words; ++i) put(state.network[i], 8);
  bytes.append(buffer.data(), end);
}

std::string LeaseModel::violation(const State& state) const {
  if (state.broken != 0) return kBroken[state.broken];
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(world_.nodes); ++n) {
    for (std::uint8_t g = 0; g < world_.gpus; ++g) {
      std::array<std::size_t, kAgents> users{};
      std::size_t count = 0;
      for (std::size_t o = 0; o < world_.owners.size(); ++o) {
        const LeaseGate& gate = gates_[state.gate[gate_at(o, n)]];
        const bool intruder = ((state.intruding[gate_at(o, n)] >> g) & 1U) != 0;
        const LeaseEpoch open = gate.status().open[g];
        if (gate.uses(g) && (!intruder || open != 0)) users[count++] = o;
        if (open == 0 || world_.mutant != LeaseMutant::none) continue;
        const LeaseView& view = view_of(state, n, g);
        if (view.epoch != open || view.owner != world_.owners[o]) {
          return fmt::format("{} has GPU {}/{} open under lease {}, which the table gave up", to_text(world_.owners[o]),
                             n, g, open);
        }
      }
      if (count < 2) continue;
      return fmt::format("both {} and {} use GPU {}/{}", to_text(world_.owners[users[0]]),
                         to_text(world_.owners[users[1]]), n, g);
    }
  }
  return "";
}

bool LeaseModel::goal(const State& state) const {
  const LeaseTable& table = tables_[state.table].table;
  if (state.requests < world_.requests.size() || !table.waiting().empty()) return false;
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(world_.nodes); ++n) {
    for (std::uint8_t g = 0; g < world_.gpus; ++g) {
      const LeaseView& view = view_of(state, n, g);
      if ((view.phase != LeasePhase::held && view.phase != LeasePhase::free) || !view.conflict.empty()) return false;
      if (view.phase == LeasePhase::free) continue;
      if (gates_[state.gate[gate_at(owner_index(view.owner), n)]].status().open[g] != view.epoch) return false;
    }
  }
  return true;
}

}  // namespace weft::lease
