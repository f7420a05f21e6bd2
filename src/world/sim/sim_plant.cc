// The simulated plant: nodes, racks, BMCs, telemetry, cordon marks and people.
#include <fmt/format.h>

#include <algorithm>

#include "world/sim/sim_world.h"

namespace weft::world {

using namespace control;  // NOLINT(google-build-using-namespace): every name here is one of the controller's

void SimWorld::kill_processes(sched::NodeId id) {
  at(id).processes.clear();
  reset_gates(id);
}

void SimWorld::boot(sched::NodeId id) {
  SimNode& node = at(id);
  kill_processes(id);
  node.boot = ++last_boot_;
  reset_gates(id);
  node.started.clear();
  if (pick("seals", 2) == 1) node.sealed.clear();  // kept on a file system in memory
  node.alive = true;
  node.reachable = true;
}

// Every node reports every ten seconds.
void SimWorld::heartbeat(sched::NodeId id) {
  report_health(id);
  if (pick("mark", 4) == 0) report_mark(id);
  report_gate(id);
  later(sched::seconds(10), [this, id] { heartbeat(id); });
}

void SimWorld::report_health(sched::NodeId id) {
  SimNode& node = at(id);
  NodeReport report{id, node.boot, Health::healthy, {}, {}};
  if (!node.alive) {  // its BMC sees that the operating system does not respond
    if (happens(Fault::bmc_silent, 300)) return;
    report.boot = 0;
    report.health = Health::fatal;
    report.signal = "BMC: no response";
  } else if (!node.reachable) {
    if (!happens(Fault::telemetry_stuck, 300)) return;
    report = node.stuck;  // an exporter that repeats its last value, or that of an earlier boot
    report.node = id;
    if (report.boot == 0) return;
  } else if (node.bad) {
    report.health = Health::fatal;
    report.signal = "Xid 79";
    report.plan = node.plan;
  } else if (happens(Fault::telemetry_fatal, 2)) {
    report.health = Health::fatal;
    report.signal = "Xid 48";
    report.plan = draw_plan();
  } else if (happens(Fault::telemetry_stuck, 5) && node.stuck.boot != 0) {
    report = node.stuck;
    report.node = id;
  } else if (pick("stick", 50) == 0) {
    node.stuck = report;
  }
  tell(report);
}

void SimWorld::report_mark(sched::NodeId id) {
  const SimNode& node = at(id);
  tell(CordonReport{id, node.marked, node.mark, {}});
}

void SimWorld::on(const CordonNode& command) {
  SimNode& node = at(command.node);
  const std::string ours = fmt::format("weft:{}", command.session);
  if (command.cordon && !node.marked) {
    node.marked = true;
    node.mark = ours;
  } else if (!command.cordon && node.marked && node.mark == ours) {
    node.marked = false;
    node.mark.clear();
  } else if (node.marked && node.mark != ours) {
    reached_.insert("cordon of someone else left alone");
  }
  reply(command.operation, ReplyKind::accepted, {});
  report_mark(command.node);
}

void SimWorld::stir() {
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  const auto any = [&] { return static_cast<sched::NodeId>(pick("node", count)); };
  if (happens(Fault::node_crash, 4)) {
    const sched::NodeId node = any();
    kill_processes(node);
    at(node).alive = false;
  }
  if (happens(Fault::node_silent, 6)) {
    const sched::NodeId node = any();
    at(node).reachable = false;
    later(sched::seconds(20 + pick("silence", 1800)), [this, node] { at(node).reachable = true; });
  }
  if (happens(Fault::node_reboot, 4)) {
    const sched::NodeId node = any();
    if (at(node).alive) boot(node);
  }
  if (happens(Fault::telemetry_fatal, 4)) break_node(any());
  if (happens(Fault::rack_power, 1)) {
    const std::uint32_t rack = machine_.domain_of(sched::Level::rack, any());
    for (std::uint32_t n = 0; n < count; ++n) {
      const auto node = static_cast<sched::NodeId>(n);
      if (machine_.domain_of(sched::Level::rack, node) != rack) continue;
      kill_processes(node);
      at(node).alive = false;
      later(sched::seconds(60 + pick("boot", 600)), [this, node] { boot(node); });
    }
    reached_.insert("rack lost");
  }
  person_marks();
  stir_leases();
}

void SimWorld::person_marks() {
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  if (happens(Fault::cordon_by_person, 3)) {
    SimNode& node = at(static_cast<sched::NodeId>(pick("node", count)));
    if (!node.marked) {
      node.marked = true;
      node.mark = "admin";
    }
  }
  if (happens(Fault::uncordon_by_person, 20)) {
    for (SimNode& node : nodes_) {
      if (!node.marked) continue;
      if (node.mark != "admin") reached_.insert("uncordon by a person during repair");
      node.marked = false;
      node.mark.clear();
      break;
    }
  }
}

void SimWorld::heal() {
  healed_ = true;
  engine_answers_ = {};
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    SimNode& node = nodes_[n];
    node.reachable = true;
    node.bad = false;
    node.bare = false;
    node.gate_answers = {};
    if (node.marked && node.mark == "admin") {
      node.marked = false;
      node.mark.clear();
    }
    if (!node.alive) boot(static_cast<sched::NodeId>(n));
  }
}

std::string SimWorld::unsettled() const {
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const SimNode& node = nodes_[n];
    if (!node.processes.empty())
      return fmt::format("12: an orphan of job {} runs on node {}", node.processes.begin()->first.job, n);
    if (node.marked) return fmt::format("12: node {} is cordoned by {}", n, node.mark);
  }
  return {};
}

}  // namespace weft::world
