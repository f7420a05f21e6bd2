// The controller, event by event. Faults and their combinations are left to the simulation (world/sim).
#include "control/controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/test_places.h"
#include "control/checkpoint_interval.h"
#include "control/controller_test_support.h"

namespace weft::control {
namespace {

TEST_F(ControllerTest, GangRunsToItsEnd) {
  const JobNumber number = submit(4, 1001);
  ASSERT_NE(last<StartAttempt>(), nullptr);
  EXPECT_EQ(last<StartAttempt>()->slots.size(), 4U);
  EXPECT_EQ(job(number).state, JobState::starting);
  report_parts(PartPhase::running, 0, 1002);
  EXPECT_EQ(job(number).state, JobState::running);
  report_parts(PartPhase::exited, 0, 1100);
  EXPECT_EQ(controller->state().find_job(number), nullptr);
  EXPECT_EQ(controller->state().find_ended(number)->state, JobState::done);
  const Result<ControlState> parsed = ControlState::parse(machine_of(8), controller->state().to_text());
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->find_ended(number)->state, JobState::done);
  EXPECT_EQ(parsed->find_ended(number + 1), nullptr);
}

TEST_F(ControllerTest, RecordOfAnOperationPrecedesItsCommand) {
  submit(2, 1001);
  const OperationId operation = last<StartAttempt>()->operation;
  EXPECT_TRUE(std::any_of(step.records.begin(), step.records.end(), [&](const Record& record) {
    return record.kind == RecordKind::attempt_starting && record.operation == operation;
  }));
}

TEST_F(ControllerTest, NextAttemptWaitsUntilEveryPartIsSealed) {
  const JobNumber number = submit(2, 1001);
  report_parts(PartPhase::running, 0, 1002);
  const StartAttempt first = *last<StartAttempt>();
  send(PartReport{first.name, first.slots[0].node, first.boots[0], PartPhase::exited, true, 9, "killed", at(1010)},
       1010);
  EXPECT_EQ(job(number).state, JobState::stopping);
  ASSERT_NE(last<StopAttempt>(), nullptr);
  EXPECT_EQ(last<StopAttempt>()->nodes, std::vector<sched::NodeId>{first.slots[1].node});
  for (std::int64_t t = 1015; t < 2000; t += 5) {
    report_nodes(t);
    send(Tick{}, t);
  }
  EXPECT_EQ(count<StartAttempt>(), 1U) << "no timeout replaces the evidence";
  send(PartReport{first.name, first.slots[1].node, first.boots[1], PartPhase::absent, false, 0, "", at(2000)}, 2000);
  EXPECT_EQ(count<StartAttempt>(), 1U) << "absent is not sealed: the start may be on its way";
  send(PartReport{first.name, first.slots[1].node, first.boots[1], PartPhase::exited, true, 143, "", at(2001)}, 2001);
  EXPECT_EQ(job(number).failures, 1);
  send(Tick{}, 2012);
  EXPECT_EQ(count<StartAttempt>(), 2U);
  EXPECT_EQ(last<StartAttempt>()->name.attempt, 2U);
}

TEST_F(ControllerTest, HoldsAJobAfterTooManyFailures) {
  const JobNumber number = submit(1, 1001);
  report_parts(PartPhase::exited, 1, 1002);
  send(Tick{}, 1020);
  report_parts(PartPhase::exited, 1, 1021);
  EXPECT_TRUE(job(number).held);
  EXPECT_NE(job(number).reason.find("2 failures"), std::string::npos) << job(number).reason;
  Request release;
  release.kind = RequestKind::release;
  release.user = "alice";
  release.job = number;
  send(release, 1100);
  EXPECT_FALSE(job(number).held);
  EXPECT_EQ(count<StartAttempt>(), 3U);
}

TEST_F(ControllerTest, NodeFailuresDoNotCount) {
  const JobNumber number = submit(1, 1001);
  for (int i = 0; i < 5; ++i) {
    report_parts(PartPhase::running, 0, 1002 + 2000 * i);
    const StartAttempt start = *last<StartAttempt>();
    const sched::NodeId node = start.slots[0].node;
    const std::int64_t now = 1003 + 2000 * i;
    send(NodeReport{node, 5000U + static_cast<BootId>(i), Health::healthy, {}, at(now)}, now);
    for (std::int64_t t = now; t < now + 1999; t += 20) {
      for (std::uint32_t n = 0; n < 8; ++n) {
        send(NodeReport{static_cast<sched::NodeId>(n), 0, Health::healthy, {}, at(t)}, t);
        const Node& known = controller->state().node(static_cast<sched::NodeId>(n));
        send(NodeReport{static_cast<sched::NodeId>(n), known.boot, Health::healthy, {}, at(t)}, t);
      }
      send(Tick{}, t);
      if (last<StartAttempt>()->name.attempt > start.name.attempt) break;
    }
  }
  EXPECT_EQ(job(number).failures, 0);
  EXPECT_FALSE(job(number).held);
  EXPECT_EQ(job(number).attempts, 6U);
}

TEST_F(ControllerTest, SameKeyIsTheSameJob) {
  const JobNumber first = submit(1, 1001, "key");
  const JobNumber again = submit(1, 1002, "key");
  EXPECT_EQ(first, again);
  EXPECT_NE(submit(1, 1003, "other"), first);
  Request different = request_of(2);
  different.key = "key";
  send(different, 1004);
  EXPECT_EQ(step.answers.back().code, ErrorCode::conflict);
  for (const JobNumber number : {first, first + 1}) EXPECT_TRUE(ask(RequestKind::cancel, number, 1005).ok);
  for (const Command& command : std::vector<Command>(step.commands)) {
    const auto* stop = std::get_if<StopAttempt>(&command);
    if (stop == nullptr) continue;
    for (const sched::NodeId node : stop->nodes) {
      send(PartReport{stop->name, node, 100 + sched::index_of(node), PartPhase::absent, true, 0, "", at(1006)}, 1006);
    }
  }
  ASSERT_NE(controller->state().find_ended(first), nullptr);
  EXPECT_EQ(submit(1, 1007, "key"), first) << "also when it has ended";
  send(different, 1008);
  EXPECT_EQ(step.answers.back().code, ErrorCode::conflict);
}

TEST_F(ControllerTest, AmbiguousStartIsNotRepeated) {
  submit(1, 1001);
  send(CommandReply{last<StartAttempt>()->operation, ReplyKind::ambiguous, "timeout"}, 1002);
  for (std::int64_t t = 1010; t < 1110; t += 10) {
    report_nodes(t);
    send(Tick{}, t);
  }
  EXPECT_EQ(count<StartAttempt>(), 1U);
  send(Tick{}, 1130);
  EXPECT_EQ(count<StopAttempt>(), 1U) << "after the deadline it is stopped and sealed first";
}

TEST_F(ControllerTest, StartThatWasLostInARestartIsNotAwaited) {
  const JobNumber number = submit(2, 1001);
  const StartAttempt start = *last<StartAttempt>();
  Step begun;
  controller->begin(at(1010), begun);
  const Term next = std::get<QueryInventory>(begun.commands.front()).term;
  Inventory inventory;
  inventory.observed = at(1011);
  for (const sched::Slot& slot : start.slots)
    inventory.nodes.push_back({slot.node, 100 + sched::index_of(slot.node), {}, next - 1});
  send(inventory, 1011);
  EXPECT_EQ(job(number).state, JobState::starting) << "the node may still obey the earlier term";
  for (NodeInventory& node : inventory.nodes) node.term = next;
  inventory.nodes.front().running = {start.name};
  send(inventory, 1012);
  EXPECT_EQ(job(number).state, JobState::stopping);
  EXPECT_EQ(last<StopAttempt>()->nodes.size(), 2U);
}

TEST_F(ControllerTest, RefusedStartMayBeRepeated) {
  submit(1, 1001);
  const OperationId first = last<StartAttempt>()->operation;
  send(CommandReply{first, ReplyKind::transient, "busy"}, 1002);
  EXPECT_EQ(count<StartAttempt>(), 2U);
  EXPECT_NE(last<StartAttempt>()->operation, first);
  EXPECT_EQ(last<StartAttempt>()->name.attempt, 1U);
}

TEST_F(ControllerTest, SilentNodeIsNotUsedAndNotRepaired) {
  for (std::int64_t t = 1010; t < 3000; t += 10) {
    for (std::uint32_t n = 1; n < 8; ++n) {
      send(NodeReport{static_cast<sched::NodeId>(n), 100 + n, Health::healthy, {}, at(t)}, t);
    }
    send(Tick{}, t);
  }
  EXPECT_FALSE(controller->is_usable(sched::NodeId{0}));
  EXPECT_EQ(controller->state().node(sched::NodeId{0}).health, Health::unknown);
  EXPECT_EQ(count<PowerCycle>(), 0U);
  EXPECT_EQ(count<CordonNode>(), 0U);
}

TEST_F(ControllerTest, RepairSessionRunsItsSteps) {
  const sched::NodeId node{2};
  send(NodeReport{node, 102, Health::fatal, "Xid 79", at(1010)}, 1010);
  ASSERT_EQ(count<CordonNode>(), 1U);
  send(CordonReport{node, true, "weft:1", at(1011)}, 1011);
  send(Tick{}, 1012);
  ASSERT_EQ(count<PowerCycle>(), 1U);
  send(PowerReport{last<PowerCycle>()->operation, node, true, false, "", at(1030)}, 1030);
  send(NodeReport{node, 900, Health::healthy, {}, at(1200)}, 1200);
  ASSERT_EQ(count<ValidateNode>(), 1U);
  send(ValidationReport{last<ValidateNode>()->operation, node, 900, true, "", at(1260)}, 1260);
  ASSERT_EQ(count<CordonNode>(), 2U);
  EXPECT_FALSE(last<CordonNode>()->cordon);
  send(CordonReport{node, false, "", at(1261)}, 1261);
  EXPECT_FALSE(controller->state().node(node).session.has_value());
  EXPECT_TRUE(controller->is_usable(node));
}

TEST_F(ControllerTest, ManualUncordonEndsTheSession) {
  const sched::NodeId node{2};
  send(NodeReport{node, 102, Health::fatal, "Xid 79", at(1010)}, 1010);
  send(CordonReport{node, true, "weft:1", at(1011)}, 1011);
  send(CordonReport{node, false, "", at(1012)}, 1012);
  send(Tick{}, 1013);
  EXPECT_EQ(count<PowerCycle>(), 0U);
  EXPECT_FALSE(controller->state().node(node).session.has_value());
}

TEST_F(ControllerTest, BreakerLimitsRepairs) {
  for (std::uint32_t n = 0; n < 4; ++n) {
    send(NodeReport{static_cast<sched::NodeId>(n), 100 + n, Health::fatal, "Xid 79", at(1010 + n)}, 1010 + n);
  }
  EXPECT_EQ(controller->state().open_sessions(), 1U) << "10 % of 8 nodes, at least one";
}

TEST_F(ControllerTest, BreakerLimitsRepairsPerLeaf) {
  ControllerOptions options;
  options.breaker.total = options.breaker.rack = options.breaker.pool = 1;
  controller = std::make_unique<Controller>(machine_of(8), options);
  step = {};
  controller->begin(at(1000), step);
  report_nodes(1000);
  for (std::uint32_t n = 0; n < 4; ++n) {
    send(NodeReport{static_cast<sched::NodeId>(n), 100 + n, Health::fatal, "Xid 79", at(1010 + n)}, 1010 + n);
  }
  EXPECT_EQ(controller->state().open_sessions(), 2U) << "25 % of 8 nodes";
  EXPECT_EQ(controller->why_not_repaired(sched::NodeId{3}), "2 nodes of the leaf are in repair");
}

TEST_F(ControllerTest, BreakerLimitsRepairsPerTenant) {
  ControllerOptions options;
  options.breaker.total = options.breaker.rack = options.breaker.leaf = options.breaker.pool = 1;
  controller = std::make_unique<Controller>(machine_of(8), options);
  step = {};
  controller->begin(at(1000), step);
  report_nodes(1000);
  Request request = request_of(4);
  request.spec.shape.tenant = "research";
  submit(request, 1001);
  const StartAttempt start = *last<StartAttempt>();
  report_parts(PartPhase::running, 0, 1002);
  for (std::size_t i = 0; i < 2; ++i) {
    send(NodeReport{start.slots[i].node, start.boots[i], Health::fatal, "Xid 79", at(1010)}, 1010);
  }
  ASSERT_EQ(controller->state().open_sessions(), 1U) << "25 % of 4 nodes";
  EXPECT_EQ(controller->state().node(start.slots[0].node).session->tenants, std::vector<std::string>{"research"});
  EXPECT_EQ(controller->why_not_repaired(start.slots[1].node), "1 of 4 nodes of tenant research are in repair");
  const Result<ControlState> parsed = ControlState::parse(machine_of(8), controller->state().to_text());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->to_text(), controller->state().to_text());
  for (std::uint32_t n = 0; n < 8; ++n) {
    const auto node = static_cast<sched::NodeId>(n);
    if (!controller->state().jobs_on(node).empty()) continue;
    send(NodeReport{node, 100 + n, Health::fatal, "Xid 79", at(1011)}, 1011);
    EXPECT_TRUE(controller->state().node(node).session.has_value()) << "idle nodes count for no tenant";
  }
}

TEST_F(ControllerTest, ForeignCordonIsLeftAlone) {
  const sched::NodeId node{3};
  send(CordonReport{node, true, "admin", at(1005)}, 1005);
  EXPECT_FALSE(controller->is_usable(node));
  send(NodeReport{node, 103, Health::fatal, "Xid 79", at(1010)}, 1010);
  send(Tick{}, 1200);
  EXPECT_EQ(count<CordonNode>(), 0U);
  EXPECT_EQ(count<PowerCycle>(), 0U);
}

TEST_F(ControllerTest, InventoryCorrectsAWrongBoot) {
  const sched::NodeId node{2};
  send(NodeReport{node, 90, Health::healthy, {}, at(1010)}, 1010);  // stuck: an earlier boot, lost from the journal
  EXPECT_EQ(controller->state().node(node).boot, 90U);
  Inventory inventory;
  inventory.nodes.push_back({node, 102, {}, term()});
  inventory.observed = at(1005);
  send(inventory, 1011);
  EXPECT_EQ(controller->state().node(node).boot, 90U) << "observed before: stale";
  inventory.observed = at(1020);
  send(inventory, 1020);
  EXPECT_EQ(controller->state().node(node).boot, 102U);
  send(NodeReport{node, 102, Health::healthy, {}, at(1021)}, 1021);
  EXPECT_TRUE(controller->is_usable(node));
}

TEST_F(ControllerTest, SnapshotRestoresTheState) {
  submit(4, 1001);
  submit(4, 1001, "key");
  submit(8, 1001);
  report_parts(PartPhase::running, 0, 1002);
  send(NodeReport{sched::NodeId{7}, 107, Health::fatal, "Xid 79", at(1010)}, 1010);
  const std::string text = controller->state().to_text();
  const Result<ControlState> parsed = ControlState::parse(machine_of(8), text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->to_text(), text);
  EXPECT_EQ(parsed->open_sessions(), 1U);
  EXPECT_EQ(parsed->unclaimed(sched::NodeId{0}), controller->state().unclaimed(sched::NodeId{0}));
  ControlState replayed(machine_of(8));
  for (const Record& record : step.records) ASSERT_TRUE(replayed.apply(record).ok());
  EXPECT_EQ(replayed.to_text(), text);
}

TEST_F(ControllerTest, SnapshotRestoresEveryCharge) {
  submit(1, 1001);
  for (Record& record : step.records) {
    if (record.kind == RecordKind::attempt_placed) record.code = static_cast<std::uint8_t>(sched::Charge::surplus);
  }
  ControlState replayed(machine_of(8));
  for (const Record& record : step.records) ASSERT_TRUE(replayed.apply(record).ok());
  ASSERT_EQ(replayed.find_job(1)->current->charge, sched::Charge::surplus);
  const Result<ControlState> parsed = ControlState::parse(machine_of(8), replayed.to_text());
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->find_job(1)->current->charge, sched::Charge::surplus);
}

TEST(Transitions, DiagramsShowEveryTransition) {
  const std::string jobs = draw_job_diagram();
  for (const Transition<JobState>& t : job_transitions()) {
    EXPECT_NE(jobs.find(std::string(t.when)), std::string::npos);
    EXPECT_FALSE(is_final(t.from)) << "a final state has no transition";
  }
  EXPECT_FALSE(is_allowed(JobState::queued, RecordKind::attempt_starting, JobState::starting));
  EXPECT_FALSE(is_allowed(SessionStep::quarantine, SessionStep::remediate)) << "no power cycle without a drain";
}

TEST(Transitions, TheDocumentationShowsTheDiagrams) {
  const Result<std::string> page = read_file(source_dir() + "/docs/operate.md");
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find(draw_job_diagram()), std::string::npos) << draw_job_diagram();
  EXPECT_NE(page->find(draw_session_diagram()), std::string::npos) << draw_session_diagram();
  EXPECT_NE(page->find(draw_lease_diagram()), std::string::npos) << draw_lease_diagram();
}

TEST(CheckpointInterval, FollowsYoungAndDaly) {
  // 3.79 interruptions per 1,000 node-days on 2,048 nodes: one in 3.09 h. Young: sqrt(2 * 30 s * 11,131 s) = 817 s.
  const double interval = static_cast<double>(checkpoint_interval(sched::seconds(30), 3.79, 2048).count()) * 1e-9;
  EXPECT_NEAR(interval, 817 * (1 + std::sqrt(30 / 22262.0) / 3 + 30 / 22262.0 / 9) - 30, 3);
  EXPECT_EQ(checkpoint_interval(sched::seconds(30), 0, 1), sched::seconds(7 * 86'400));
  EXPECT_LT(checkpoint_interval(sched::seconds(30), 3.79, 4096), checkpoint_interval(sched::seconds(30), 3.79, 1024));
}

}  // namespace
}  // namespace weft::control
