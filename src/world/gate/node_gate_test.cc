#include "world/gate/node_gate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weft::world {
namespace {

namespace fs = std::filesystem;
using control::LeaseOrder;
using control::LeaseOrderKind;
using lease::LeaseOwner;

std::uint64_t next_number() {
  static std::uint64_t last = 0;
  return ++last;
}

class NodeGateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weft_gate_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  [[nodiscard]] NodeGate gate(const std::string& boot_id = "b1") const {
    return NodeGate({(folder / "gate").string(), boot_id, next_number});
  }
  static LeaseOrder order(LeaseOrderKind kind, LeaseOwner engine, lease::LeaseEpoch epoch, control::BootId boot,
                          control::Term term = 1) {
    LeaseOrder order;
    order.kind = kind;
    order.engine = engine;
    order.epoch = epoch;
    order.boot = boot;
    order.term = term;
    return order;
  }

  fs::path folder;
};

constexpr auto kOpen = LeaseOrderKind::open;
constexpr auto kClose = LeaseOrderKind::close;

TEST_F(NodeGateTest, StartsClosedAndOpensForOneEngine) {
  const Result<GateFile> first = gate().read(0);
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_NE(first->boot, 0U);
  EXPECT_EQ(gate().read(0)->boot, first->boot) << "the same gate";
  const Status refused = gate().enter(LeaseOwner::slurm, "77");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_EQ(refused.error().text(), "this node is not leased to slurm: its gate is open for no engine");
  ASSERT_TRUE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, first->boot)).ok());
  EXPECT_TRUE(gate().enter(LeaseOwner::slurm, "77").ok());
  EXPECT_EQ(gate().enter(LeaseOwner::kubernetes, "").error().text(),
            "this node is not leased to kubernetes: its gate is open for slurm");
  const Result<GateFile> other = gate().obey(order(kOpen, LeaseOwner::kubernetes, 4, first->boot));
  ASSERT_FALSE(other.ok()) << "never two";
}

TEST_F(NodeGateTest, WorkThatEnteredCountsUntilItLeaves) {
  const control::BootId boot = gate().read(0)->boot;
  ASSERT_TRUE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot)).ok());
  ASSERT_TRUE(gate().enter(LeaseOwner::slurm, "77").ok());
  ASSERT_TRUE(gate().enter(LeaseOwner::slurm, "77").ok()) << "a Prolog may run twice";
  ASSERT_TRUE(gate().obey(order(kClose, LeaseOwner::slurm, 3, boot)).ok());
  Result<GateFile> now = gate().read(0);
  EXPECT_EQ(now->engines[1].open, 0U);
  EXPECT_EQ(now->engines[1].floor, 3U);
  EXPECT_EQ(now->engines[1].steps, 1U);
  ASSERT_TRUE(gate().leave(LeaseOwner::slurm, "77").ok());
  EXPECT_EQ(gate().read(0)->engines[1].steps, 0U);
  EXPECT_FALSE(gate().enter(LeaseOwner::slurm, "a b").ok());
}

TEST_F(NodeGateTest, ClosedEpochsStayClosed) {
  const control::BootId boot = gate().read(0)->boot;
  ASSERT_TRUE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot)).ok());
  ASSERT_TRUE(gate().obey(order(kClose, LeaseOwner::slurm, 5, boot)).ok());
  EXPECT_FALSE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot)).ok());
  EXPECT_FALSE(gate().obey(order(kOpen, LeaseOwner::slurm, 5, boot)).ok());
  EXPECT_TRUE(gate().obey(order(kOpen, LeaseOwner::slurm, 6, boot)).ok());
}

TEST_F(NodeGateTest, EarlierTermsAndBootsAreRefused) {
  const control::BootId boot = gate().read(7)->boot;
  EXPECT_FALSE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot, 6)).ok());
  EXPECT_FALSE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot + 1, 7)).ok());
  ASSERT_TRUE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot, 8)).ok());
  EXPECT_EQ(gate().read(0)->term, 8U);
  const Result<GateFile> after = gate("b2").read(0);
  EXPECT_NE(after->boot, boot) << "another boot of the node: another gate, closed";
  EXPECT_EQ(after->engines[1].open, 0U);
  EXPECT_FALSE(gate("b2").obey(order(kOpen, LeaseOwner::slurm, 9, boot, 9)).ok());
}

TEST_F(NodeGateTest, LostOrDamagedFileIsAnotherGate) {
  const control::BootId boot = gate().read(0)->boot;
  ASSERT_TRUE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot)).ok());
  std::ofstream(folder / "gate/gate") << "weft gate 1\nboot 3\n";
  const Result<GateFile> damaged = gate().read(0);
  ASSERT_TRUE(damaged.ok()) << damaged.error().text();
  EXPECT_NE(damaged->boot, boot);
  EXPECT_EQ(damaged->engines[1].open, 0U);
  fs::remove(folder / "gate/gate");
  EXPECT_NE(gate().read(0)->boot, damaged->boot);
  EXPECT_FALSE(gate().obey(order(kOpen, LeaseOwner::slurm, 3, boot)).ok());
}

TEST_F(NodeGateTest, TextIsReadBack) {
  GateFile gate;
  gate.boot = 17;
  gate.term = 4;
  gate.engines[1] = {5, 2, 1};
  gate.entries = {{LeaseOwner::slurm, "77"}};
  const std::string text = to_text(gate, "b1");
  const Result<GateFile> parsed = parse_gate(text, "b1");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(to_text(*parsed, "b1"), text);
  EXPECT_EQ(parse_gate(text, "b2").error().code, ErrorCode::not_found);
  for (std::size_t length = 0; length + 1 < text.size(); ++length)
    EXPECT_FALSE(parse_gate(std::string_view(text).substr(0, length), "b1").ok()) << length;
  EXPECT_FALSE(parse_gate(text + "end\n", "b1").ok());
}

}  // namespace
}  // namespace weft::world
