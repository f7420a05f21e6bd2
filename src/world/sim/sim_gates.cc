// Two engines on the same nodes of the simulated world: gates, jobs that people submit to an engine beside weft, lists
// of the schedulers, and the check that no node is open or in use at the gates of two engines.
#include <fmt/format.h>

#include <algorithm>

#include "world/sim/sim_plan.h"
#include "world/sim/sim_world.h"

namespace weft::world {

using namespace control;  // NOLINT(google-build-using-namespace): every name here is one of the controller's
using lease::LeaseOwner;

namespace {

std::size_t place_of(LeaseOwner engine) { return static_cast<std::size_t>(engine); }
constexpr std::uint16_t kNode = 1;  // a lease covers the node: GPU 0 of the protocol's gate is used for all of it

}  // namespace

void SimWorld::enable_leases(std::vector<LeaseOwner> engines, Defect defect) {
  engines_ = std::move(engines);
  defect_ = defect;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) reset_gates(static_cast<sched::NodeId>(n));
  for (const LeaseOwner engine : engines_) {
    later(sched::seconds(1), [this, engine] { list_jobs(engine); });
  }
}

// A gate starts closed; nothing survives the boot.
void SimWorld::reset_gates(sched::NodeId id) {
  if (engines_.empty()) return;
  SimNode& node = at(id);
  node.gates.clear();
  for (int owner = 0; owner < lease::kLeaseOwners; ++owner)
    node.gates.emplace_back(static_cast<LeaseOwner>(owner), id, node.boot);
  node.bare = false;
  for (auto& [number, job] : node.foreign) job.step = job.escaped = job.device = false;
}

LeaseOwner SimWorld::engine_of(JobNumber job) const {
  const auto found = jobs_.find(job);
  const LeaseOwner engine = found == jobs_.end() || !found->second.spec ? LeaseOwner::none : found->second.spec->engine;
  return engine != LeaseOwner::none || engines_.empty() ? engine : engines_.front();
}

bool SimWorld::admits(sched::NodeId id, LeaseOwner engine) const {
  return engines_.empty() || at(id).gates[place_of(engine)].status().open[0] != 0;
}

std::uint32_t SimWorld::count_steps(sched::NodeId id, LeaseOwner engine) const {
  std::uint32_t steps = 0;
  for (const auto& [name, process] : at(id).processes) steps += engine_of(name.job) == engine ? 1U : 0U;
  for (const auto& [number, job] : at(id).foreign) steps += job.engine == engine && job.step ? 1U : 0U;
  return steps;
}

bool SimWorld::uses(sched::NodeId id, LeaseOwner engine) const {
  const SimNode& node = at(id);
  const bool escaped = std::any_of(node.foreign.begin(), node.foreign.end(), [&](const auto& each) {
    return each.second.engine == engine && each.second.escaped;
  });
  return node.alive && (admits(id, engine) || count_steps(id, engine) > 0 || escaped);
}

void SimWorld::check_engines(sched::NodeId id) {
  LeaseOwner found = LeaseOwner::none;
  for (const LeaseOwner engine : engines_) {
    if (!uses(id, engine)) continue;
    if (found != LeaseOwner::none) {
      violate(fmt::format("1: node {} is open or in use at the gates of {} and {}", sched::index_of(id),
                          lease::to_text(found), lease::to_text(engine)));
    }
    found = engine;
  }
}

void SimWorld::on(const LeaseOrder& order) {
  if (engines_.empty()) return;
  SimNode& node = at(order.node);
  const bool answers = time_ >= engine_answers_[place_of(order.engine)];
  if (answers && order.kind != LeaseOrderKind::open) node.cordoned[place_of(order.engine)] = true;
  if (order.kind != LeaseOrderKind::cordon) obey_gate(order.node, order);
  if (answers && order.kind == LeaseOrderKind::open &&
      node.gates[place_of(order.engine)].status().open[0] == order.epoch) {
    node.cordoned[place_of(order.engine)] = false;
  }
  reply(order.operation, ReplyKind::accepted, {});
}

void SimWorld::obey_gate(sched::NodeId id, const LeaseOrder& order) {
  SimNode& node = at(id);
  if (!node.alive || !node.reachable || time_ < node.gate_answers) return;
  if (order.term < node.term && defect_ != Defect::gate_ignores_term) {
    reached_.insert("order of an earlier controller refused");
    return;
  }
  node.term = std::max(node.term, order.term);
  lease::LeaseGate& gate = node.gates[place_of(order.engine)];
  lease::GateCommand command;
  command.kind = order.kind == LeaseOrderKind::open ? lease::GateCommand::Kind::open : lease::GateCommand::Kind::close;
  command.owner = order.engine;
  command.node = id;
  command.boot = defect_ == Defect::gate_ignores_boot ? node.boot : order.boot;
  command.epoch = order.epoch;
  command.gpus = kNode;
  const bool burned = order.epoch <= gate.status().floor[0] && command.boot == node.boot;
  if (burned && order.kind == LeaseOrderKind::open) {
    reached_.insert("old epoch refused by the gate");
    if (defect_ == Defect::old_epoch_opens) gate = lease::LeaseGate(order.engine, id, node.boot);
  }
  gate.receive(command);
  check_engines(id);
  report_gate(id);
}

void SimWorld::report_gate(sched::NodeId id) {
  SimNode& node = at(id);
  if (engines_.empty() || !node.alive || !node.reachable || time_ < node.gate_answers) return;
  GateReport report;
  report.node = id;
  report.boot = node.boot;
  report.term = node.term;
  for (const LeaseOwner engine : engines_) {
    const lease::GateStatus& status = node.gates[place_of(engine)].status();
    report.engines[place_of(engine)] = {status.open[0], status.floor[0], count_steps(id, engine)};
  }
  report.holders = node.bare ? 1 : 0;
  for (auto& [number, job] : node.foreign) {
    if (job.step) job.device = pick("device", 4) != 0;  // a step does not use the GPU all the time
    report.holders += job.device ? 1U : 0U;
  }
  report.holders += static_cast<std::uint32_t>(node.processes.size());
  if (report.holders > 0) report.text = fmt::format("pid 1 of {} holds the device", kSimOperator);
  tell(report);
}

void SimWorld::list_jobs(LeaseOwner engine) {
  later(sched::seconds(10), [this, engine] { list_jobs(engine); });
  if (time_ < engine_answers_[place_of(engine)]) return;
  UseList& old = old_lists_[place_of(engine)];
  if (!old.nodes.empty() && happens(Fault::list_stuck, 30)) {
    tell(old);
    return;
  }
  const bool empty = happens(Fault::list_empty, 30);
  UseList list;
  list.engine = engine;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const auto id = static_cast<sched::NodeId>(n);
    NodeUse use;
    use.node = id;
    use.cordoned = at(id).cordoned[place_of(engine)];
    for (const auto& [name, process] : at(id).processes) use.jobs += engine_of(name.job) == engine ? 1U : 0U;
    for (const auto& [number, job] : at(id).foreign) use.jobs += job.engine == engine && job.listed ? 1U : 0U;
    if (empty) use.jobs = 0;
    if (use.jobs > 0) use.text = fmt::format("a job of {}", kSimOperator);
    list.nodes.push_back(std::move(use));
  }
  if (pick("stick", 20) == 0) old = list;
  tell(list);
}

// A job beside weft: its scheduler places it on a node that is not cordoned, and asks the gate when it starts there.
void SimWorld::submit_foreign(LeaseOwner engine, std::uint64_t id, bool ignores_cordon) {
  if (healed_) return;
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  const std::uint32_t first = pick("foreign", count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto node = static_cast<sched::NodeId>((first + i) % count);
    if (!at(node).alive || (at(node).cordoned[place_of(engine)] && !ignores_cordon)) continue;
    at(node).foreign[id].engine = engine;
    const std::uint32_t delay = 1 + pick("foreign", 20);
    later(sched::seconds(delay), [this, node, id] { enter_foreign(node, id); });
    return;
  }
}

void SimWorld::enter_foreign(sched::NodeId id, std::uint64_t number) {
  SimNode& node = at(id);
  const auto found = node.foreign.find(number);
  if (found == node.foreign.end()) return;
  const LeaseOwner engine = found->second.engine;
  if (!node.alive || !admits(id, engine)) {  // refused: its scheduler requeues it
    if (node.alive) reached_.insert("job beside weft stopped at the gate");
    node.foreign.erase(found);
    later(sched::seconds(60), [this, engine, number] { submit_foreign(engine, number, false); });
    return;
  }
  found->second.step = found->second.device = true;
  reached_.insert("job beside weft runs");
  check_engines(id);
  const std::uint32_t length = 20 + pick("foreign", 900);
  later(sched::seconds(length), [this, id, number] { end_foreign(id, number); });
}

// The scheduler says that it has ended; what runs on the node may last longer.
void SimWorld::end_foreign(sched::NodeId id, std::uint64_t number) {
  const auto found = at(id).foreign.find(number);
  if (found == at(id).foreign.end()) return;
  found->second.listed = false;
  std::uint32_t delay = 1 + pick("foreign", 5);
  if (happens(Fault::step_lingers, 200)) {
    delay += pick("linger", 1200);
    reached_.insert("step outlives its job");
  }
  later(sched::seconds(delay), [this, id, number] { remove_foreign(id, number); });
}

void SimWorld::remove_foreign(sched::NodeId id, std::uint64_t number) {
  const auto found = at(id).foreign.find(number);
  if (found == at(id).foreign.end()) return;
  if (found->second.step && !found->second.escaped && happens(Fault::step_escapes, 200)) {
    found->second.step = false;
    found->second.escaped = found->second.device = true;
    reached_.insert("process outlives its step");
    const std::uint32_t delay = 10 + pick("linger", 1200);
    later(sched::seconds(delay), [this, id, number] { at(id).foreign.erase(number); });
    return;
  }
  at(id).foreign.erase(found);
}

void SimWorld::stir_leases() {
  if (engines_.empty()) return;
  const auto any_node = [&] {
    return static_cast<sched::NodeId>(pick("node", static_cast<std::uint32_t>(nodes_.size())));
  };
  const auto any_engine = [&] { return engines_[pick("engine", static_cast<std::uint32_t>(engines_.size()))]; };
  if (happens(Fault::foreign_job, 60)) {
    const LeaseOwner engine = any_engine();
    submit_foreign(engine, ++last_foreign_, happens(Fault::ignores_cordon, 300));
  }
  if (happens(Fault::bare_process, 10)) {
    const sched::NodeId id = any_node();
    SimNode& node = at(id);
    node.bare = node.alive;
    reached_.insert("GPU used without any engine");
    const std::uint32_t length = 10 + pick("bare", 1200);
    later(sched::seconds(length), [this, id] { at(id).bare = false; });
  }
  if (happens(Fault::engine_down, 4)) {
    const LeaseOwner engine = any_engine();
    engine_answers_[place_of(engine)] = time_ + sched::seconds(20 + pick("outage", 900));
  }
  if (happens(Fault::gate_silent, 6)) {
    const sched::NodeId id = any_node();
    at(id).gate_answers = time_ + sched::seconds(20 + pick("outage", 900));
  }
}

}  // namespace weft::world
