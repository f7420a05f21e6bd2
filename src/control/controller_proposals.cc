// Proposals: what the controller would do to a node if the stage were enabled there. One record per decision, and one
// when the decision is over; nothing is sent.
#include <fmt/format.h>

#include "base/human_format.h"
#include "control/controller.h"

namespace weft::control {

void Controller::propose(sched::NodeId id, Stage stage, std::string reason, Step& step) {
  const Node& node = state_.node(id);
  if (node.proposal && node.proposal->stage == stage) return;
  if (node.proposal) withdraw(id, fmt::format("replaced by {}", verb_of(stage)), step);
  Record proposed = record(RecordKind::stage_proposed);
  proposed.node = id;
  proposed.code = static_cast<std::uint8_t>(stage);
  proposed.session = node.session ? node.session->id : 0;
  proposed.text = std::move(reason);
  emit(step, std::move(proposed));
}

void Controller::withdraw(sched::NodeId id, std::string why, Step& step) {
  Record ended = record(RecordKind::proposal_ended);
  ended.node = id;
  ended.code = static_cast<std::uint8_t>(state_.node(id).proposal->stage);
  ended.text = std::move(why);
  emit(step, std::move(ended));
}

// An unknown health ends nothing: the node may be as it was.
std::string Controller::why_proposal_is_over(sched::NodeId id) const {
  const Node& node = state_.node(id);
  const Proposal& proposal = *node.proposal;
  if (options_.stages.allows(proposal.stage, id)) return fmt::format("{} is enabled", to_text(proposal.stage));
  if (proposal.stage == Stage::quarantine) {
    if (node.session) return "a repair session was opened";
    if (node.drained) return fmt::format("drained by {}", node.drained_by);
    if (node.cordoned) return "cordoned by " + node.cordon_owner;
    const bool holds = node.health == Health::fatal || node.health == Health::unknown;
    return holds ? std::string() : std::string(to_text(node.health));
  }
  if (!node.session || node.session->id != proposal.session) return "its repair session has ended";
  const SessionStep expected = proposal.stage == Stage::drain ? SessionStep::drain : SessionStep::person;
  return node.session->step == expected ? std::string() : fmt::format("now at {}", to_text(node.session->step));
}

void Controller::check_proposal(sched::NodeId id, Step& step) {
  if (!state_.node(id).proposal) return;
  if (std::string why = why_proposal_is_over(id); !why.empty()) withdraw(id, std::move(why), step);
}

// Work of the engine's own jobs on a node in repair: asks the engine to move it away, once, where that is enabled. True
// while the session has to wait for it.
bool Controller::waits_for_engine_jobs(sched::NodeId id, Step& step) {
  const std::uint32_t work = heard_[sched::index_of(id)].work;
  if (work == 0) return false;
  const Session& session = *state_.node(id).session;
  if (!options_.stages.allows(Stage::drain, id)) {
    propose(id, Stage::drain, fmt::format("{} of the engine run there; {}", plural(work, "job"), session.cause), step);
    return true;
  }
  if (state_.format() < 3) return true;
  Heard& heard = heard_[sched::index_of(id)];
  if (session.operation != 0) {
    // What was asked may have been lost, or refused for now: it is repeated as the same operation.
    if (now_ - heard.evicted >= options_.stop_repeat)
      step.commands.emplace_back(CordonNode{session.operation, session.id, id, true, true});
    if (now_ - heard.evicted >= options_.stop_repeat) heard.evicted = now_;
    return true;
  }
  heard.evicted = now_;
  Record moved = record(RecordKind::session_step);
  moved.node = id;
  moved.session = session.id;
  moved.code = static_cast<std::uint8_t>(SessionStep::drain);
  moved.operation = next_operation();
  moved.text = fmt::format("moves {} away", plural(work, "job"));
  CordonNode command{moved.operation, session.id, id, true, true};
  if (emit(step, std::move(moved))) step.commands.emplace_back(command);
  return true;
}

}  // namespace weft::control
