// A whole InfiniBand fabric without hardware: ibsim wired according to a compiled cluster's plan with some cables
// swapped, the real OpenSM, ibnetdiscover and iblinkinfo: `weft check --live` must report every swap.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "check/live/comparison.h"
#include "lab.h"
#include "model/load.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing_lab::Lab;

constexpr const char* kCluster = R"(weft: 1
name: bench
pools:
  - {name: train, role: training, server: hgx-h100, count: 8, unit: 8}
  - {name: store, role: storage, server: storage-nvme-2u, count: 2, racks: service}
fabrics:
  backend: {network: infiniband, leaf: qm9700, speed: 400G, wiring: rail-optimized}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
  oob: {}
)";

struct End {
  std::string node;
  int port = 0;
};
using Pair = std::pair<End, End>;

// A QM9700 has two ports per cage.
End end_of(const model::Cluster& cluster, model::PortId id) {
  const model::Port& port = cluster.port(id);
  const std::string& name = cluster.name_of(port.device);
  if (cluster.group_of(port.device).kind == model::DeviceKind::server)
    return {fmt::format("{} mlx5_{}", name, port.rail), 1};
  return {name, port.cage * 2 + port.lane / 4 + 1};
}

std::string netlist(const std::vector<Pair>& pairs) {
  std::map<std::string, std::map<int, End>> nodes;
  for (const auto& [a, b] : pairs) {
    nodes[a.node].emplace(a.port, b);
    nodes[b.node].emplace(b.port, a);
  }
  std::string text;
  for (const auto& [node, ports] : nodes) {
    const bool adapter = node.find(" mlx5_") != std::string::npos;
    text += fmt::format("{} \"{}\"\n", adapter ? "Hca 1" : "Switch 64", node);
    for (const auto& [port, far] : ports) text += fmt::format("[{}] \"{}\"[{}]\n", port, far.node, far.port);
    text += "\n";
  }
  return text;
}

class LiveInfiniBand : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"ibsim", "ibsim-run", "opensm", "ibnetdiscover", "iblinkinfo", "ibstat"}) {
      WEFT_NEEDS_PROGRAM(program);
    }
    lab_.variable("IBSIM_SOCKNAME", fmt::format("weft{}", ::getpid()));
    lab_.variable("OSM_TMP_DIR", lab_.folder().string());
    lab_.variable("OSM_CACHE_DIR", lab_.folder().string());
  }

  bool start(const std::vector<Pair>& pairs) {
    lab_.put("net.txt", netlist(pairs));
    const std::string first = pairs.front().first.node;
    const pid_t simulator = lab_.start({"ibsim", "-s", "-n", "net.txt"});
    lab_.variable("SIM_HOST", first);
    if (!Lab::wait(20, [&] { return !lab_.alive(simulator) || lab_.run({"ibsim-run", "ibstat"}, 3).code == 0; })) {
      return false;
    }
    if (!lab_.alive(simulator)) return false;
    lab_.start({"ibsim-run", "opensm", "-f", (lab_.folder() / "opensm.log").string()});
    return Lab::wait(30, [&] {
      return lab_.run({"ibsim-run", "ibstat"}, 5).out.find("State: Active") != std::string::npos;
    });
  }

  void check(const model::Cluster& cluster, const std::vector<std::array<std::string, 4>>& swaps) {
    lab_.put("bench.yaml", kCluster);
    const auto outcome = lab_.run({weft_binary(), "check", "bench.yaml", "--live", "live", "--output", "json"}, 60);
    const Json document = Json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << outcome.out;
    std::vector<std::string> found;
    for (const Json& finding : document.at("findings")) {
      const std::string rule = finding.at("rule");
      if (rule == "LV001") found.push_back(finding.at("message"));
      // ibsim's links run at the lowest rate; everything else about the wiring is as planned.
      for (const char* wrong : {"LV002", "LV003", "LV004", "LV005", "LV006", "LV007", "LV008"}) {
        EXPECT_NE(rule, wrong) << finding.dump();
      }
    }
    EXPECT_EQ(found.size(), swaps.size());
    for (const auto& names : swaps) {
      bool named = false;
      for (const std::string& message : found) {
        bool all = true;
        for (const std::string& name : names) all = all && message.find(name) != std::string::npos;
        named = named || all;
      }
      EXPECT_TRUE(named) << names[0] << " and " << names[1];
    }
    (void)cluster;
  }

  Lab lab_{"ib"};
};

TEST_F(LiveInfiniBand, EverySwapIsReported) {
  const auto loaded = model::load_cluster_text("bench.yaml", kCluster);
  ASSERT_TRUE(loaded->cluster) << render_all(loaded->diagnostics, loaded->sources, false);
  const model::Cluster& cluster = *loaded->cluster;
  std::vector<Pair> pairs;
  std::vector<const model::Cable*> cables;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != model::FabricKind::backend) continue;
    pairs.emplace_back(end_of(cluster, cable.a), end_of(cluster, cable.b));
    cables.push_back(&cable);
  }
  const auto host_cable = [&](const std::string& port) {
    for (std::size_t i = 0; i < cables.size(); ++i) {
      if (cluster.full_port_name(cables[i]->a) == port) return i;
    }
    ADD_FAILURE() << port;
    return std::size_t{0};
  };
  std::size_t uplink = cables.size();
  for (std::size_t i = 0; i < cables.size() && uplink == cables.size(); ++i) {
    if (cables[i]->role == model::CableRole::leaf_spine) uplink = i;
  }
  ASSERT_LT(uplink, cables.size());
  std::vector<std::pair<std::size_t, std::size_t>> chosen = {{host_cable("train001:be1"), host_cable("train002:be1")},
                                                             {host_cable("train003:be4"), host_cable("train003:be5")},
                                                             {uplink, cables.size() - 1}};
  std::vector<std::array<std::string, 4>> swaps;
  for (const auto& [x, y] : chosen) {
    std::swap(pairs[x].second, pairs[y].second);
    swaps.push_back({cluster.full_port_name(cables[x]->a), cluster.full_port_name(cables[y]->a),
                     cluster.full_port_name(cables[x]->b), cluster.full_port_name(cables[y]->b)});
  }
  ASSERT_TRUE(start(pairs)) << "ibsim or opensm did not come up";

  for (const auto& words : {testing_lab::Words{"ibsim-run", "ibnetdiscover"},
                            {"ibsim-run", "iblinkinfo"},
                            {"ibsim-run", "iblinkinfo", "--line"}}) {
    const auto sweep = lab_.run(words, 30);
    ASSERT_EQ(sweep.code, 0) << words[1];
    std::filesystem::remove_all(lab_.folder() / "live");
    std::filesystem::create_directories(lab_.folder() / "live");
    lab_.put("live/" + words[1] + ".txt", sweep.out);
    SCOPED_TRACE(words[1] + (words.size() > 2 ? words[2] : ""));
    check(cluster, swaps);
  }
}

}  // namespace
}  // namespace weft
