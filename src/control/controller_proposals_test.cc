// Watch mode: stages that are not enabled become proposals, once per decision, and nothing is sent.
#include "control/controller_test_support.h"

namespace weft::control {
namespace {

class ProposalTest : public ControllerTest {
 protected:
  void restart(StageSet stages) {
    ControllerOptions options;
    options.stages = std::move(stages);
    controller = std::make_unique<Controller>(machine_of(8), options);
    step = {};
    controller->begin(at(1000), step);
    report_nodes(1000);
  }
  void SetUp() override { restart(StageSet::none(8)); }

  void report_fatal(std::int64_t seconds, std::uint32_t work = 0) {
    send(NodeReport{kNode, 102, Health::fatal, "Slurm: down, not responding", at(seconds), work}, seconds);
    send(Tick{}, seconds);
  }
  [[nodiscard]] std::size_t proposed() const {
    std::size_t count = 0;
    for (const Record& record : step.records) count += record.kind == RecordKind::stage_proposed ? 1U : 0U;
    return count;
  }
  [[nodiscard]] const Node& node() const { return controller->state().node(kNode); }
  // Continues from the journal, as a restart does.
  void reopen(StageSet stages, std::int64_t seconds) {
    const Result<ControlState> parsed = ControlState::parse(machine_of(8), controller->state().to_text());
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    ControlState replayed(machine_of(8));
    for (const Record& record : step.records) {
      const Result<Record> read = parse_record(to_text(record));
      ASSERT_TRUE(read.ok());
      ASSERT_TRUE(replayed.apply(*read).ok());
    }
    ASSERT_EQ(replayed.to_text(), parsed->to_text());
    ControllerOptions options;
    options.stages = std::move(stages);
    controller = std::make_unique<Controller>(*parsed, options);
    step = {};
    controller->begin(at(seconds), step);
  }
  static StageSet enabled(std::initializer_list<Stage> stages) {
    StageSet set = StageSet::none(8);
    for (const Stage stage : stages) set.enable(stage, kNode);
    return set;
  }

  static constexpr sched::NodeId kNode{2};
};

TEST_F(ProposalTest, AFatalNodeIsProposedOnceAndNothingIsSent) {
  for (std::int64_t t = 1010; t < 1400; t += 10) report_fatal(t);
  EXPECT_EQ(proposed(), 1U);
  EXPECT_EQ(count<CordonNode>(), 0U);
  EXPECT_EQ(count<PowerCycle>(), 0U);
  EXPECT_EQ(controller->state().open_sessions(), 0U);
  ASSERT_TRUE(node().proposal.has_value());
  EXPECT_EQ(node().proposal->stage, Stage::quarantine);
  EXPECT_EQ(node().proposal->reason, "Slurm: down, not responding");
  EXPECT_EQ(node().proposal->at, at(1010));
}

TEST_F(ProposalTest, SurvivesARestartWithoutASecondRecord) {
  report_fatal(1010);
  reopen(StageSet::none(8), 1500);
  for (std::int64_t t = 1510; t < 1600; t += 10) report_fatal(t);
  EXPECT_EQ(proposed(), 0U);
  ASSERT_TRUE(node().proposal.has_value());
  EXPECT_EQ(node().proposal->at, at(1010));
}

TEST_F(ProposalTest, EndsWhenTheNodeIsHealthyOrSomebodyTakesOver) {
  report_fatal(1010);
  send(NodeReport{kNode, 0, Health::unknown, "no answer", at(1020)}, 1020);
  EXPECT_TRUE(node().proposal.has_value()) << "an unknown health proves nothing";
  send(NodeReport{kNode, 102, Health::healthy, "", at(1030)}, 1030);
  EXPECT_FALSE(node().proposal.has_value());
  EXPECT_EQ(step.records.back().kind, RecordKind::proposal_ended);
  report_fatal(1040);
  EXPECT_EQ(proposed(), 2U) << "another decision";
  send(CordonReport{kNode, true, "Slurm: bad dimm, by root", at(1050)}, 1050);
  report_fatal(1060);
  EXPECT_FALSE(node().proposal.has_value());
  EXPECT_EQ(proposed(), 2U) << "somebody is at work there";
}

TEST_F(ProposalTest, SilenceOfAllNodesProposesNothing) {
  for (std::int64_t t = 1010; t < 3000; t += 10) send(Tick{}, t);
  EXPECT_EQ(proposed(), 0U);
  EXPECT_TRUE(controller->state().tripped());
}

TEST_F(ProposalTest, TheBreakerLimitsProposalsToo) {
  for (std::uint32_t n = 0; n < 4; ++n) {
    send(NodeReport{static_cast<sched::NodeId>(n), 100 + n, Health::fatal, "down", at(1010)}, 1010);
  }
  EXPECT_EQ(proposed(), 1U) << "10 % of 8 nodes, at least one";
  EXPECT_NE(controller->why_not_repaired(sched::NodeId{1}), "");
}

TEST_F(ProposalTest, EnablingTheStageReplacesTheProposal) {
  report_fatal(1010);
  reopen(enabled({Stage::quarantine}), 1500);
  report_fatal(1510);
  EXPECT_FALSE(node().proposal.has_value());
  ASSERT_TRUE(node().session.has_value());
  EXPECT_EQ(count<CordonNode>(), 1U);
}

TEST_F(ProposalTest, DrainAndRepairAreProposedWhereOnlyQuarantineIsEnabled) {
  restart(enabled({Stage::quarantine}));
  report_fatal(1010, 2);
  ASSERT_EQ(count<CordonNode>(), 1U);
  send(CordonReport{kNode, true, "weft:1", at(1011)}, 1011);
  for (std::int64_t t = 1020; t < 1100; t += 10) report_fatal(t, 2);
  ASSERT_EQ(proposed(), 1U);
  EXPECT_EQ(node().proposal->stage, Stage::drain);
  EXPECT_EQ(node().proposal->reason, "2 jobs of the engine run there; Slurm: down, not responding");
  for (std::int64_t t = 1100; t < 1200; t += 10) report_fatal(t, 0);
  ASSERT_EQ(proposed(), 2U);
  EXPECT_EQ(node().proposal->stage, Stage::repair);
  EXPECT_EQ(node().session->step, SessionStep::person);
  EXPECT_EQ(count<PowerCycle>(), 0U);
  EXPECT_EQ(count<CordonNode>(), 1U);
  Request resume;
  resume.kind = RequestKind::resume;
  resume.node = kNode;
  resume.user = "root";
  send(resume, 1210);
  send(Tick{}, 1211);
  EXPECT_FALSE(node().proposal.has_value()) << "the session goes on";
}

TEST_F(ProposalTest, TheEngineIsAskedToMoveItsJobsWhereDrainIsEnabled) {
  restart(enabled({Stage::quarantine, Stage::drain, Stage::repair}));
  report_fatal(1010, 2);
  send(CordonReport{kNode, true, "weft:1", at(1011)}, 1011);
  for (std::int64_t t = 1020; t < 1080; t += 10) report_fatal(t, 2);
  ASSERT_EQ(count<CordonNode>(), 2U);
  EXPECT_TRUE(last<CordonNode>()->evict);
  const OperationId asked = last<CordonNode>()->operation;
  for (std::int64_t t = 1080; t < 1100; t += 10) report_fatal(t, 2);
  ASSERT_EQ(count<CordonNode>(), 3U) << "again after a minute";
  EXPECT_EQ(last<CordonNode>()->operation, asked);
  EXPECT_EQ(count<PowerCycle>(), 0U) << "jobs of the engine run there";
  report_fatal(1100, 0);
  EXPECT_EQ(count<PowerCycle>(), 1U);
  EXPECT_EQ(proposed(), 0U);
}

TEST_F(ProposalTest, AMarkThatIsLeftStaysWhereQuarantineIsNotEnabled) {
  send(CordonReport{kNode, true, "weft:7", at(1010)}, 1010);
  for (std::int64_t t = 1010; t < 1400; t += 10) send(Tick{}, t);
  EXPECT_EQ(count<CordonNode>(), 0U);
}

}  // namespace
}  // namespace weft::control
