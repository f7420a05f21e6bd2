#include "netsim/views/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netsim/network/topologies.h"
#include "netsim/views/picture_style.h"

namespace weft::netsim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t occurrences(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

SimResult loaded(const Network& network) {
  SimResult result;
  result.end = microseconds(100);
  result.links.resize(network.links().size());
  return result;
}

TEST(HeatPartsTest, ColorsGoFromPaleToDark) {
  EXPECT_EQ(heat_color(0), "#ffffcc");
  EXPECT_EQ(heat_color(1), "#6e0020");
  EXPECT_EQ(heat_color(7), heat_color(1));
  EXPECT_EQ(heat_color(-1), heat_color(0));
  EXPECT_NE(heat_ink(0.1), heat_ink(0.9));
}

TEST(HeatPartsTest, AxesHaveRoundTicks) {
  const TimeAxis axis = time_axis(microseconds(820));
  EXPECT_EQ(axis.unit, "us");
  ASSERT_GE(axis.ticks.size(), 5U);
  ASSERT_LE(axis.ticks.size(), 10U);
  EXPECT_EQ(axis.ticks[1].text, "200");
  EXPECT_EQ(time_axis(microseconds(350'000)).unit, "ms");
  EXPECT_EQ(time_axis(nanoseconds(300)).unit, "ns");
  EXPECT_EQ(time_axis(SimTime(0)).ticks.front().at, 0);
}

TEST(HeatMapTest, EveryLinkOfALeafSpineHasACell) {
  const Network network = leaf_spine({});  // 8 leaves with 16 hosts, 16 spines
  SimResult result = loaded(network);
  // leaf0 > spine0 is the first cable after the hosts'; 400 Gb/s for 100 us are 5 MB.
  const std::size_t uplink = std::size_t{2} * 8 * 16;
  result.links[uplink].bytes = Bytes(4'850'000);
  result.links[uplink].pauses = 2;
  result.links[uplink].paused = microseconds(7);
  const std::string svg = heat_map_svg(network, result, "map");
  EXPECT_THAT(svg, HasSubstr("leaf0 &gt; spine0: 97 % of 400G, paused 7 us"));
  EXPECT_THAT(svg, HasSubstr(">97</text>"));
  EXPECT_THAT(svg, HasSubstr("Leaf uplinks"));
  EXPECT_THAT(svg, HasSubstr("Spine downlinks"));
  EXPECT_THAT(svg, HasSubstr("Sending NICs"));
  EXPECT_THAT(svg, HasSubstr("% of the link"));
  // 128 uplinks, 128 downlinks and 128 NICs in each direction, once each.
  EXPECT_EQ(occurrences(svg, " of 400G"), 4U * 128U);
  EXPECT_EQ(occurrences(svg, "spine15</text>"), 2U);
}

TEST(HeatMapTest, LargeFabricsShareCellsAndShowTheHottest) {
  FatTreeShape shape;
  shape.pods = 32;
  shape.tors_per_pod = 16;
  shape.hosts_per_tor = 16;
  shape.aggs_per_pod = 16;
  shape.cores = 256;
  const Network network = fat_tree(shape);
  SimResult result = loaded(network);
  const std::size_t last = network.links().size() - 2;  // the last aggregation switch to the last core
  result.links[last].bytes = Bytes(1'250'000);
  const std::string svg = heat_map_svg(network, result, "map");
  EXPECT_THAT(svg, HasSubstr("agg511 &gt; core255: 100 % of 100G"));
  EXPECT_THAT(svg, HasSubstr("hottest of up to 11 links"));
  EXPECT_LT(svg.size(), 3'000'000U);
  EXPECT_THAT(svg, Not(HasSubstr("Cables between switches")));
}

TEST(HeatMapTest, SmallFabricsHaveADiagram) {
  LeafSpineShape shape;
  shape.leaves = 4;
  shape.hosts_per_leaf = 4;
  shape.spines = 2;
  const Network network = leaf_spine(shape);
  const std::string svg = heat_map_svg(network, loaded(network), "map");
  EXPECT_THAT(svg, HasSubstr("Cables between switches"));
  EXPECT_EQ(occurrences(svg, "<path"), 16U);  // two lines per cable, 8 cables
}

TEST(HeatMapTest, UnusualNetworksAndEmptyResults) {
  for (const Network& network :
       {star(4, gigabits(100), microseconds(1)), ring_of_switches(4, 1, gigabits(100), microseconds(1))}) {
    const std::string svg = heat_map_svg(network, {}, "a \"map\"");
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
  EXPECT_THAT(heat_map_svg(NetworkBuilder().finish(), {}, ""), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace weft::netsim
