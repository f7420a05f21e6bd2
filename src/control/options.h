// Settings of the controller: scheduling policy, deadlines, and the limits of the blast-radius breaker.
#pragma once

#include <vector>

#include "control/defect.h"
#include "control/record.h"
#include "control/stages.h"
#include "lease/lease.h"
#include "sched/core/scheduler.h"

namespace weft::control {

// Limits of what automatic repair may take out of service at the same time, restarts included.
struct BreakerLimits {
  double total = 0.10;         // of all nodes; at least one
  double rack = 0.25;          // of the nodes of a rack; at least one
  double leaf = 0.25;          // of the nodes below a leaf; at least one
  double pool = 0.10;          // of the nodes of a pool; at least one
  double tenant = 0.25;        // of the nodes that a tenant's jobs use; at least one
  double disappearance = 0.2;  // of all nodes silent at once, and at least 3: tripped, nothing is concluded
};

// Every day at a minute, nodes move to an engine.
struct ScheduledMove {
  std::uint32_t minute = 0;  // of the day, UTC
  lease::LeaseOwner engine = lease::LeaseOwner::none;
  std::vector<sched::NodeId> nodes;
  bool preempt = false;  // stop the jobs of weft there
};

struct ControllerOptions {
  sched::Policy policy{};
  std::vector<sched::TenantPolicy> tenants;
  BreakerLimits breaker{};
  bool repair = true;  // open repair sessions
  StageSet stages{};   // what is not enabled becomes a proposal

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

  Duration drill_deadline = sched::seconds(1800);  // until a job runs on other nodes; then it may use any again
  // An application that cannot read its checkpoint exits: running this long after the restore counts as a proof, as a
  // newer checkpoint or the end of the job does.
  Duration drill_run = sched::seconds(600);

  // Engines of this server; the first runs the jobs that name none. With two or more, every node is leased to one.
  std::vector<lease::LeaseOwner> engines;
  std::vector<lease::LeaseOwner> owners;          // the first owner of each node; empty: the first engine
  std::vector<ScheduledMove> schedule;            // by node and time; of several for a node, the last one before now
  Duration lease_repeat = sched::seconds(30);     // until an order of a lease is repeated
  Duration lease_patience = sched::seconds(600);  // until a move that waits is shown as one that needs an operator

  std::int32_t max_node_failures = 10;  // in a row, without a checkpoint between them; then the job is held
  std::uint32_t max_starts = 3;         // of one attempt, if the engine proves that it did not accept
  // Interruptions per 1,000 node-days, for the checkpoint interval: 3.79 follows from the counts of Llama 3's 54 days
  // on 2,048 nodes (Grattafiori et al., 2024, table 5).
  double interruptions = 3.79;

  // Tests only.
  Defect defect = Defect::none;
  std::uint32_t journal_format = kJournalFormat;  // an older one: writes and accepts only what that version did
};

}  // namespace weft::control
