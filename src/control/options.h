// Settings of the controller: scheduling policy, deadlines, and the limits of the blast-radius breaker.
#pragma once

#include <vector>

#include "control/defect.h"
#include "sched/core/scheduler.h"

namespace weft::control {

// Limits of what automatic repair may take out of service at the same time, restarts included.
struct BreakerLimits {
  double total = 0.10;         // of all nodes; at least one
  double rack = 0.25;          // of the nodes of a rack; at least one
  double pool = 0.10;          // of the nodes of a pool; at least one
  double disappearance = 0.2;  // of all nodes silent at once, and at least 3: tripped, nothing is concluded
};

struct ControllerOptions {
  sched::Policy policy{};
  std::vector<sched::TenantPolicy> tenants;
  BreakerLimits breaker{};
  bool repair = true;  // open repair sessions

  Duration start_timeout = sched::seconds(120);  // until every part was seen running
  Duration stop_repeat = sched::seconds(60);     // beyond the grace period, until a stop is repeated
  Duration stale_after = sched::seconds(60);     // without a report the health of a node is unknown
  Duration inventory_period = sched::seconds(120);
  Duration evidence_age = sched::seconds(120);  // older evidence does not justify a destructive command
  Duration quarantine_deadline = sched::seconds(300);
  Duration drain_deadline = sched::seconds(3600);
  Duration remediate_deadline = sched::seconds(900);
  Duration validate_deadline = sched::seconds(900);
  Duration release_deadline = sched::seconds(300);

  std::int32_t max_node_failures = 10;  // in a row, without a checkpoint between them; then the job is held
  std::uint32_t max_starts = 3;         // of one attempt, if the engine proves that it did not accept
  // Interruptions per 1,000 node-days, for the checkpoint interval: 3.79 follows from the counts of Llama 3's 54 days
  // on 2,048 nodes (Grattafiori et al., 2024, table 5).
  double interruptions = 3.79;

  Defect defect = Defect::none;  // tests only
};

}  // namespace weft::control
