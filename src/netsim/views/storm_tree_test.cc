#include "netsim/views/storm_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Four switches in a cycle, one host each; hosts are nodes 0 to 3, switches 4 to 7. Cables host i - switch i are links
// 2i and 2i+1, switch i - switch i+1 links 8+2i and 9+2i.
Network cycle() { return ring_of_switches(4, 1, gigabits(100), microseconds(1)); }

LinkId up(std::uint32_t host) { return static_cast<LinkId>(2 * host); }
LinkId down(std::uint32_t host) { return static_cast<LinkId>(2 * host + 1); }
LinkId onwards(std::uint32_t from) { return static_cast<LinkId>(8 + 2 * from); }
constexpr LinkId kEndpoint = model::kNone<LinkId>;

PauseRecord stop(std::int64_t at_us, LinkId stopped, LinkId cause) {
  return {microseconds(at_us), stopped, cause, 3, true};
}
PauseRecord resume(std::int64_t at_us, LinkId stopped) { return {microseconds(at_us), stopped, kEndpoint, 3, false}; }

SimResult result_of(std::vector<PauseRecord> pauses, std::int64_t end_us = 100) {
  SimResult result;
  result.end = microseconds(end_us);
  result.pauses = std::move(pauses);
  return result;
}

// Host 3 pauses its switch; the switch pauses the one before it, and that one its host.
TEST(StormTreeTest, ChainFromAnEndpoint) {
  const Network network = cycle();
  const StormTree tree = storm_tree(
      network, result_of({stop(10, down(3), kEndpoint), stop(20, onwards(2), down(3)), stop(30, up(2), onwards(2)),
                          resume(50, down(3)), resume(60, onwards(2)), resume(75, up(2))}));
  ASSERT_EQ(tree.roots.size(), 1U);
  EXPECT_EQ(root_name(network, tree.roots[0]), "host3 (endpoint)");
  EXPECT_EQ(tree.roots[0].links, 3U);
  EXPECT_EQ(tree.roots[0].deepest, 3U);
  EXPECT_EQ(tree.roots[0].first, microseconds(10));
  EXPECT_EQ(tree.roots[0].paused, microseconds(40 + 40 + 45));
  ASSERT_EQ(tree.branches.size(), 3U);
  EXPECT_EQ(tree.branches[0].link, down(3));
  EXPECT_EQ(tree.branches[0].parent, StormBranch::kNoParent);
  EXPECT_EQ(tree.branches[1].link, onwards(2));
  EXPECT_EQ(tree.branches[1].parent, 0U);
  EXPECT_EQ(tree.branches[2].link, up(2));
  EXPECT_EQ(tree.branches[2].parent, 1U);
  EXPECT_EQ(tree.branches[2].depth, 2U);
}

TEST(StormTreeTest, FanOutIsSortedByCost) {
  const Network network = cycle();
  const StormTree tree = storm_tree(
      network, result_of({stop(10, up(0), down(1)), stop(11, up(2), down(1)), resume(20, up(0)), resume(40, up(2))}));
  ASSERT_EQ(tree.roots.size(), 1U);
  EXPECT_EQ(root_name(network, tree.roots[0]), "switch1 > host1 (full egress)");
  ASSERT_EQ(tree.branches.size(), 2U);
  EXPECT_EQ(tree.branches[0].link, up(2));
  EXPECT_EQ(tree.branches[0].paused, microseconds(29));
  EXPECT_EQ(tree.branches[1].link, up(0));
  EXPECT_EQ(tree.branches[1].paused, microseconds(10));
}

// The same link once from a full egress and once, later, because of another active pause: two branches.
TEST(StormTreeTest, TwoRoots) {
  const Network network = cycle();
  const StormTree tree = storm_tree(
      network, result_of({stop(10, onwards(0), down(1)), resume(20, onwards(0)), stop(30, down(1), kEndpoint),
                          stop(35, onwards(0), down(1)), resume(90, onwards(0)), resume(95, down(1))}));
  ASSERT_EQ(tree.roots.size(), 2U);
  EXPECT_EQ(tree.roots[0].endpoint, static_cast<NodeId>(1));  // 65 + 55 us against 10
  EXPECT_EQ(tree.roots[1].egress, down(1));
  ASSERT_EQ(tree.branches.size(), 3U);
  EXPECT_EQ(tree.branches[0].link, down(1));
  EXPECT_EQ(tree.branches[1].link, onwards(0));
  EXPECT_EQ(tree.branches[1].parent, 0U);
  EXPECT_EQ(tree.branches[2].link, onwards(0));
  EXPECT_EQ(tree.branches[2].root, 1U);
  EXPECT_EQ(tree.branches[2].parent, StormBranch::kNoParent);
}

// A pause that has ended does not cause later ones.
TEST(StormTreeTest, ACauseMustBeActive) {
  const Network network = cycle();
  const StormTree tree = storm_tree(network, result_of({stop(10, down(3), kEndpoint), resume(15, down(3)),
                                                        stop(20, onwards(2), down(3)), resume(25, onwards(2))}));
  ASSERT_EQ(tree.roots.size(), 2U);
  for (const StormBranch& branch : tree.branches) EXPECT_EQ(branch.depth, 0U);
}

// Each switch pauses the one before it, forever: the cycle is followed once and then marked.
TEST(StormTreeTest, DeadlockDoesNotLoop) {
  const Network network = cycle();
  std::vector<PauseRecord> pauses;
  for (std::uint32_t i = 0; i < 400; ++i) {
    const std::uint32_t at = 3 - i % 4;  // 3, 2, 1, 0, 3, ...: switch `at` pauses because of the link it sends on
    if (i >= 4) pauses.push_back(resume(10 + i, onwards(at)));
    pauses.push_back(stop(10 + i, onwards(at), onwards((at + 1) % 4)));
  }
  const StormTree tree = storm_tree(network, result_of(pauses, 1000));
  ASSERT_EQ(tree.roots.size(), 1U);
  EXPECT_EQ(tree.roots[0].links, 4U);
  EXPECT_EQ(tree.stops, 400U);
  ASSERT_EQ(tree.branches.size(), 4U);
  EXPECT_EQ(tree.roots[0].egress, onwards(0));
  EXPECT_EQ(tree.branches[3].link, onwards(0));  // back where it began
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(tree.branches[i].closes_cycle, i == 3);
  std::uint64_t stops = 0;
  for (const StormBranch& branch : tree.branches) stops += branch.stops;
  EXPECT_EQ(stops, 400U);
}

// The cycle does not pass through the root: it is attached below a link that leads into it.
TEST(StormTreeTest, CycleBelowAChain) {
  const Network network = cycle();
  std::vector<PauseRecord> pauses = {stop(1, down(0), kEndpoint), stop(2, onwards(3), down(0))};
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t at = (2 + 4 - i % 4) % 4;  // 2, 1, 0, 3, 2, ...
    if (i >= 3) pauses.push_back(resume(10 + i, onwards(at)));
    pauses.push_back(stop(10 + i, onwards(at), onwards((at + 1) % 4)));
  }
  const StormTree tree = storm_tree(network, result_of(pauses, 1000));
  ASSERT_EQ(tree.roots.size(), 1U);
  ASSERT_EQ(tree.branches.size(), 6U);  // down(0), four links of the cycle, and the first of them again
  EXPECT_EQ(tree.branches[5].link, onwards(3));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(tree.branches[i].closes_cycle, i == 5);
}

TEST(StormTreeTest, RenewedPausesAreOneSpanAndOpenOnesLastToTheEnd) {
  const Network network = cycle();
  const StormTree tree = storm_tree(
      network, result_of({stop(10, up(0), kEndpoint), stop(20, up(0), kEndpoint), stop(30, up(0), kEndpoint)}));
  ASSERT_EQ(tree.branches.size(), 1U);
  EXPECT_EQ(tree.branches[0].stops, 3U);
  EXPECT_EQ(tree.branches[0].spans.size(), 1U);
  EXPECT_EQ(tree.branches[0].paused, microseconds(90));
}

TEST(StormTreeTest, PrioritiesAreSeparate) {
  const Network network = cycle();
  std::vector<PauseRecord> pauses = {stop(10, down(3), kEndpoint), stop(20, onwards(2), down(3))};
  pauses[1].priority = 4;
  const StormTree tree = storm_tree(network, result_of(pauses));
  EXPECT_EQ(tree.roots.size(), 2U);
}

TEST(StormTreeTest, RecordsOutOfOrderAndOutOfRange) {
  const Network network = cycle();
  std::vector<PauseRecord> pauses = {resume(50, down(3)), stop(20, onwards(2), down(3)), stop(10, down(3), kEndpoint)};
  pauses.push_back(stop(5, static_cast<LinkId>(9999), kEndpoint));
  pauses.push_back(stop(6, up(1), static_cast<LinkId>(9999)));
  const StormTree tree = storm_tree(network, result_of(pauses));
  ASSERT_EQ(tree.branches.size(), 3U);
  EXPECT_EQ(tree.branches[0].link, down(3));  // 40 us and, below it, 80
  EXPECT_EQ(tree.branches[1].link, onwards(2));
  EXPECT_EQ(tree.branches[1].parent, 0U);
  EXPECT_EQ(tree.branches[2].link, up(1));  // 94 us of a cause that does not exist: attributed to the receiver itself
  EXPECT_EQ(tree.roots[1].endpoint, network.link(up(1)).to);
}

TEST(StormTreeTest, TableAndPicture) {
  const Network network = cycle();
  const SimResult result =
      result_of({stop(10, down(3), kEndpoint), stop(20, onwards(2), down(3)), resume(50, down(3))});
  const StormTree tree = storm_tree(network, result);
  const TableSection table = storm_table(network, tree, 10);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[1][0].shown, "  switch2 > switch3");
  EXPECT_EQ(std::get<std::string>(table.rows[1][0].value), "switch2 > switch3");
  EXPECT_EQ(std::get<std::string>(table.rows[1][6].value), "switch3 > host3");
  EXPECT_EQ(storm_table(network, tree, 1).rows.size(), 1U);
  const std::string svg = storm_svg(network, result, tree, "a <storm> & more");
  EXPECT_THAT(svg, HasSubstr("<title>a &lt;storm&gt; &amp; more</title>"));
  EXPECT_THAT(svg, HasSubstr("host3 (endpoint)"));
  EXPECT_THAT(svg, HasSubstr("simulated time (us)"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(storm_svg(network, {}, {}, "nothing"), HasSubstr("No link was paused"));
}

}  // namespace
}  // namespace weft::netsim
