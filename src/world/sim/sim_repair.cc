// Repair of nodes in the simulated world: broken parts, what cures them, and what every repair step must obey.
#include <fmt/format.h>

#include "world/sim/sim_world.h"

namespace weft::world {

using namespace control;  // NOLINT(google-build-using-namespace): every name here is one of the controller's

// What telemetry proposes, right or wrong.
RepairPlan SimWorld::draw_plan() {
  switch (pick("plan", 5)) {
    case 0:
      return {};
    case 1:
      return {{RepairAction::check, RepairAction::reboot, RepairAction::power_cycle}, ""};
    case 2:
      return {{RepairAction::restart_service, RepairAction::reboot}, "fabric manager"};
    case 3:
      return {{RepairAction::person}, "GPU 3"};
    default:
      return {{RepairAction::reset_gpu, RepairAction::reboot, RepairAction::power_cycle}, "GPU 1"};
  }
}

void SimWorld::break_node(sched::NodeId id) {
  SimNode& node = at(id);
  if (node.bad) return;
  node.bad = true;
  node.plan = draw_plan();
  constexpr RepairAction cures[] = {RepairAction::restart_service, RepairAction::reset_gpu, RepairAction::reboot,
                                    RepairAction::power_cycle, RepairAction::person};
  node.cure = cures[pick("cure", 5)];
}

void SimWorld::cure(sched::NodeId id, RepairAction action) {
  SimNode& node = at(id);
  if (!node.bad || action < node.cure) return;
  node.bad = false;
  reached_.insert(fmt::format("cured by {}", to_text(action)));
}

// Before any repair step: on fresh evidence, under our own mark, none twice, and nothing that leaves processes running
// while jobs run there.
void SimWorld::check_repair(sched::NodeId id, SessionId session, RepairAction action) {
  const SimNode& node = at(id);
  const std::uint32_t index = sched::index_of(id);
  const std::string_view verb = to_text(action);
  if (time_ - node.told_fatal > evidence_age)
    violate(fmt::format("3: node {}: {} without fresh evidence", index, verb));
  if (node.told_owner != fmt::format("weft:{}", session))
    violate(fmt::format("2: node {}: {} in session {}, but `{}` cordons it", index, verb, session, node.told_owner));
  if (!repairs_.insert({session, action}).second && !tolerate_lost_records)
    violate(fmt::format("6: node {}: {} twice in session {}", index, verb, session));
  const bool works = node.alive && node.reachable && !node.processes.empty();
  if (!ends_processes(action) && works && !tolerate_lost_records)
    violate(fmt::format("3: node {}: {} while {} jobs run there", index, verb, node.processes.size()));
}

void SimWorld::on(const RepairNode& command) {
  const SimNode& node = at(command.node);
  if (!node.alive || !node.reachable) {
    if (pick("unreached", 2) == 0) reply(command.operation, ReplyKind::ambiguous, "timeout");
    return;
  }
  if (happens(Fault::repair_refused, 100)) return reply(command.operation, ReplyKind::permanent, "not available");
  reply(command.operation, ReplyKind::accepted, {});
  later(sched::seconds(2 + pick("repair", 30)), [this, command] { repair(command); });
}

void SimWorld::repair(const RepairNode& command) {
  SimNode& node = at(command.node);
  if (!node.alive || !node.reachable) return;
  RepairReport report{command.operation, command.node, node.boot, false, "device busy", {}};
  if (happens(Fault::repair_fails, 200)) return tell(report);
  reached_.insert(std::string(to_text(command.action)));
  if (!happens(Fault::repair_useless, 200)) cure(command.node, command.action);
  if (command.action == RepairAction::reboot) {
    kill_processes(command.node);
    node.alive = false;
    const bool hangs = happens(Fault::reboot_hangs, 200);
    if (!hangs) later(sched::seconds(60 + pick("boot", 240)), [this, id = command.node] { boot(id); });
    return;
  }
  report.done = true;
  report.text = "done";
  tell(report);
}

void SimWorld::on(const PowerCycle& command) {
  if (happens(Fault::bmc_fails, 100)) {
    if (pick("bmc", 2) == 0) {
      reply(command.operation, ReplyKind::permanent, "the BMC refuses");
    } else {
      tell(PowerReport{command.operation, command.node, false, true, "still on", {}});
    }
    return;
  }
  if (happens(Fault::bmc_silent, 100)) return;
  reply(command.operation, ReplyKind::accepted, {});
  later(sched::seconds(5 + pick("power", 60)), [this, command] { power_cycle(command.node, command.operation); });
}

void SimWorld::power_cycle(sched::NodeId id, OperationId operation) {
  kill_processes(id);
  at(id).alive = false;
  cure(id, RepairAction::power_cycle);
  reached_.insert("power cycle");
  tell(PowerReport{operation, id, true, false, "off", {}});
  later(sched::seconds(60 + pick("boot", 240)), [this, id] { boot(id); });
}

void SimWorld::on(const ValidateNode& command) {
  if (happens(Fault::validation_lost, 100)) return;
  reply(command.operation, ReplyKind::accepted, {});
  later(sched::seconds(30 + pick("validate", 60)), [this, command] {
    const SimNode& node = at(command.node);
    if (!node.alive || !node.reachable) return;
    const bool passed = !node.bad && !happens(Fault::validation_fails, 100);
    if (passed) validated_.insert(command.session);
    tell(ValidationReport{command.operation, command.node, node.boot, passed, passed ? "" : "bandwidth too low", {}});
  });
}

}  // namespace weft::world
