// Leases of nodes, event by event: what a move waits for, and what does not count as evidence.
#include <gtest/gtest.h>

#include <algorithm>

#include "control/controller_test_support.h"

namespace weft::control {
namespace {

constexpr auto kSlurm = LeaseOwner::slurm;
constexpr auto kKube = LeaseOwner::kubernetes;
constexpr sched::NodeId kNode{2};

std::size_t place(LeaseOwner engine) { return static_cast<std::size_t>(engine); }

class LeaseTest : public ControllerTest {
 protected:
  void SetUp() override {
    options.engines = {kSlurm, kKube};
    ControllerTest::SetUp();
    list(kSlurm, 1000);
    list(kKube, 1000);
    for (std::uint32_t n = 0; n < 8; ++n) gate(static_cast<sched::NodeId>(n), 1000);
    obey_orders();
    for (std::uint32_t n = 0; n < 8; ++n) gate(static_cast<sched::NodeId>(n), 1001);
  }

  // The gates and marks of the engines, as the orders so far have set them.
  void obey_orders() {
    for (; obeyed < step.commands.size(); ++obeyed) {
      const auto* order = std::get_if<LeaseOrder>(&step.commands[obeyed]);
      if (order == nullptr) continue;
      EngineGate& gate = gates[sched::index_of(order->node)][place(order->engine)];
      bool& mark = marks[sched::index_of(order->node)][place(order->engine)];
      if (order->kind == LeaseOrderKind::open && order->epoch > gate.floor) {
        gate.open = order->epoch;
        mark = false;
      } else if (order->kind != LeaseOrderKind::open) {
        mark = true;
      }
      if (order->kind == LeaseOrderKind::close) {
        gate.floor = std::max(gate.floor, order->epoch);
        if (gate.open <= gate.floor) gate.open = 0;
      }
    }
  }
  void gate(sched::NodeId node, std::int64_t seconds) {
    GateReport report;
    report.node = node;
    report.boot = 500 + sched::index_of(node);
    report.term = term();
    for (const LeaseOwner engine : {kSlurm, kKube})
      report.engines[place(engine)] = gates[sched::index_of(node)][place(engine)];
    report.holders = holders;
    report.text = holders > 0 ? "pid 4711 (python3) holds /dev/nvidia0" : "";
    report.observed = at(seconds);
    send(report, seconds);
  }
  void list(LeaseOwner engine, std::int64_t seconds) {
    UseList report;
    report.engine = engine;
    for (std::uint32_t n = 0; n < 8; ++n) {
      NodeUse use;
      use.node = static_cast<sched::NodeId>(n);
      use.cordoned = marks[n][place(engine)];
      if (use.node == kNode && engine == kSlurm) use.jobs = slurm_jobs;
      if (use.jobs > 0) use.text = "job 77 of bob";
      report.nodes.push_back(use);
    }
    report.observed = at(seconds);
    send(report, seconds);
  }
  Answer move(LeaseOwner engine, std::int64_t seconds, bool preempt = false, sched::NodeId node = kNode) {
    Request request;
    request.kind = RequestKind::move_lease;
    request.user = "root";
    request.reason = "night";
    request.engine = engine;
    request.preempt = preempt;
    request.nodes = {node};
    send(request, seconds);
    return step.answers.back();
  }
  // Everything that reports does, every ten seconds.
  void pass(std::int64_t from, std::int64_t until) {
    for (std::int64_t t = from; t <= until; t += 10) {
      obey_orders();
      pass_time(t, t);
      list(kSlurm, t);
      list(kKube, t);
      for (std::uint32_t n = 0; n < 8; ++n) gate(static_cast<sched::NodeId>(n), t);
    }
  }
  [[nodiscard]] const NodeLease& lease(sched::NodeId node = kNode) const {
    return controller->state().node(node).lease;
  }

  std::array<std::array<EngineGate, lease::kLeaseOwners>, 8> gates{};
  std::array<std::array<bool, lease::kLeaseOwners>, 8> marks{};
  std::uint32_t slurm_jobs = 0;
  std::uint32_t holders = 0;
  std::size_t obeyed = 0;
};

TEST_F(LeaseTest, EveryNodeIsGrantedToItsFirstOwner) {
  for (std::uint32_t n = 0; n < 8; ++n) {
    EXPECT_EQ(lease(static_cast<sched::NodeId>(n)).owner, kSlurm);
    EXPECT_EQ(lease(static_cast<sched::NodeId>(n)).phase, LeasePhase::held);
    EXPECT_TRUE(controller->is_usable(static_cast<sched::NodeId>(n)));
    for (std::uint32_t m = 0; m < n; ++m)
      EXPECT_NE(lease(static_cast<sched::NodeId>(n)).epoch, lease(static_cast<sched::NodeId>(m)).epoch);
  }
  pass(1010, 1050);
  for (std::uint32_t n = 0; n < 8; ++n) EXPECT_TRUE(marks[n][place(kKube)]) << "Kubernetes keeps away";
}

TEST_F(LeaseTest, JobsStartOnlyOnNodesOfTheirEngine) {
  Request request = request_of(1);
  request.spec.engine = kKube;
  const JobNumber number = submit(request, 1002);
  EXPECT_EQ(job(number).state, JobState::queued);
  move(kKube, 1003);
  pass(1010, 1100);
  EXPECT_EQ(lease().owner, kKube);
  ASSERT_NE(last<StartAttempt>(), nullptr);
  EXPECT_EQ(last<StartAttempt>()->slots[0].node, kNode);
  EXPECT_EQ(last<StartAttempt>()->name.job, number);
  const JobNumber other = submit(8, 1101);
  EXPECT_EQ(job(other).state, JobState::queued) << "Slurm has seven nodes";
  request.spec.engine = LeaseOwner::weft;
  send(request, 1102);
  EXPECT_EQ(step.answers.back().text, "this server has no engine weft");
}

TEST_F(LeaseTest, MoveWaitsForTheJobsThereAndKillsNone) {
  const JobNumber number = submit(8, 1002);
  report_parts(PartPhase::running, 0, 1003);
  EXPECT_EQ(move(kKube, 1005).text, "1 node moves to kubernetes; 1 job there may run to the end");
  pass(1010, 1400);
  EXPECT_EQ(job(number).state, JobState::running);
  EXPECT_EQ(lease().phase, LeasePhase::drain);
  EXPECT_EQ(controller->why_lease_waits(kNode), "job 1 of weft");
  report_parts(PartPhase::exited, 0, 1401);
  pass(1410, 1480);
  EXPECT_EQ(lease().owner, kKube);
  EXPECT_EQ(lease().phase, LeasePhase::held);
  EXPECT_EQ(lease().moves, 1U);
}

TEST_F(LeaseTest, PreemptStopsTheJobsThere) {
  const JobNumber number = submit(8, 1002);
  report_parts(PartPhase::running, 0, 1003);
  move(kKube, 1005, true);
  pass(1010, 1030);
  EXPECT_EQ(job(number).state, JobState::stopping);
  report_parts(PartPhase::exited, 143, 1031);
  EXPECT_EQ(job(number).preemptions, 1) << "not a failure of the job";
  EXPECT_EQ(job(number).failures, 0);
  pass(1040, 1100);
  EXPECT_EQ(lease().owner, kKube);
}

// slurm-bridge #36: a GPU counts as free because the other scheduler said so.
TEST_F(LeaseTest, WordOfTheSchedulerAloneFreesNothing) {
  gates[2][place(kSlurm)].steps = 1;  // a step that slurmctld has forgotten
  move(kKube, 1005);
  pass(1010, 1600);
  EXPECT_EQ(lease().phase, LeasePhase::witness);
  EXPECT_EQ(lease().owner, kSlurm);
  EXPECT_EQ(gates[2][place(kKube)].open, 0U);
  EXPECT_NE(controller->why_lease_waits(kNode).find("slurm runs there"), std::string::npos);
  gates[2][place(kSlurm)].steps = 0;
  holders = 1;  // and a process that has left its step
  pass(1610, 1700);
  EXPECT_EQ(lease().phase, LeasePhase::witness);
  EXPECT_EQ(controller->why_lease_waits(kNode), "a process uses its GPUs: pid 4711 (python3) holds /dev/nvidia0");
  holders = 0;
  pass(1710, 1760);
  EXPECT_EQ(lease().owner, kKube);
}

// slurm-bridge #43: an empty list after a restart ends every job.
TEST_F(LeaseTest, EmptyListAfterARestartEndsNoJobAndMovesNoNode) {
  const JobNumber number = submit(8, 1002);
  report_parts(PartPhase::running, 0, 1003);
  move(kKube, 1005);
  pass(1010, 1050);
  gates[2][place(kSlurm)].steps = 1;
  const ControlState before = *ControlState::parse(machine_of(8), controller->state().to_text());
  controller = std::make_unique<Controller>(before, options);
  step = {};
  obeyed = 0;
  controller->begin(at(1100), step);
  Inventory empty;
  for (std::uint32_t n = 0; n < 8; ++n) empty.nodes.push_back({static_cast<sched::NodeId>(n), 100 + n, {}, term()});
  for (std::int64_t t = 1110; t <= 1400; t += 10) {
    empty.observed = at(t);
    send(empty, t);
    pass(t, t);
  }
  EXPECT_EQ(job(number).state, JobState::running);
  EXPECT_EQ(lease().owner, kSlurm);
  EXPECT_EQ(lease().phase, LeasePhase::drain);
  EXPECT_EQ(gates[2][place(kKube)].open, 0U);
}

TEST_F(LeaseTest, WitnessesFromBeforeTheCloseDoNotCount) {
  move(kKube, 1005);
  pass(1010, 1010);
  ASSERT_EQ(lease().phase, LeasePhase::drain);
  list(kSlurm, 1020);
  ASSERT_EQ(lease().phase, LeasePhase::closing);
  obey_orders();
  gate(kNode, 1021);
  ASSERT_EQ(lease().phase, LeasePhase::witness);
  list(kSlurm, 1021);
  gate(kNode, 1021);
  EXPECT_EQ(lease().phase, LeasePhase::witness) << "observed when the close was seen, not after";
  gate(kNode, 1022);
  EXPECT_EQ(lease().phase, LeasePhase::witness) << "the scheduler has not said anything";
  list(kSlurm, 1022);
  EXPECT_EQ(lease().phase, LeasePhase::opening);
  EXPECT_EQ(lease().owner, kKube);
}

TEST_F(LeaseTest, TimeAloneMovesNothing) {
  move(kKube, 1005);
  for (std::int64_t t = 1010; t < 20'000; t += 10) pass_time(t, t);
  EXPECT_EQ(lease().phase, LeasePhase::cordon);
  EXPECT_EQ(lease().owner, kSlurm);
  EXPECT_NE(controller->lease_advice(kNode), "");
}

TEST_F(LeaseTest, MoveIsCanceledWhileTheGateIsOpen) {
  slurm_jobs = 1;
  move(kKube, 1005);
  pass(1010, 1050);
  ASSERT_EQ(lease().phase, LeasePhase::drain);
  EXPECT_EQ(controller->why_lease_waits(kNode), "job 77 of bob of slurm");
  const LeaseEpoch epoch = lease().epoch;
  EXPECT_EQ(move(kSlurm, 1055).text, "1 node moves to slurm (1 move canceled)");
  pass(1060, 1080);
  EXPECT_EQ(lease().phase, LeasePhase::held);
  EXPECT_EQ(lease().epoch, epoch);
  EXPECT_EQ(lease().moves, 0U);
  EXPECT_TRUE(controller->is_usable(kNode));
}

TEST_F(LeaseTest, RestartedGateIsOpenedAgainUnderTheSameEpoch) {
  const LeaseEpoch epoch = lease().epoch;
  gates[2] = {};
  gate(kNode, 1010);
  EXPECT_EQ(lease().phase, LeasePhase::opening);
  EXPECT_FALSE(controller->is_usable(kNode));
  pass(1020, 1040);
  EXPECT_EQ(lease().phase, LeasePhase::held);
  EXPECT_EQ(lease().epoch, epoch);
  EXPECT_TRUE(controller->is_usable(kNode));
}

TEST_F(LeaseTest, NodeThatIsOffMovesOnceAPersonHasVerifiedIt) {
  submit(8, 1002);
  report_parts(PartPhase::running, 0, 1003);
  move(kKube, 1005);
  pass(1010, 1050);
  Request request;
  request.kind = RequestKind::confirm_off;
  request.node = kNode;
  request.user = "root";
  request.reason = "pulled the plug";
  send(request, 1060);
  EXPECT_EQ(lease().owner, kKube);
  EXPECT_EQ(lease().phase, LeasePhase::opening);
}

TEST_F(LeaseTest, GateThatIsOpenWithoutALeaseIsClosed) {
  gates[2][place(kKube)].open = 3;
  pass(1010, 1100);
  EXPECT_EQ(gates[2][place(kKube)].open, 0U);
  EXPECT_EQ(gates[2][place(kKube)].floor, 3U);
  EXPECT_EQ(lease().owner, kSlurm);
}

TEST_F(LeaseTest, RequestsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(move(LeaseOwner::weft, 1005).text, "this server has no engine weft");
  EXPECT_EQ(move(kKube, 1005, false, sched::NodeId{8}).text, "the cluster has no such node");
  EXPECT_TRUE(move(kSlurm, 1006).ok) << "it is there";
  EXPECT_EQ(lease().phase, LeasePhase::held);
}

// 00:20 Kubernetes, 00:40 Slurm; the test begins at 00:16:40.
class LeaseScheduleTest : public LeaseTest {
 protected:
  void SetUp() override {
    options.schedule = {{20, kKube, {kNode}, false}, {40, kSlurm, {kNode}, false}};
    LeaseTest::SetUp();
  }
};

TEST_F(LeaseScheduleTest, NodesMoveAtTheirTimes) {
  pass(1010, 1190);
  EXPECT_EQ(lease().owner, kSlurm) << "until 00:20 the last time was 00:40 of the day before";
  EXPECT_EQ(lease().policy, kSlurm);
  pass(1200, 1300);
  EXPECT_EQ(lease().owner, kKube);
  EXPECT_EQ(lease().reason, "schedule");
  EXPECT_EQ(lease(sched::NodeId{3}).owner, kSlurm) << "not in the schedule";
  move(kSlurm, 1305);
  pass(1310, 1500);
  EXPECT_EQ(lease().owner, kSlurm) << "a person may move it between the times";
  const std::uint32_t moves = lease().moves;
  pass(2400, 2500);
  EXPECT_EQ(lease().moves, moves) << "it is there already";
  pass(24 * 3600 + 1200, 24 * 3600 + 1300);
  EXPECT_EQ(lease().owner, kKube) << "the next day";
}

TEST_F(LeaseTest, SnapshotAndJournalRestoreIt) {
  move(kKube, 1005, true);
  pass(1010, 1010);
  const std::string text = controller->state().to_text();
  const Result<ControlState> parsed = ControlState::parse(machine_of(8), text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->to_text(), text);
  EXPECT_EQ(parsed->node(kNode).lease.target, kKube);
  ControlState replayed(machine_of(8));
  for (const Record& record : step.records) {
    const Status applied = replayed.apply(*parse_record(to_text(record)));
    ASSERT_TRUE(applied.ok()) << applied.error().text();
  }
  EXPECT_EQ(replayed.to_text(), text);
}

TEST_F(LeaseTest, GrantWithoutEvidenceIsAContradiction) {
  move(kKube, 1005);
  ControlState state = *ControlState::parse(machine_of(8), controller->state().to_text());
  Record granted;
  granted.kind = RecordKind::lease_granted;
  granted.at = at(2000);
  granted.node = kNode;
  granted.code = static_cast<std::uint8_t>(kKube);
  granted.value = 100;
  EXPECT_FALSE(state.apply(granted).ok());
  granted.code = 9;
  EXPECT_FALSE(state.apply(granted).ok());
}

}  // namespace
}  // namespace weft::control
