// Real lldpd in network namespaces, cabled with veth pairs according to a part of a compiled cluster's plan, with two
// pairs of cables swapped and one missing: `weft check --live` must report exactly these.
#include <fmt/format.h>
#include <gtest/gtest.h>

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
  - {name: train, role: training, server: hgx-h100, count: 4, unit: 4}
  - {name: store, role: storage, server: storage-nvme-2u, count: 2, racks: service}
fabrics:
  backend: {leaf: sn5600, system: sonic, speed: 400G, wiring: rail-optimized}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
  oob: {}
)";

struct End {
  std::string device;
  std::string interface;
};
using Pair = std::pair<End, End>;

// SONiC names a port after its first lane; the SN5600 has 8 lanes in each cage.
std::string sonic_name(const model::Port& port) { return fmt::format("Ethernet{}", port.cage * 8 + port.lane); }

// Rails 1 and 2 of all four hosts.
std::vector<Pair> planned_pairs(const model::Cluster& cluster) {
  std::vector<Pair> pairs;
  for (const model::Cable& cable : cluster.cables()) {
    const model::Port& host = cluster.port(cable.a);
    const model::Port& leaf = cluster.port(cable.b);
    if (cable.fabric != model::FabricKind::backend || cable.role != model::CableRole::host_leaf || host.rail > 1)
      continue;
    pairs.push_back(
        {{cluster.name_of(host.device), cluster.port_name(cable.a)}, {cluster.name_of(leaf.device), sonic_name(leaf)}});
  }
  return pairs;
}

Pair& of(std::vector<Pair>& pairs, const std::string& device, const std::string& interface) {
  for (Pair& pair : pairs) {
    if (pair.first.device == device && pair.first.interface == interface) return pair;
  }
  ADD_FAILURE() << device << " " << interface;
  return pairs.front();
}

class LiveLldp : public ::testing::Test {
 protected:
  void SetUp() override {
    WEFT_NEEDS_ROOT();
    for (const char* program : {"ip", "lldpd", "lldpcli"}) WEFT_NEEDS_PROGRAM(program);
    WEFT_NEEDS(lab_.can_make_networks(), "network namespaces");
  }

  void build(const std::vector<Pair>& pairs) {
    for (const auto& [a, b] : pairs) {
      for (const End& end : {a, b}) {
        std::string& space = spaces_[end.device];
        if (space.empty()) space = lab_.space(end.device);
        ASSERT_NE(space, "") << end.device;
        ++expected_[end.device];
      }
      const auto made = lab_.run({"ip", "link", "add", a.interface, "netns", spaces_[a.device], "type", "veth", "peer",
                                  "name", b.interface, "netns", spaces_[b.device]},
                                 20, true);
      ASSERT_EQ(made.code, 0) << made.out;
      for (const End& end : {a, b}) {
        (void)lab_.run({"ip", "-n", spaces_[end.device], "link", "set", end.interface, "up"});
      }
    }
  }
  [[nodiscard]] std::string socket(const std::string& device) const {
    return (lab_.folder() / (device + ".sock")).string();
  }

  // The name and a short interval are set before the first frame: neighbors keep earlier information for 120 s. Daemons
  // are started one by one, because each creates the shared folder; one that failed is restarted.
  void start_agents() {
    for (const auto& [device, space] : spaces_) {
      lab_.put(device + ".conf", "configure system hostname " + device + "\nconfigure lldp tx-interval 1\n");
      const testing_lab::Words words = {"ip",    "netns", "exec", space,
                                        "lldpd", "-d",    "-u",   socket(device),
                                        "-I",    "*",     "-O",   (lab_.folder() / (device + ".conf")).string()};
      pid_t agent = lab_.start(words);
      const bool ready = Lab::wait(60, [&, name = device] {
        if (!lab_.alive(agent)) agent = lab_.start(words);
        return lab_.run({"lldpcli", "-u", socket(name), "show", "chassis"}).out.find(name) != std::string::npos;
      });
      EXPECT_TRUE(ready) << device;
    }
  }
  // Reports of all devices below live/, once all neighbors are discovered.
  bool collect() {
    std::filesystem::create_directories(lab_.folder() / "live");
    for (const auto& [device, count] : expected_) {
      const auto heard = [&, name = device, wanted = count] {
        const auto report = lab_.run({"lldpcli", "-u", socket(name), "-f", "json", "show", "neighbors"});
        Sources sources;
        Diagnostics diagnostics;
        const FileId file = sources.add(name, report.out);
        const auto read = config::read_lldp(sources, file, diagnostics);
        if (!read || read->neighbors.size() != wanted) return false;
        lab_.put("live/" + name + ".lldp.json", report.out);
        return true;
      };
      if (!Lab::wait(150, heard)) {
        ADD_FAILURE() << device << " should hear " << count << " neighbors and reports\n"
                      << lab_.run({"lldpcli", "-u", socket(device), "show", "neighbors"}, 20, true).out;
        return false;
      }
    }
    return true;
  }

  Lab lab_{"lldp"};
  std::map<std::string, std::string> spaces_;
  std::map<std::string, std::size_t> expected_;
};

std::vector<std::string> messages(const Json& document, const std::string& rule) {
  std::vector<std::string> out;
  for (const Json& finding : document.at("findings")) {
    if (finding.at("rule") == rule) out.push_back(finding.at("message"));
  }
  return out;
}

bool any_with(const std::vector<std::string>& texts, std::initializer_list<std::string> parts) {
  for (const std::string& text : texts) {
    bool all = true;
    for (const std::string& part : parts) all = all && text.find(part) != std::string::npos;
    if (all) return true;
  }
  return false;
}

TEST_F(LiveLldp, SwappedAndMissingCablesAreReported) {
  const auto loaded = model::load_cluster_text("bench.yaml", kCluster);
  ASSERT_TRUE(loaded->cluster) << render_all(loaded->diagnostics, loaded->sources, false);
  std::vector<Pair> pairs = planned_pairs(*loaded->cluster);
  ASSERT_EQ(pairs.size(), 8U);
  const std::string gone_leaf = of(pairs, "train004", "be2").second.device;
  std::swap(of(pairs, "train001", "be1").second, of(pairs, "train002", "be1").second);
  std::swap(of(pairs, "train003", "be1").second, of(pairs, "train003", "be2").second);
  std::erase_if(pairs, [](const Pair& p) { return p.first.device == "train004" && p.first.interface == "be2"; });
  ASSERT_NO_FATAL_FAILURE(build(pairs));
  start_agents();
  ASSERT_TRUE(collect()) << "not all agents heard each other";

  lab_.put("bench.yaml", kCluster);
  const auto outcome = lab_.run({weft_binary(), "check", "bench.yaml", "--live", "live", "--output", "json"}, 60);
  const Json document = Json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << outcome.out;
  const auto swaps = messages(document, "LV001");
  EXPECT_EQ(swaps.size(), 2U);
  EXPECT_TRUE(any_with(swaps, {"train001:be1", "train002:be1"}));
  EXPECT_TRUE(any_with(swaps, {"train003:be1", "train003:be2", "rails 1 and 2"}));
  const auto missing = messages(document, "LV005");
  EXPECT_EQ(missing.size(), 1U);
  EXPECT_TRUE(any_with(missing, {"train004:be2", gone_leaf}));
  for (const char* rule : {"LV002", "LV003", "LV004", "LV006", "LV007", "LV008"}) {
    EXPECT_TRUE(messages(document, rule).empty()) << rule;
  }
}

}  // namespace
}  // namespace weft
