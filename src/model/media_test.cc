#include "model/media.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/test_places.h"
#include "base/yaml.h"
#include "model/load.h"

namespace weft::model {
namespace {

using ::testing::HasSubstr;

// A small catalog: a plain DAC, a plain AOC, two fiber systems of different reach, and splitters of both kinds.
constexpr const char* kShop = R"(
references: {shop: {title: a small shop, publisher: tests}}
transceivers:
  - {id: sr, name: SR, vendor: x, source: shop, form: osfp, networks: [ethernet, infiniband], modes: [2x400G],
     connectors: 2, fibre: mmf, reach: 50m}
  - {id: sr-one, name: SR, vendor: x, source: shop, form: qsfp112, networks: [ethernet, infiniband],
     modes: [1x400G, 1x200G], fibre: mmf, reach: 40m}
  - {id: dr, name: DR, vendor: x, source: shop, form: osfp, networks: [ethernet], modes: [2x400G, 4x200G],
     connectors: 2, fibre: smf, reach: 500m}
  - {id: dr-one, name: DR, vendor: x, source: shop, form: qsfp112, networks: [ethernet], modes: [1x400G, 1x200G],
     fibre: smf, reach: 500m}
cables:
  - {id: dac, name: DAC, vendor: x, source: shop, kind: dac, networks: [ethernet], speed: 400G, from: qsfp112,
     to: qsfp-dd, lengths: [1m, 2m, 3m]}
  - {id: dac-short, name: DAC, vendor: x, source: shop, kind: dac, networks: [ethernet], speed: 400G, from: qsfp112,
     to: qsfp-dd, lengths: [0.5m, 1.5m]}
  - {id: aoc, name: AOC, vendor: x, source: shop, kind: aoc, networks: [ethernet], speed: 400G, from: qsfp112,
     to: qsfp-dd, lengths: [5m, 10m, 30m]}
  - {id: dac-split, name: DAC, vendor: x, source: shop, kind: dac, networks: [ethernet], speed: 400G, from: osfp,
     to: qsfp112, branches: 2, lengths: [1m, 2m]}
  - {id: mmf, name: MMF, vendor: x, source: shop, kind: fibre, networks: [ethernet, infiniband], fibre: mmf,
     lengths: [3m, 5m, 10m, 50m]}
  - {id: smf, name: SMF, vendor: x, source: shop, kind: fibre, networks: [ethernet], fibre: smf,
     lengths: [3m, 100m, 500m]}
  - {id: smf-split, name: SMF, vendor: x, source: shop, kind: fibre, networks: [ethernet], fibre: smf, branches: 2,
     lengths: [3m, 30m]}
)";

const std::vector<MediumKind> kAny{MediumKind::dac, MediumKind::aoc, MediumKind::fibre, MediumKind::copper};
const CageEnd kNic{FormFactor::qsfp112, 1};
const CageEnd kTwin{FormFactor::osfp, 2};
const CageEnd kPlain{FormFactor::qsfp_dd, 1};

class MediaTest : public ::testing::Test {
 protected:
  MediaTest() {
    Sources sources;
    Diagnostics diagnostics;
    const auto root = parse_yaml(sources, sources.add("shop.yaml", kShop), diagnostics);
    if (root) shop_.add(*root, diagnostics);
    shop_.check(diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << render_all(diagnostics, sources, false);
  }

  // "cable/optics at a/optics at b, length in mm", or why not.
  std::string pick(const CageEnd& a, const CageEnd& b, BitRate speed, std::uint32_t run_mm,
                   const std::vector<MediumKind>& wanted = kAny, NetworkKind network = NetworkKind::ethernet) {
    LinkEnds link;
    link.a = a;
    link.b = b;
    link.speed = speed;
    link.network = network;
    link.wanted = &wanted;
    link.reach_mm = run_mm;
    link.length_mm = run_mm;
    std::string why;
    const std::uint32_t kinds = chooser_.kinds(link, media_);
    const auto choice = chooser_.choose(
        link, kinds, [](const Medium&) { return true; }, media_, why);
    if (!choice) return why;
    last_ = *choice;
    const Medium& medium = media_.at(choice->medium);
    std::string text = medium.cable->id->text;
    for (const TransceiverModel* optic : {medium.at_a, medium.at_b}) {
      if (optic != nullptr) text += "/" + optic->id->text;
    }
    return text + " " + std::to_string(choice->length_mm);
  }

  Catalog shop_;
  MediaChooser chooser_{shop_};
  std::vector<Medium> media_;
  MediumChoice last_;
};

TEST_F(MediaTest, OrdersTheNextAvailableLength) {
  EXPECT_EQ(pick(kNic, kPlain, gigabits(400), 1600), "dac 2000");
  EXPECT_EQ(pick(kNic, kPlain, gigabits(400), 2000), "dac 2000");
  EXPECT_EQ(pick(kNic, kPlain, gigabits(400), 2001), "dac 3000");
}

TEST_F(MediaTest, PrefersTheShortestSufficientReachWithinAKind) {
  EXPECT_EQ(pick(kNic, kPlain, gigabits(400), 1200), "dac-short 1500");
  EXPECT_EQ(pick(kNic, kTwin, gigabits(400), 4000, {MediumKind::fibre}), "mmf/sr-one/sr 5000");
  EXPECT_EQ(pick(kNic, kTwin, gigabits(400), 45000, {MediumKind::fibre}), "smf/dr-one/dr 100000")
      << "the optics at one end reach 40 m, whatever the cable's length is";
}

TEST_F(MediaTest, OrdersNoLengthBeyondTheReachOfTheOptics) {
  // The fiber is available with 10 m and 50 m, but the optics at one end reach 40 m.
  EXPECT_EQ(pick(kNic, kTwin, gigabits(400), 20000, {MediumKind::fibre}), "smf/dr-one/dr 100000");
}

TEST_F(MediaTest, FollowsTheOrderOfKindsInTheFile) {
  EXPECT_EQ(pick(kNic, kPlain, gigabits(400), 1000), "dac-short 1500");
  EXPECT_EQ(pick(kNic, kPlain, gigabits(400), 1000, {MediumKind::aoc, MediumKind::dac}), "aoc 5000");
  EXPECT_EQ(pick(kNic, kPlain, gigabits(400), 3001), "aoc 5000") << "the wanted kind is too short";
}

TEST_F(MediaTest, FitsInBothDirections) {
  EXPECT_EQ(pick(kPlain, kNic, gigabits(400), 1600), "dac 2000");
  EXPECT_EQ(pick(kTwin, kNic, gigabits(400), 4000, {MediumKind::fibre}), "mmf/sr/sr-one 5000");
}

TEST_F(MediaTest, SplitsFromTheCageThatIsSplit) {
  EXPECT_EQ(pick(kNic, kTwin, gigabits(400), 1500), "dac-split 2000");
  EXPECT_TRUE(last_.trunk_at_b);
  EXPECT_FALSE(last_.trunk_at_a);
  EXPECT_EQ(last_.connector_ports, 2U);
  EXPECT_EQ(pick(kTwin, kNic, gigabits(400), 1500), "dac-split 2000");
  EXPECT_TRUE(last_.trunk_at_a);
  EXPECT_FALSE(last_.trunk_at_b);
}

TEST_F(MediaTest, SplitsAFiberOnlyIfPortsShareAPlug) {
  // Two ports over two plugs: plain fibers. Four ports over two plugs: a splitter at each.
  EXPECT_EQ(pick(kNic, kTwin, gigabits(400), 4000, {MediumKind::fibre}), "mmf/sr-one/sr 5000");
  EXPECT_FALSE(last_.trunk_at_b);
  EXPECT_EQ(pick(kNic, {FormFactor::osfp, 4}, gigabits(200), 4000, {MediumKind::fibre}), "smf-split/dr-one/dr 30000");
  EXPECT_TRUE(last_.trunk_at_b);
  EXPECT_EQ(last_.connector_ports, 2U);
}

TEST_F(MediaTest, RejectsMediaThatOneEndDoesNotSupport) {
  EXPECT_THAT(pick(kNic, kPlain, gigabits(200), 1000), HasSubstr("no ethernet cable")) << "the speed is another";
  EXPECT_THAT(pick(kNic, kNic, gigabits(400), 1000, {MediumKind::dac}),
              HasSubstr("connects qsfp112 and qsfp112 at 400G"));
  EXPECT_THAT(pick(kTwin, kTwin, gigabits(400), 1000, {MediumKind::dac}), HasSubstr("osfp split 2 ways"))
      << "a splitter has one trunk";
  EXPECT_THAT(pick(kNic, kPlain, gigabits(400), 1000, kAny, NetworkKind::infiniband), HasSubstr("no infiniband cable"));
  EXPECT_EQ(pick(kNic, kTwin, gigabits(400), 4000, kAny, NetworkKind::infiniband), "mmf/sr-one/sr 5000");
  EXPECT_THAT(pick(kNic, kTwin, gigabits(400), 40001, kAny, NetworkKind::infiniband), HasSubstr("40.0 m"));
}

TEST_F(MediaTest, ListsEachMediumOnce) {
  for (int i = 0; i < 3; ++i) {
    (void)pick(kNic, kTwin, gigabits(400), 4000);
    (void)pick(kNic, kTwin, gigabits(400), 400000);
  }
  ASSERT_GE(media_.size(), 2U);  // optics for 4 m and for 400 m
  for (std::size_t i = 0; i < media_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(media_[i].cable == media_[j].cable && media_[i].at_a == media_[j].at_a &&
                   media_[i].at_b == media_[j].at_b);
    }
  }
}

// Checks every cable of a compiled cluster against the catalog at both ends.
class CompiledMedia : public ::testing::TestWithParam<const char*> {};

TEST_P(CompiledMedia, AreLegalAtBothEnds) {
  const auto loaded = load_cluster(source_dir() + "/examples/" + GetParam(), {});
  ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  const Cluster& cluster = *loaded->cluster;
  for (const Cable& cable : cluster.cables()) {
    const Medium& medium = cluster.media()[cable.medium];
    ASSERT_NE(medium.cable, nullptr);
    const auto& lengths = medium.cable->lengths.value;
    EXPECT_NE(std::find(lengths.begin(), lengths.end(), Length(cable.length_mm)), lengths.end()) << "not on sale";
    const bool fibre = medium.cable->kind.value == MediumKind::fibre;
    EXPECT_EQ(fibre, medium.at_a != nullptr);
    EXPECT_EQ(fibre, medium.at_b != nullptr);
    if (!fibre) {
      EXPECT_EQ(medium.cable->speed.value, cluster.port(cable.a).speed());
      continue;
    }
    for (const TransceiverModel* optic : {medium.at_a, medium.at_b}) {
      EXPECT_EQ(optic->fibre.value, medium.cable->fibre.value);
      EXPECT_LE(cable.length_mm, optic->reach->count());
      const auto& modes = optic->modes.value;
      EXPECT_TRUE(std::any_of(modes.begin(), modes.end(),
                              [&](const Breakout& mode) { return mode.speed == cluster.port(cable.a).speed(); }));
    }
  }
}

TEST_P(CompiledMedia, SplittersHaveTheBranchesOfTheCatalog) {
  const auto loaded = load_cluster(source_dir() + "/examples/" + GetParam(), {});
  ASSERT_NE(loaded->cluster, nullptr);
  const Cluster& cluster = *loaded->cluster;
  std::map<std::uint32_t, std::vector<const Cable*>> assemblies;
  for (const Cable& cable : cluster.cables()) assemblies[cable.assembly].push_back(&cable);
  for (const auto& [number, cables] : assemblies) {
    const Medium& medium = cluster.media()[cables.front()->medium];
    EXPECT_LE(cables.size(), static_cast<std::size_t>(medium.cable->branches.value));
    for (const Cable* cable : cables) {
      EXPECT_EQ(cable->medium, cables.front()->medium);
      EXPECT_EQ(cable->length_mm, cables.front()->length_mm) << "a splitter has one length";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, CompiledMedia, ::testing::Values("pod32.yaml", "superpod-h100-4su.yaml"),
                         [](const auto& one) { return one.index == 0 ? "pod32" : "superpod"; });

}  // namespace
}  // namespace weft::model
