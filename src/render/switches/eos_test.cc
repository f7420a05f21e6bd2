// EOS where its syntax differs from what one would expect. Every line of whole files is checked against a grammar in
// tests/render_eos_test.cc.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "model/load.h"
#include "render/core/memory_sink.h"
#include "render/core/targets.h"
#include "render/switches/eos_config.h"

namespace weft::render {
namespace {

struct Made {
  std::unique_ptr<model::Loaded> loaded;
  MemorySink sink;
};

Made render(const std::string& backend, const std::string& frontend = "leaf: arista-7060dx5-64s") {
  Made made;
  made.loaded = model::load_cluster_text(
      "cluster.yaml",
      "weft: 1\nname: lab\npools:\n  - {name: train, server: hgx-h100, count: 4, unit: 4}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "  - {name: jump, role: jump, server: jump-1u, count: 2}\n"
      "fabrics:\n  backend: {leaf: arista-7060x6-64pe, speed: 400G, wiring: rail-optimized, spines: 2" +
          backend + "}\n  storage: {leaf: sn5600}\n  frontend: {" + frontend + "}\n");
  EXPECT_NE(made.loaded->cluster, nullptr) << render_all(made.loaded->diagnostics, made.loaded->sources, false);
  if (made.loaded->cluster == nullptr) return made;
  const RenderPlan plan(*made.loaded->cluster);
  const RenderOptions options;
  const RenderInput input{*made.loaded->cluster, plan, options, {}};
  EXPECT_TRUE(applies_eos(input));
  render_eos(input, made.sink);
  return made;
}

constexpr const char* kLeaf = "eos/be-train-u001-leaf1.cfg";

SwitchPort link(std::int64_t gigabit, std::uint32_t lane, std::uint32_t lanes, std::uint32_t cage_lanes) {
  SwitchPort out;
  out.cage = 6;
  out.lane = lane;
  out.lanes = lanes;
  out.cage_lanes = cage_lanes;
  out.speed = gigabits(gigabit);
  return out;
}

// A breakout port is named after its first lane: two halves of an eight-lane cage are 7/1 and 7/5.
TEST(Eos, NamesPortsByLane) {
  EXPECT_EQ(eos_port_name(link(800, 0, 8, 8)), "Ethernet7/1");
  EXPECT_EQ(eos_port_name(link(400, 4, 4, 8)), "Ethernet7/5");
  EXPECT_EQ(eos_port_name(link(200, 6, 2, 8)), "Ethernet7/7");
  EXPECT_EQ(eos_port_name(link(25, 0, 1, 1)), "Ethernet7");
}

TEST(Eos, WritesSpeedsWithLanes) {
  EXPECT_EQ(eos_speed(link(800, 0, 8, 8)), "800g-8");
  EXPECT_EQ(eos_speed(link(400, 4, 4, 8)), "400g-4");
  EXPECT_EQ(eos_speed(link(400, 0, 8, 8)), "400g-8");
  EXPECT_EQ(eos_speed(link(200, 0, 2, 8)), "200g-2");
  EXPECT_EQ(eos_speed(link(100, 0, 1, 8)), "100g-1");
  EXPECT_EQ(eos_speed(link(100, 0, 8, 8)), "100g-4");  // a QSFP28 in a larger cage
  EXPECT_EQ(eos_speed(link(25, 0, 1, 1)), "25g");
}

// By default EOS puts DSCP 24 to 31 into class 3: all but the data's must be moved out of the lossless class.
TEST(Eos, OnlyTheDataIsLossless) {
  const Made made = render("");
  std::istringstream lines(made.sink.content(kLeaf));
  std::map<int, int> class_of;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("qos map dscp ", 0) != 0) continue;
    std::istringstream words(line.substr(13));
    std::vector<int> marks;
    std::string word;
    while (words >> word && word != "to") marks.push_back(std::stoi(word));
    int to = -1;
    words >> word >> to;
    for (const int mark : marks) EXPECT_TRUE(class_of.emplace(mark, to).second) << mark;
  }
  ASSERT_EQ(class_of.size(), 64U);
  for (const auto& [mark, to] : class_of) EXPECT_EQ(to == 3, mark == 26) << mark;
  EXPECT_EQ(class_of.at(48), 6);
}

TEST(Eos, WatchdogTimesAreInSeconds) {
  const Made made = render(
      ", qos: {watchdog_detection: 400ms, watchdog_restoration: 2s, watchdog_poll: 100ms, "
      "watchdog_action: forward}");
  const std::string text = made.sink.content(kLeaf);
  for (const char* line : {"default timeout 0.4\n", "default recovery-time 2\n", "default polling-interval 0.1\n",
                           "watchdog action no-drop\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

// The two leaves of a pair name each other, agree on every port channel, and share the gateway.
TEST(Eos, PairsAgree) {
  const Made made = render("");
  const std::string a = made.sink.content("eos/fe-leaf001a.cfg");
  const std::string b = made.sink.content("eos/fe-leaf001b.cfg");
  ASSERT_FALSE(a.empty());
  const auto bundles = [](const std::string& text) {
    std::set<std::string> out;  // "1 train001"
    std::istringstream lines(text);
    std::string channel;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("interface Port-Channel", 0) == 0) channel = line.substr(22);
      if (line.rfind("interface Ethernet", 0) == 0) channel.clear();
      if (!channel.empty() && line.rfind("   description ", 0) == 0 && line.find("MLAG") == std::string::npos)
        out.insert(channel + " " + line.substr(15, line.rfind(' ') - 15));
    }
    return out;
  };
  EXPECT_EQ(bundles(a), bundles(b));
  EXPECT_EQ(bundles(a).size(), 4U + 3U);  // jump hosts are only on the out-of-band network
  EXPECT_NE(a.find("   ip address 169.254.255.0/31\n"), std::string::npos);
  EXPECT_NE(a.find("   peer-address 169.254.255.1\n"), std::string::npos);
  EXPECT_NE(b.find("   ip address 169.254.255.1/31\n"), std::string::npos);
  EXPECT_NE(b.find("   peer-address 169.254.255.0\n"), std::string::npos);
  EXPECT_NE(a.find("   ip virtual-router address 10.20.50.1\n"), std::string::npos);
  EXPECT_NE(b.find("   ip virtual-router address 10.20.50.1\n"), std::string::npos);
  EXPECT_NE(a.find("   ip address 10.20.50.2/24\n"), std::string::npos);
  EXPECT_NE(b.find("   ip address 10.20.50.3/24\n"), std::string::npos);
}

TEST(Eos, PairVlanIsNotAFabricVlan) {
  const Made made = render("", "leaf: arista-7060dx5-64s, vlan: 4094");
  const std::string a = made.sink.content("eos/fe-leaf001a.cfg");
  EXPECT_NE(a.find("   local-interface Vlan4093\n"), std::string::npos);
  EXPECT_NE(a.find("\nvlan 4094\n   name frontend\n"), std::string::npos);
}

}  // namespace
}  // namespace weft::render
