#include "workload/nccl/backend_faults.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netsim/network/topologies.h"

namespace weft::workload {
namespace {

using netsim::LinkEvent;
using netsim::LinkId;
using netsim::Network;
using netsim::NodeId;
using ::testing::HasSubstr;

// Two servers of four GPUs, each GPU on the leaf of its rail; two spines.
class Rails {
 public:
  Rails() {
    netsim::NetworkBuilder builder;
    std::vector<NodeId> leaves;
    netsim::Node node;
    for (std::uint32_t server = 0; server < 2; ++server) {
      for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
        node = {};
        node.group = server;
        ranks.push_back(builder.add_node(node, fmt::format("s{}:gpu{}", server, gpu)));
      }
    }
    node = {};
    node.kind = netsim::NodeKind::network_switch;
    node.buffer = builder.add_buffer({});
    node.tier = 1;
    for (std::uint32_t rail = 0; rail < 4; ++rail)
      leaves.push_back(builder.add_node(node, fmt::format("leaf{}", rail)));
    for (std::uint32_t r = 0; r < 8; ++r)
      port.push_back(builder.connect(ranks[r], leaves[r % 4], gigabits(400), netsim::microseconds(1)));
    node.tier = 2;
    for (std::uint32_t spine = 0; spine < 2; ++spine) {
      const NodeId id = builder.add_node(node, fmt::format("spine{}", spine));
      for (const NodeId leaf : leaves) builder.connect(leaf, id, gigabits(400), netsim::microseconds(1));
    }
    network = std::move(builder).finish();
  }

  void down(LinkId link, SimTime at = {}) { event(link, LinkEvent::Kind::down, at); }
  void up(LinkId link, SimTime at) { event(link, LinkEvent::Kind::up, at); }
  void event(LinkId link, LinkEvent::Kind kind, SimTime at) {
    LinkEvent one;
    one.link = link;
    one.kind = kind;
    one.at = at;
    options.link_events.push_back(one);
  }
  FaultVerdict judge(const RdmaTimeout& timeout = {}, bool sockets = false) {
    return judge_faults(faults_from(network, network, options), ranks, 4, {}, timeout, sockets);
  }

  Network network;
  std::vector<NodeId> ranks;
  std::vector<LinkId> port;  // by rank
  netsim::SimOptions options;
};

constexpr SimTime seconds_of(double seconds) { return SimTime(static_cast<std::int64_t>(seconds * 1e12)); }

// 4.096 us x 2^timeout x retries: 7.5, 30 and 120 s with 18, 20 and 22.
TEST(RdmaTimeout, FollowsTheSettings) {
  const auto total = [](const char* timeout) {
    return static_cast<double>(rdma_timeout({{"NCCL_IB_TIMEOUT", timeout}}).total().count()) / 1e12;
  };
  EXPECT_NEAR(total("18"), 7.5, 0.05);
  EXPECT_NEAR(total("20"), 30, 0.1);
  EXPECT_NEAR(total("22"), 120, 0.5);
  EXPECT_EQ(rdma_timeout({}).total(), rdma_timeout({{"NCCL_IB_TIMEOUT", "20"}}).total());
  for (const char* bad : {"", "0", "32", "-1", "twenty", "20 "})
    EXPECT_EQ(rdma_timeout({{"NCCL_IB_TIMEOUT", bad}}).total(), rdma_timeout({}).total()) << bad;
  EXPECT_EQ(rdma_timeout({{"NCCL_IB_RETRY_CNT", "3"}}).retries, 3);
}

TEST(BackendFaults, ALostPortEndsTheJobAndARestartUsesTheOthers) {
  Rails rails;
  rails.down(rails.port[1]);
  const FaultVerdict verdict = rails.judge();
  EXPECT_FALSE(verdict.outcome.continues);
  EXPECT_TRUE(verdict.outcome.restarts);
  EXPECT_EQ(verdict.outcome.ports_left, 3U);
  EXPECT_EQ(verdict.outcome.ends_after, RdmaTimeout{}.total());
  EXPECT_THAT(verdict.outcome.causes.front(), HasSubstr("s0:gpu1 has no backend port"));
  EXPECT_THAT(verdict.ports.lost, ::testing::ElementsAre(false, true, false, false, false, false, false, false));
  EXPECT_NE(verdict.ports.endpoint[1], rails.ranks[1]);
  EXPECT_EQ(rails.network.node(verdict.ports.endpoint[1]).group, 0U);
}

TEST(BackendFaults, TwoLostPortsUseTwoOthers) {
  Rails rails;
  rails.down(rails.port[0]);
  rails.down(rails.port[1]);
  const FaultVerdict verdict = rails.judge();
  EXPECT_EQ(verdict.outcome.ports_left, 2U);
  EXPECT_NE(verdict.ports.endpoint[0], verdict.ports.endpoint[1]);
}

TEST(BackendFaults, AServerWithoutPortsCannotRestart) {
  Rails rails;
  for (std::uint32_t r = 0; r < 4; ++r) rails.down(rails.port[r]);
  const FaultVerdict verdict = rails.judge();
  EXPECT_FALSE(verdict.outcome.restarts);
  EXPECT_THAT(verdict.outcome.causes.front(), HasSubstr("s0 has no backend port left"));
}

// A flap costs the time to the next retry; beyond the last retry it ends the job.
TEST(BackendFaults, AFlapStallsUntilTheNextRetry) {
  const RdmaTimeout timeout = rdma_timeout({{"NCCL_IB_TIMEOUT", "18"}});  // 1.07 s x 7
  Rails rails;
  rails.down(rails.port[0], seconds_of(1));
  rails.up(rails.port[0], seconds_of(3.5));
  FaultVerdict verdict = rails.judge(timeout);
  EXPECT_TRUE(verdict.outcome.continues);
  EXPECT_EQ(verdict.outcome.stall, timeout.retry * 3);
  EXPECT_EQ(verdict.outcome.ports_left, 4U);
  // Again later: both count.
  rails.down(rails.port[0], seconds_of(10));
  rails.up(rails.port[0], seconds_of(10.5));
  EXPECT_EQ(rails.judge(timeout).outcome.stall, timeout.retry * 4);
  // Longer than all retries.
  rails.down(rails.port[0], seconds_of(20));
  rails.up(rails.port[0], seconds_of(28));
  verdict = rails.judge(timeout);
  EXPECT_FALSE(verdict.outcome.continues);
  EXPECT_TRUE(verdict.outcome.restarts);
  EXPECT_EQ(verdict.outcome.ends_after, timeout.total());
  EXPECT_TRUE(rails.judge(rdma_timeout({{"NCCL_IB_TIMEOUT", "22"}})).outcome.continues);
}

TEST(BackendFaults, SocketsWaitForTheWatchdog) {
  Rails rails;
  rails.down(rails.port[0]);
  EXPECT_EQ(rails.judge({}, true).outcome.ends_after, seconds_of(600));
}

TEST(BackendFaults, UnusedAndRedundantLinksDoNotEndAJob) {
  Rails rails;
  const LinkId uplink = rails.network.out_links(rails.network.find_node("leaf0")).back();
  rails.down(uplink);
  const FaultVerdict verdict = rails.judge();
  EXPECT_TRUE(verdict.outcome.continues);
  EXPECT_EQ(verdict.outcome.stall, SimTime(0));  // traffic of a rail stays on its leaf
  EXPECT_EQ(verdict.outcome.ports_left, 4U);
}

TEST(BackendFaults, ASmallMtuEndsTheJobThoughTheLinkIsUp) {
  Rails rails;
  rails.event(rails.port[5], LinkEvent::Kind::mtu, {});
  rails.options.link_events.back().mtu = Bytes(1500);
  const FaultVerdict verdict = rails.judge();
  EXPECT_FALSE(verdict.outcome.continues);
  EXPECT_FALSE(verdict.outcome.restarts);
  EXPECT_THAT(verdict.outcome.causes.front(), HasSubstr("MTU of 1500"));
}

TEST(BackendFaults, SlowAndLossyLinksAreNamed) {
  Rails rails;
  Network slow = rails.network;
  slow.set_rate(rails.port[2], gigabits(100));
  rails.event(rails.port[3], LinkEvent::Kind::errors, {});
  rails.options.link_events.back().loss = 0.001;
  const FaultVerdict verdict =
      judge_faults(faults_from(rails.network, slow, rails.options), rails.ranks, 4, {}, {}, false);
  EXPECT_TRUE(verdict.outcome.continues);
  ASSERT_EQ(verdict.outcome.causes.size(), 2U);
  EXPECT_THAT(verdict.outcome.causes[0], HasSubstr("loses 0.1 % of packets"));
  EXPECT_THAT(verdict.outcome.causes[1], HasSubstr("runs at 100G"));
}

TEST(BackendFaults, OneServerNeedsNoBackend) {
  Rails rails;
  rails.down(rails.port[0]);
  const std::vector<NodeId> one(rails.ranks.begin(), rails.ranks.begin() + 4);
  EXPECT_TRUE(
      judge_faults(faults_from(rails.network, rails.network, rails.options), one, 4, {}, {}, false).outcome.continues);
}

}  // namespace
}  // namespace weft::workload
