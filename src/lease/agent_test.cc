#include "lease/agent.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lease/gate.h"

namespace weft::lease {
namespace {

using Said = AgentMessage::Kind;
using Do = GateCommand::Kind;

constexpr sched::NodeId kNode{3};
constexpr LeaseOwner kMe = LeaseOwner::slurm;
const std::vector<sched::NodeId> kNodes = {kNode};

// An agent with one gate; everything is delivered immediately.
class LeaseAgentTest : public ::testing::Test {
 protected:
  // Messages of the agent to the table after all its commands are executed.
  std::vector<AgentMessage> carry(AgentStep step) {
    std::vector<AgentMessage> said = step.messages;
    while (!step.commands.empty()) {
      AgentStep next;
      for (const GateCommand& command : step.commands) {
        const AgentStep more = agent.receive(gate.receive(command));
        next.messages.insert(next.messages.end(), more.messages.begin(), more.messages.end());
        next.commands.insert(next.commands.end(), more.commands.begin(), more.commands.end());
      }
      said.insert(said.end(), next.messages.begin(), next.messages.end());
      step = std::move(next);
    }
    return said;
  }
  TableMessage word(LeaseEpoch epoch, std::uint16_t gpus, bool revoked) const {
    return {kMe, agent.session(), false, {{epoch, {{kNode, gpus}}, revoked}}, {}};
  }
  void begin(std::vector<LeaseShare> shares = {}) {
    carry(agent.probe(kNodes));
    carry(agent.tick());
    carry(agent.receive(TableMessage{kMe, agent.session(), true, std::move(shares), {}}));
  }

  LeaseAgent agent{kMe, 1};
  LeaseGate gate{kMe, kNode, 1};
};

TEST_F(LeaseAgentTest, DoesNothingBeforeWelcome) {
  EXPECT_TRUE(agent.receive(TableMessage{kMe, {1, 0}, true, {{5, {{kNode, 1}}, false}}, {}}).commands.empty());
  carry(agent.probe(kNodes));
  const std::vector<AgentMessage> hello = carry(agent.tick());
  ASSERT_EQ(hello.size(), 1U);
  EXPECT_EQ(hello[0].kind, Said::hello);
  EXPECT_EQ(hello[0].session, (LeaseSession{1, 1}));
  EXPECT_TRUE(agent.receive(word(5, 1, false)).commands.empty());
  EXPECT_TRUE(agent.receive(TableMessage{kMe, {0, 1}, true, {{5, {{kNode, 1}}, false}}, {}}).commands.empty());
  EXPECT_TRUE(
      agent.receive(TableMessage{LeaseOwner::weft, {1, 1}, true, {{5, {{kNode, 1}}, false}}, {}}).commands.empty());
  EXPECT_FALSE(agent.welcomed());
  carry(agent.receive(TableMessage{kMe, {1, 1}, true, {{5, {{kNode, 1}}, false}}, {}}));
  EXPECT_TRUE(gate.admit(0));
  EXPECT_FALSE(gate.admit(1));
}

TEST_F(LeaseAgentTest, ReleasesOnlyWhatIsClosedAndIdle) {
  begin();
  const std::vector<AgentMessage> held = carry(agent.receive(word(5, 3, false)));
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0], (AgentMessage{Said::held, kMe, {1, 1}, 5, {{kNode, 3}}, ""}));
  EXPECT_TRUE(gate.admit(0));
  agent.receive(gate.status());
  const std::vector<AgentMessage> part = carry(agent.receive(word(5, 3, true)));
  ASSERT_EQ(part.size(), 1U);
  EXPECT_EQ(part[0], (AgentMessage{Said::released, kMe, {1, 1}, 5, {{kNode, 2}}, ""}));
  EXPECT_FALSE(gate.admit(0)) << "a drain lets nothing in";
  gate.ended(0);
  const AgentStep rest = agent.receive(gate.status());
  ASSERT_EQ(rest.messages.size(), 1U);
  EXPECT_EQ(rest.messages[0].gpus, (GpuSet{{kNode, 3}}));
  // The same message, delayed: the grant is of an expired epoch.
  EXPECT_TRUE(carry(agent.receive(word(5, 3, false))).size() <= 1U);
  EXPECT_FALSE(gate.uses(0));
  EXPECT_EQ(gate.receive({Do::open, kMe, kNode, 1, 5, 3}).open[0], 0U);
}

TEST_F(LeaseAgentTest, RevocationMayOvertakeTheGrant) {
  begin();
  const std::vector<AgentMessage> released = carry(agent.receive(word(5, 1, true)));
  ASSERT_EQ(released.size(), 1U);
  EXPECT_EQ(released[0].kind, Said::released);
  carry(agent.receive(word(5, 1, false)));
  EXPECT_FALSE(gate.uses(0));
  carry(agent.receive(word(6, 1, false)));
  EXPECT_EQ(gate.status().open[0], 6U);
}

TEST_F(LeaseAgentTest, GateRestartStartsNewSession) {
  begin({{5, {{kNode, 1}}, false}});
  EXPECT_TRUE(gate.admit(0));
  gate = LeaseGate(kMe, kNode, 2, gate.status().running);
  EXPECT_FALSE(gate.admit(0)) << "it starts closed";
  const AgentStep step = agent.receive(gate.status());
  ASSERT_EQ(step.messages.size(), 1U);
  EXPECT_EQ(step.messages[0].kind, Said::hello);
  EXPECT_EQ(step.messages[0].session, (LeaseSession{1, 2}));
  EXPECT_TRUE(step.commands.empty()) << "what it knew may be out of date";
  carry(agent.receive(TableMessage{kMe, {1, 2}, true, {{5, {{kNode, 1}}, false}}, {}}));
  EXPECT_TRUE(gate.admit(0));
}

TEST_F(LeaseAgentTest, RestartDoesNotDisturbWork) {
  begin({{5, {{kNode, 1}}, false}});
  EXPECT_TRUE(gate.admit(0));
  agent = LeaseAgent(kMe, 2);
  begin({{5, {{kNode, 1}}, false}});
  EXPECT_TRUE(gate.uses(0));
  EXPECT_EQ(gate.status().open[0], 5U);
}

TEST_F(LeaseAgentTest, GiveBackGoesThroughTheTable) {
  begin({{5, {{kNode, 3}}, false}});
  const std::vector<AgentMessage> said = carry(agent.give_back({{kNode, 2}}));
  const AgentMessage wish{Said::give_back, kMe, {1, 1}, 5, {{kNode, 2}}, ""};
  EXPECT_EQ(std::count(said.begin(), said.end(), wish), 1);
  EXPECT_TRUE(gate.uses(1)) << "still its own until the table asks";
  const std::vector<AgentMessage> again = carry(agent.tick());
  EXPECT_EQ(std::count(again.begin(), again.end(), wish), 1);
  carry(agent.receive(word(5, 2, true)));
  EXPECT_FALSE(gate.uses(1));
  const std::vector<AgentMessage> after = carry(agent.tick());
  EXPECT_EQ(std::count(after.begin(), after.end(), wish), 0);
}

TEST_F(LeaseAgentTest, ReportsWorkWithoutLease) {
  begin({{5, {{kNode, 1}}, false}});
  gate.observe(0b11, "job 77, forced");
  const AgentStep seen = agent.receive(gate.status());
  const AgentMessage intruding{Said::intruding, kMe, {1, 1}, 0, {{kNode, 2}}, "job 77, forced"};
  EXPECT_EQ(std::count(seen.messages.begin(), seen.messages.end(), intruding), 1);
  EXPECT_TRUE(std::none_of(seen.commands.begin(), seen.commands.end(),
                           [](const GateCommand& c) { return c.kind == Do::close; }));
  // After a restart it is reported again; so is the end of the work.
  agent = LeaseAgent(kMe, 2);
  gate.observe(0b01, "");
  carry(agent.probe(kNodes));
  carry(agent.tick());
  const std::vector<AgentMessage> said =
      carry(agent.receive(TableMessage{kMe, {2, 1}, true, {{5, {{kNode, 1}}, false}}, {{kNode, 2}}}));
  EXPECT_EQ(std::count(said.begin(), said.end(), AgentMessage{Said::gone, kMe, {2, 1}, 0, {{kNode, 2}}, ""}), 1);
  // Work that reappears on a released GPU is an intruder too.
  gate.ended(0);
  agent.receive(gate.status());
  carry(agent.receive(word(5, 1, true)));
  gate.observe(0b01, "late");
  const AgentStep late = agent.receive(gate.status());
  ASSERT_EQ(late.messages.size(), 1U);
  EXPECT_EQ(late.messages[0].kind, Said::intruding);
}

TEST(LeaseGate, RejectsCommandsNotAddressedToIt) {
  LeaseGate gate(kMe, kNode, 7);
  for (const GateCommand& command :
       {GateCommand{Do::open, kMe, kNode, 6, 5, 1}, GateCommand{Do::open, kMe, kNode, 8, 5, 1},
        GateCommand{Do::open, LeaseOwner::weft, kNode, 7, 5, 1}, GateCommand{Do::open, kMe, sched::NodeId{4}, 7, 5, 1},
        GateCommand{Do::open, kMe, kNode, 7, 0, 1}}) {
    EXPECT_EQ(gate.receive(command), (LeaseGate(kMe, kNode, 7).status()));
  }
  EXPECT_FALSE(gate.admit(-1));
  EXPECT_FALSE(gate.admit(sched::kMaxGpus));
  // A delayed close of an older lease does not close a newer one.
  (void)gate.receive({Do::open, kMe, kNode, 7, 9, 1});
  EXPECT_EQ(gate.receive({Do::close, kMe, kNode, 7, 5, 1}).open[0], 9U);
}

}  // namespace
}  // namespace weft::lease
