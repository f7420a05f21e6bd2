#include "lease/table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::lease {
namespace {

using Said = AgentMessage::Kind;

constexpr sched::NodeId kNode{3};
const GpuSet kAll = {{kNode, 0xf}};
const GpuSet kFirst = {{kNode, 0x1}};

sched::Moment at(std::int64_t s) { return sched::Moment(s * 1'000'000'000); }

// A table with one server of four GPUs; the agents of two engines are welcomed.
class LeaseTableTest : public ::testing::Test {
 protected:
  LeaseTableTest() {
    take(table.add(kNode, 4, at(0)));
    take(table.restore(kNode, at(0)));
    for (const LeaseOwner owner : {LeaseOwner::slurm, LeaseOwner::kubernetes}) say(owner, Said::hello, 0, {}, at(0));
  }

  LeaseStep take(Result<LeaseStep> step) {
    EXPECT_TRUE(step.ok()) << (step.ok() ? "" : step.error().text());
    LeaseStep done = step.ok() ? std::move(step).value() : LeaseStep{};
    journal.insert(journal.end(), done.records.begin(), done.records.end());
    return done;
  }
  LeaseStep say(LeaseOwner from, Said kind, LeaseEpoch epoch, GpuSet gpus, sched::Moment now) {
    return take(table.receive({kind, from, {1, 1}, epoch, std::move(gpus), ""}, now));
  }
  LeaseStep ask(std::uint64_t id, LeaseOwner owner, const GpuSet& gpus, bool reclaim, sched::Moment now) {
    return take(table.request({id, owner, "job " + std::to_string(id), gpus, reclaim}, now));
  }
  [[nodiscard]] LeaseView first(sched::Moment now) const { return table.who({kNode, 0}, now); }

  LeaseTable table;
  std::vector<LeaseRecord> journal;
};

TEST_F(LeaseTableTest, MovesOnlyOnEvidence) {
  const LeaseStep granted = ask(1, LeaseOwner::slurm, kAll, false, at(10));
  ASSERT_EQ(granted.messages.size(), 1U);
  EXPECT_EQ(granted.messages[0], (TableMessage{LeaseOwner::slurm, {1, 1}, false, {{1, kAll, false}}, {}}));
  EXPECT_EQ(first(at(10)).phase, LeasePhase::granted);
  say(LeaseOwner::slurm, Said::held, 1, kAll, at(11));
  EXPECT_EQ(first(at(11)).phase, LeasePhase::held);
  EXPECT_EQ(first(at(20)).since, at(11));

  const LeaseStep revoked = ask(2, LeaseOwner::kubernetes, kFirst, true, at(20));
  ASSERT_EQ(revoked.messages.size(), 1U);
  EXPECT_EQ(revoked.messages[0].shares, (std::vector<LeaseShare>{{1, kFirst, true}}));
  // A year of silence is not a release.
  for (std::int64_t day = 1; day < 366; ++day) {
    const LeaseStep step = table.tick(at(day * 86'400));
    EXPECT_TRUE(step.records.empty());
    EXPECT_EQ(step.messages, revoked.messages);
  }
  EXPECT_EQ(first(at(86'400)).owner, LeaseOwner::slurm);
  EXPECT_EQ(first(at(86'400)).waiting, "slurm to drain it and show that nothing runs under lease 1");
  EXPECT_EQ(
      first(at(86'400)).person,
      "start the agent of slurm (nothing was heard of it for 86389s), or have node 3 fenced, which ends all work on "
      "it");
  say(LeaseOwner::slurm, Said::alive, 0, {}, at(86'400));
  EXPECT_EQ(first(at(86'400)).person,
            "work of slurm still runs after 86380s: wait, end it there, or have node 3 fenced");

  const LeaseStep moved = say(LeaseOwner::slurm, Said::released, 1, kFirst, at(86'400));
  ASSERT_EQ(moved.messages.size(), 1U);
  EXPECT_EQ(moved.messages[0], (TableMessage{LeaseOwner::kubernetes, {1, 1}, false, {{2, kFirst, false}}, {}}));
  EXPECT_EQ(first(at(86'400)).owner, LeaseOwner::kubernetes);
  EXPECT_EQ(first(at(86'400)).epoch, 2U);
  EXPECT_EQ(table.who({kNode, 1}, at(86'400)).owner, LeaseOwner::slurm);
}

TEST_F(LeaseTableTest, IgnoresInvalidMessages) {
  ask(1, LeaseOwner::slurm, kAll, false, at(1));
  const std::string before = table.state();
  const auto ignored = [&](const AgentMessage& message) {
    EXPECT_TRUE(table.receive(message, at(2)).records.empty());
    EXPECT_EQ(table.state(), before);
  };
  ignored({Said::released, LeaseOwner::slurm, {1, 1}, 1, kAll, ""});                 // was not revoked
  ignored({Said::held, LeaseOwner::kubernetes, {1, 1}, 1, kAll, ""});                // lease of another engine
  ignored({Said::held, LeaseOwner::slurm, {1, 0}, 1, kAll, ""});                     // an older session
  ignored({Said::held, LeaseOwner::slurm, {2, 1}, 1, kAll, ""});                     // no hello was sent
  ignored({Said::held, LeaseOwner::slurm, {1, 1}, 9, kAll, ""});                     // no such lease
  ignored({Said::held, LeaseOwner::slurm, {1, 1}, 1, {{sched::NodeId{9}, 1}}, ""});  // no such node
  ignored({Said::held, LeaseOwner::slurm, {1, 1}, 1, {{kNode, 0}}, ""});             // not a set
  ignored({Said::hello, LeaseOwner::slurm, {0, 9}, 0, {}, ""});                      // an earlier start
  ignored({Said::hello, LeaseOwner::none, {5, 5}, 0, {}, ""});                       // no engine
  EXPECT_TRUE(table.fenced({1, kNode}, at(2)).records.empty());                      // no such order
  EXPECT_EQ(table.state(), before);
}

TEST_F(LeaseTableTest, RefusesWhatMakesNoSense) {
  const std::string before = table.state();
  EXPECT_FALSE(table.request({1, LeaseOwner::none, "", kAll, false}, at(1)).ok());
  EXPECT_FALSE(table.request({1, LeaseOwner::slurm, "", {}, false}, at(1)).ok());
  EXPECT_FALSE(table.request({1, LeaseOwner::slurm, "", {{kNode, 0x10}}, false}, at(1)).ok());
  EXPECT_FALSE(table.request({0, LeaseOwner::slurm, "", kAll, false}, at(1)).ok());
  EXPECT_FALSE(table.request({1, LeaseOwner::slurm, std::string(201, 'x'), kAll, false}, at(1)).ok());
  EXPECT_FALSE(table.add(kNode, 4, at(1)).ok());
  EXPECT_FALSE(table.add(sched::NodeId{4}, 17, at(1)).ok());
  EXPECT_FALSE(table.cancel(1, at(1)).ok());
  EXPECT_FALSE(table.fence(sched::NodeId{9}, at(1)).ok());
  EXPECT_FALSE(table.restore(sched::NodeId{9}, at(1)).ok());
  EXPECT_EQ(table.state(), before);
  ask(5, LeaseOwner::slurm, kAll, false, at(1));
  EXPECT_FALSE(table.request({5, LeaseOwner::slurm, "", kAll, false}, at(1)).ok());
  EXPECT_FALSE(table.request({4, LeaseOwner::slurm, "", kAll, false}, at(1)).ok());
}

// GPUs named by an older request wait for it, even if a younger one could be granted at once.
TEST_F(LeaseTableTest, SetsAreGrantedWholeAndInOrder) {
  ask(1, LeaseOwner::slurm, kFirst, false, at(1));
  ask(2, LeaseOwner::kubernetes, {{kNode, 0x3}}, false, at(2));
  ask(3, LeaseOwner::slurm, {{kNode, 0x2}}, false, at(3));
  ask(4, LeaseOwner::slurm, {{kNode, 0x8}}, false, at(4));
  EXPECT_EQ(table.who({kNode, 1}, at(4)).phase, LeasePhase::free);
  EXPECT_EQ(table.who({kNode, 3}, at(4)).phase, LeasePhase::granted);
  EXPECT_EQ(table.why_waiting(2, at(5)),
            "waits 3s for GPU 0 of node 3, which is granted, lease of slurm (job 1); that waits for slurm to show it "
            "open under "
            "lease 1");
  EXPECT_EQ(table.why_waiting(3, at(5)), "waits 2s for GPUs that request 2 (job 2) named before it");
  EXPECT_EQ(table.why_waiting(4, at(5)), "");
  const LeaseStep step = take(table.cancel(2, at(6)));
  ASSERT_EQ(step.messages.size(), 1U);
  EXPECT_EQ(table.who({kNode, 1}, at(6)).owner, LeaseOwner::slurm);
  EXPECT_TRUE(table.waiting().empty());
}

// A request that needs an operator neither revokes nor reserves anything.
TEST_F(LeaseTableTest, UnattainableRequestDoesNotBlockOthers) {
  take(table.add(sched::NodeId{4}, 1, at(1)));
  ask(1, LeaseOwner::slurm, kFirst, false, at(2));
  const LeaseStep asked = ask(2, LeaseOwner::kubernetes, {{kNode, 0x3}, {sched::NodeId{4}, 1}}, true, at(3));
  EXPECT_TRUE(asked.messages.empty());
  EXPECT_EQ(table.why_waiting(2, at(4)),
            "waits 1s for GPU 0 of node 4, which is out of service; to do: see that node 4 is sound, power it on and "
            "restore it");
  ask(3, LeaseOwner::slurm, {{kNode, 0x2}}, false, at(5));
  EXPECT_EQ(table.who({kNode, 1}, at(5)).owner, LeaseOwner::slurm);
  // Once it is attainable, its age counts and it reclaims what it needs.
  EXPECT_EQ(take(table.restore(sched::NodeId{4}, at(6))).messages.size(), 2U);
  EXPECT_EQ(first(at(6)).phase, LeasePhase::revoking);
}

TEST_F(LeaseTableTest, FencingRevokesAllLeasesOfTheNode) {
  ask(1, LeaseOwner::slurm, kFirst, false, at(1));
  ask(2, LeaseOwner::kubernetes, {{kNode, 0x2}}, false, at(1));
  const LeaseStep ordered = take(table.fence(kNode, at(2)));
  EXPECT_EQ(ordered.fences, (std::vector<FenceOrder>{{1, kNode}}));
  EXPECT_EQ(ordered.messages.size(), 2U);
  ask(3, LeaseOwner::slurm, {{kNode, 0x8}}, false, at(2));
  EXPECT_EQ(table.waiting().size(), 1U);  // free, but about to be powered off
  EXPECT_EQ(first(at(700)).person, "cut the power of node 3 by hand and confirm order 1, or withdraw the order");
  EXPECT_EQ(table.tick(at(3)).fences, ordered.fences);
  EXPECT_FALSE(table.fence(kNode, at(3)).ok());
  take(table.fenced({1, kNode}, at(4)));
  EXPECT_EQ(first(at(4)).phase, LeasePhase::out);
  EXPECT_EQ(first(at(4)).owner, LeaseOwner::none);
  EXPECT_EQ(first(at(4)).person, "see that node 3 is sound, power it on and restore it");
  EXPECT_TRUE(table.fenced({1, kNode}, at(5)).records.empty());
  const LeaseStep restored = take(table.restore(kNode, at(6)));
  EXPECT_EQ(restored.messages.size(), 1U);
  EXPECT_TRUE(table.waiting().empty());
}

// An engine bypassed weft: both are named, no work is ended, and the GPU is granted to no third engine.
TEST_F(LeaseTableTest, ConflictNamesBothAndEndsNeither) {
  ask(1, LeaseOwner::slurm, kFirst, false, at(1));
  say(LeaseOwner::slurm, Said::held, 1, kFirst, at(1));
  const LeaseStep seen = take(
      table.receive({Said::intruding, LeaseOwner::kubernetes, {1, 1}, 0, {{kNode, 0x3}}, "pod prod/llm-0"}, at(2)));
  EXPECT_TRUE(seen.messages.empty());
  EXPECT_TRUE(seen.fences.empty());
  EXPECT_EQ(first(at(3)).conflict, "kubernetes (pod prod/llm-0)");
  EXPECT_EQ(
      first(at(3)).person,
      "GPU 0 of node 3 is leased to slurm (job 1) and used by kubernetes (pod prod/llm-0): decide which of the two is "
      "to end, and end it there; weft ends neither");
  EXPECT_EQ(
      table.who({kNode, 1}, at(3)).person,
      "GPU 1 of node 3 is used by kubernetes (pod prod/llm-0) without a lease: end that work or request a lease for "
      "it");
  EXPECT_TRUE(table.tick(at(100'000)).messages.empty());

  ask(2, LeaseOwner::slurm, {{kNode, 0x2}}, false, at(4));
  EXPECT_EQ(table.waiting().size(), 1U);
  EXPECT_NE(table.why_waiting(2, at(4)).find("used by kubernetes"), std::string::npos);
  // The engine that uses it may get the lease: this adopts work that ran before weft was deployed.
  take(table.cancel(2, at(5)));
  ask(3, LeaseOwner::kubernetes, {{kNode, 0x2}}, false, at(5));
  EXPECT_EQ(table.who({kNode, 1}, at(5)).owner, LeaseOwner::kubernetes);
  say(LeaseOwner::kubernetes, Said::gone, 0, {{kNode, 0x3}}, at(6));
  EXPECT_EQ(first(at(6)).conflict, "");
  EXPECT_EQ(first(at(6)).person, "");
  take(table.observe(LeaseOwner::none, kFirst, "python, pid 4711", at(7)));
  EXPECT_EQ(first(at(7)).conflict, "a process of no engine (python, pid 4711)");
  take(table.clear(LeaseOwner::none, kFirst, at(8)));
  EXPECT_EQ(first(at(8)).conflict, "");
}

TEST_F(LeaseTableTest, JournalRestoresTheWholeState) {
  ask(1, LeaseOwner::slurm, kAll, false, at(1));
  say(LeaseOwner::slurm, Said::held, 1, {{kNode, 0x7}}, at(2));
  ask(2, LeaseOwner::kubernetes, kFirst, true, at(3));
  take(table.observe(LeaseOwner::weft, kFirst, "a b", at(4)));
  take(table.add(sched::NodeId{9}, 16, at(5)));
  take(table.fence(sched::NodeId{9}, at(6)));
  const Result<LeaseJournal> read = parse_lease_journal(to_text(journal));
  ASSERT_TRUE(read.ok()) << read.error().text();
  const Result<LeaseTable> again = LeaseTable::replay(read->records);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->state(), table.state());
  EXPECT_EQ(again->records(), table.records());
}

}  // namespace
}  // namespace weft::lease
