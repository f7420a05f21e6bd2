#include "netsim/sim/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "netsim/network/topologies.h"

namespace weft::netsim {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool valid(const std::function<void(SimOptions&)>& change) const {
    SimOptions options;
    change(options);
    return validate(options, network_).ok();
  }
  Network network_ = star(3, gigabits(100), microseconds(1));
};

TEST_F(OptionsTest, DefaultsAreValid) {
  EXPECT_TRUE(valid([](SimOptions&) {}));
}

TEST_F(OptionsTest, OneToEightClassesWithDistinctPriorities) {
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes.clear(); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes.push_back(o.classes.front()); })) << "two of priority 3";
  const auto with_classes = [](int count) {
    return [count](SimOptions& o) {
      const TrafficClassOptions one = o.classes.front();
      o.classes.assign(static_cast<std::size_t>(count), one);
      for (int i = 0; i < count; ++i) o.classes[static_cast<std::size_t>(i)].priority = static_cast<std::uint8_t>(i);
    };
  };
  EXPECT_TRUE(valid(with_classes(8)));
  EXPECT_FALSE(valid(with_classes(9)));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].priority = 8; }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].weight = 0; }));
}

TEST_F(OptionsTest, EcnThresholdsAreInOrder) {
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].ecn_min = o.classes[0].ecn_max + Bytes(1); }));
  EXPECT_TRUE(valid([](SimOptions& o) { o.classes[0].ecn_min = o.classes[0].ecn_max; }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].ecn_min = Bytes(-1); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].ecn_probability = 1.01; }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].ecn_probability = std::nan(""); }));
  EXPECT_TRUE(valid([](SimOptions& o) {
    o.classes[0].ecn = false;
    o.classes[0].ecn_min = o.classes[0].ecn_max + Bytes(1);
  })) << "nobody marks";
}

TEST_F(OptionsTest, HostCostsAreNotNegative) {
  EXPECT_TRUE(valid([](SimOptions& o) { o.classes[0].transport.host_limit = gigabits(1); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.host_limit = BitRate(-1); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.host_overhead = SimTime(-1); }));
}

TEST_F(OptionsTest, PacketsHaveASize) {
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.payload = Bytes(63); }));
  EXPECT_TRUE(valid([](SimOptions& o) { o.classes[0].transport.payload = Bytes(64); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.payload = Bytes(65'537); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.header = Bytes(-1); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.control = Bytes(0); }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.ack_every = 0; }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.classes[0].transport.timeout = SimTime(0); }));
}

TEST_F(OptionsTest, ThreadsAndAlphaAreInRange) {
  EXPECT_FALSE(valid([](SimOptions& o) { o.threads = 0; }));
  EXPECT_TRUE(valid([](SimOptions& o) { o.threads = 64; }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.threads = 65; }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.switches.alpha = 0; }));
  EXPECT_FALSE(valid([](SimOptions& o) { o.switches.alpha = std::nan(""); }));
}

TEST_F(OptionsTest, EventsReferToExistingLinksAndNodes) {
  const auto event = [](LinkId link, double loss) {
    return [=](SimOptions& o) {
      LinkEvent added;
      added.link = link;
      added.loss = loss;
      o.link_events.push_back(added);
    };
  };
  EXPECT_TRUE(valid(event(LinkId{5}, 1)));
  EXPECT_FALSE(valid(event(LinkId{6}, 0)));
  EXPECT_FALSE(valid(event(model::kNone<LinkId>, 0)));
  EXPECT_FALSE(valid(event(LinkId{0}, -0.1)));
  EXPECT_FALSE(valid(event(LinkId{0}, std::nan(""))));
  const auto storm = [](NodeId from) {
    return [=](SimOptions& o) {
      PauseStorm added;
      added.endpoint = from;
      o.pause_storms.push_back(added);
    };
  };
  EXPECT_TRUE(valid(storm(network_.endpoints()[2])));
  EXPECT_FALSE(valid(storm(network_.find_node("switch0"))));
  EXPECT_FALSE(valid(storm(model::kNone<NodeId>)));
}

TEST(OptionsText, EveryValueHasADistinctName) {
  std::set<std::string_view> words;
  for (const Fidelity f : {Fidelity::analytic, Fidelity::flow, Fidelity::packet}) words.insert(to_text(f));
  for (const Transport t :
       {Transport::dcqcn, Transport::pfc_only, Transport::hpcc, Transport::nscc, Transport::receiver, Transport::tcp}) {
    words.insert(to_text(t));
  }
  for (const RoutingMode m : {RoutingMode::ecmp, RoutingMode::weighted, RoutingMode::resilient, RoutingMode::d_mod_k,
                              RoutingMode::pinned, RoutingMode::adaptive, RoutingMode::flowlet, RoutingMode::spray}) {
    words.insert(to_text(m));
  }
  for (const HashFunction h :
       {HashFunction::crc32, HashFunction::crc16, HashFunction::xor16, HashFunction::toeplitz, HashFunction::mix64}) {
    words.insert(to_text(h));
  }
  for (const HashSeeds s : {HashSeeds::per_switch, HashSeeds::per_tier, HashSeeds::shared}) words.insert(to_text(s));
  EXPECT_EQ(words.size(), 3U + 6U + 8U + 5U + 3U);
  EXPECT_FALSE(words.contains("?"));
}

}  // namespace
}  // namespace weft::netsim
