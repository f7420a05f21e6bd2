// Steps of the lease model: definitions of the templates in model.h. Include this to search the model.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lease/model.h"

namespace weft::lease {

template <class Emit>
void LeaseModel::successors(const State& state, Emit emit) {
  if (state.broken != 0) return;
  const auto tidy = [&](State next, bool fault, const auto& describe) {
    if (next == state) return;  // most deliveries change nothing
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
    const bool fencing = tables_[state.table].table.fencing(sched::NodeId{n}) != 0;
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
      emit(std::move(next), true, self_named("crashes and restarts"));
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
      emit(std::move(next), true, named("the gate crashes and restarts, work going on,"));
    }
  }
}

template <class Emit>
void LeaseModel::power_successors(const State& state, const Emit& emit) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(world_.nodes); ++n) {
    const bool off = ((state.off >> n) & 1U) != 0;
    const bool fencing = tables_[state.table].table.fencing(sched::NodeId{static_cast<std::uint32_t>(n)}) != 0;
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
      const std::size_t n = sched::index_of(order->node);
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
      const std::size_t n = sched::index_of(command->node);
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

}  // namespace weft::lease
