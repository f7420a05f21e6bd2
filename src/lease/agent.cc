#include "lease/agent.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace weft::lease {
namespace {

constexpr std::uint16_t bit(std::size_t gpu) { return static_cast<std::uint16_t>(1U << gpu); }
void set(std::uint16_t& mask, std::size_t gpu) { mask = static_cast<std::uint16_t>(mask | bit(gpu)); }

}  // namespace

AgentStep LeaseAgent::probe(std::span<const sched::NodeId> nodes) const {
  AgentStep step;
  for (const sched::NodeId node : nodes) step.commands.push_back({GateCommand::Kind::probe, owner_, node, 0, 0, 0});
  return step;
}

// A reply of the table is valid only for gates whose boot was known before the request was sent: otherwise it may
// predate the power loss after which the table granted the GPU to another engine.
void LeaseAgent::begin_session(AgentStep& step) {
  ++session_.turn;
  welcomed_ = false;
  for (auto& [id, node] : nodes_) {
    node.want = {};
    node.intruding = 0;
    node.gone = 0;
  }
  step.messages.push_back({AgentMessage::Kind::hello, owner_, session_, 0, {}, {}});
}

AgentStep LeaseAgent::receive(const TableMessage& message) {
  AgentStep step;
  if (message.to != owner_ || message.session != session_ || session_.turn == 0) return step;
  if (message.welcome == welcomed_) return step;  // a second welcome is older than the messages since the first
  welcomed_ = true;
  for (const LeaseShare& share : message.shares) take(share);
  if (message.welcome) {
    for (const NodeGpus& part : message.intruding) nodes_[part.node].intruding = part.gpus;
    for (auto& [id, node] : nodes_) {
      drive(step, id, node);
      report(step, id, node);
    }
    return step;
  }
  for (const LeaseShare& share : message.shares) {
    for (const NodeGpus& part : share.gpus) drive(step, part.node, nodes_[part.node]);
  }
  // A repeated revocation needs a repeated reply, even if the gate has nothing left to do.
  for (const LeaseShare& share : message.shares) {
    for (const NodeGpus& part : share.gpus) report(step, part.node, nodes_[part.node]);
  }
  return step;
}

void LeaseAgent::take(const LeaseShare& share) {
  for (const NodeGpus& part : share.gpus) {
    Node& node = nodes_[part.node];
    for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
      if ((part.gpus & bit(g)) == 0) continue;
      Want& want = node.want[g];
      if (share.epoch < want.epoch || (share.epoch == want.epoch && !share.revoked)) continue;
      want.give_back = want.give_back && share.epoch == want.epoch && !share.revoked;
      want.released = want.released && share.epoch == want.epoch;
      want.epoch = share.epoch;
      want.close = share.revoked;
    }
  }
}

// Commands that bring the gate from its last known status to the wanted state.
void LeaseAgent::drive(AgentStep& step, sched::NodeId id, const Node& node) const {
  std::map<std::pair<LeaseEpoch, bool>, std::uint16_t> wanted;
  bool unknown = false;
  for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
    const Want& want = node.want[g];
    if (want.epoch == 0) continue;
    unknown = unknown || node.seen.boot == 0;
    const bool done = want.close ? node.seen.floor[g] >= want.epoch : node.seen.open[g] == want.epoch;
    if (!done) set(wanted[{want.epoch, want.close}], g);
  }
  if (unknown) {
    step.commands.push_back({GateCommand::Kind::probe, owner_, id, 0, 0, 0});
    return;
  }
  for (const auto& [what, gpus] : wanted) {
    const auto kind = what.second ? GateCommand::Kind::close : GateCommand::Kind::open;
    step.commands.push_back({kind, owner_, id, node.seen.boot, what.first, gpus});
  }
}

void LeaseAgent::say(AgentStep& step, AgentMessage::Kind kind, LeaseEpoch epoch, sched::NodeId node,
                     std::uint16_t gpus) const {
  if (gpus != 0) step.messages.push_back({kind, owner_, session_, epoch, {{node, gpus}}, {}});
}

// Evidence for the table: what is open under its epoch, and what is permanently closed and idle.
void LeaseAgent::report(AgentStep& step, sched::NodeId id, Node& node) const {
  std::map<LeaseEpoch, std::uint16_t> held;
  std::map<LeaseEpoch, std::uint16_t> released;
  for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
    Want& want = node.want[g];
    if (want.epoch == 0) continue;
    if (!want.close && node.seen.open[g] == want.epoch) set(held[want.epoch], g);
    const bool idle = (node.seen.running & bit(g)) == 0;
    if (want.close && idle && node.seen.floor[g] >= want.epoch) {
      set(released[want.epoch], g);
      want.released = true;
    }
  }
  for (const auto& [epoch, gpus] : held) say(step, AgentMessage::Kind::held, epoch, id, gpus);
  for (const auto& [epoch, gpus] : released) say(step, AgentMessage::Kind::released, epoch, id, gpus);
  report_intruders(step, id, node, false);
}

// Work on a GPU without a lease in this session was not admitted by any lease. `again`: also resends earlier reports,
// since they may have been lost.
void LeaseAgent::report_intruders(AgentStep& step, sched::NodeId id, Node& node, bool again) const {
  if (!welcomed_ || node.seen.boot == 0) return;
  std::uint16_t now = 0;
  for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
    const bool leased = node.want[g].epoch != 0 && !node.want[g].released;
    if ((node.seen.running & bit(g)) != 0 && !leased) set(now, g);
  }
  const auto fresh = static_cast<std::uint16_t>(again ? now : now & ~node.intruding);
  const auto over = static_cast<std::uint16_t>(node.intruding & ~now);
  node.gone = static_cast<std::uint16_t>((node.gone | over) & ~now);
  node.intruding = now;
  if (fresh != 0) {
    step.messages.push_back(
        {AgentMessage::Kind::intruding, owner_, session_, 0, {{id, fresh}}, node.seen.note.substr(0, kMaxHolder)});
  }
  say(step, AgentMessage::Kind::gone, 0, id, again ? node.gone : over);
}

AgentStep LeaseAgent::receive(const GateStatus& status) {
  AgentStep step;
  if (status.owner != owner_ || status.boot == 0) return step;
  Node& node = nodes_[status.node];
  const bool anew = status.boot > node.seen.boot;
  if (status.boot < node.seen.boot || (!anew && status.serial < node.seen.serial)) return step;
  const bool changed = anew || status.serial > node.seen.serial;
  node.seen = status;
  if (anew && session_.turn > 0) {
    begin_session(step);
  } else if (welcomed_) {
    if (changed) drive(step, status.node, node);  // a command that changed nothing would be resent forever
    report(step, status.node, node);
  }
  return step;
}

AgentStep LeaseAgent::give_back(const GpuSet& gpus) {
  for (const NodeGpus& part : gpus) {
    const auto node = nodes_.find(part.node);
    if (node == nodes_.end()) continue;
    for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
      Want& want = node->second.want[g];
      if ((part.gpus & bit(g)) != 0 && want.epoch != 0 && !want.close) want.give_back = true;
    }
  }
  return tick();
}

AgentStep LeaseAgent::tick() {
  AgentStep step;
  if (session_.turn == 0) {
    begin_session(step);
    return step;
  }
  if (!welcomed_) {
    step.messages.push_back({AgentMessage::Kind::hello, owner_, session_, 0, {}, {}});
    return step;
  }
  step.messages.push_back({AgentMessage::Kind::alive, owner_, session_, 0, {}, {}});
  for (auto& [id, node] : nodes_) {
    const std::size_t before = step.commands.size();
    drive(step, id, node);
    report_intruders(step, id, node, true);
    bool ask = node.intruding != 0;
    std::map<LeaseEpoch, std::uint16_t> unwanted;
    for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
      const Want& want = node.want[g];
      ask = ask || (want.epoch != 0 && !want.released);
      if (want.give_back) set(unwanted[want.epoch], g);
    }
    // A gate reports a start and the end of a drain unprompted, but that report can be lost.
    if (ask && step.commands.size() == before) {
      step.commands.push_back({GateCommand::Kind::probe, owner_, id, 0, 0, 0});
    }
    for (const auto& [epoch, mask] : unwanted) say(step, AgentMessage::Kind::give_back, epoch, id, mask);
  }
  return step;
}

const GateStatus* LeaseAgent::seen(sched::NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() || found->second.seen.boot == 0 ? nullptr : &found->second.seen;
}

std::string LeaseAgent::state() const {
  std::string text =
      fmt::format("{} {}.{} {}", static_cast<int>(owner_), session_.start, session_.turn, welcomed_ ? 1 : 0);
  for (const auto& [id, node] : nodes_) {
    const GateStatus& seen = node.seen;
    append_format(text, "\nn{} {}.{} {} {} {} {}", sched::index_of(id), seen.boot, seen.serial, seen.running,
                  node.intruding, node.gone, seen.note);
    for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
      const Want& want = node.want[g];
      if (want == Want{} && seen.open[g] == 0 && seen.floor[g] == 0) continue;
      append_format(text, " {}:{}.{}{}{}.{}.{}", g, want.epoch, want.close ? 1 : 0, want.give_back ? 1 : 0,
                    want.released ? 1 : 0, seen.open[g], seen.floor[g]);
    }
  }
  return text;
}

}  // namespace weft::lease
