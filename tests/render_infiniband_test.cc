// The rendered files of InfiniBand fabrics in operation: ibsim simulates the rendered netlist, the real OpenSM reads
// the rendered configuration and routes it, infiniband-diags and `weft check --live` verify the result.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing_lab::Lab;
using testing_rendered::load_rendering;
using testing_rendered::Rendering;

// Two tenants with separate servers, a manager, storage over InfiniBand too.
constexpr const char* kBench = R"(weft: 1
name: bench
pools:
  - {name: alpha, role: training, server: hgx-h100, count: 3, unit: 4}
  - {name: beta, role: training, server: hgx-h100, count: 2, unit: 4}
  - {name: store, role: storage, server: storage-nvme-2u, count: 2, racks: service}
fabrics:
  backend:
    network: infiniband
    leaf: qm9700
    speed: 400G
    wiring: rail-optimized
    managers: [{name: ufm, server: ufm-appliance-ndr, count: 2, ports: 2, speed: 200G, breakout: 2x200G}]
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
  oob: {}
control_plane: {kind: slurm}
partitions:
  - {name: first, pools: [alpha]}
  - {name: second, pools: [beta]}
tenants:
  - {name: team-alpha, partitions: [first]}
  - {name: team-beta, partitions: [second]}
)";

class RenderInfiniBand : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"ibsim", "ibsim-run", "opensm", "ibnetdiscover", "ibstat", "saquery", "smpquery"}) {
      WEFT_NEEDS_PROGRAM(program);
    }
    lab_.variable("IBSIM_SOCKNAME", fmt::format("weftr{}", ::getpid()));
    lab_.variable("OSM_TMP_DIR", lab_.folder().string());
    lab_.variable("OSM_CACHE_DIR", lab_.folder().string());
  }

  // Renders and starts one fabric from its sim/ folder like run.sh, with OpenSM's files beside it.
  void start(Rendering& rendering, const std::string& fabric, const std::string& text, const std::string& pulled = {}) {
    rendering.render("infiniband");
    rendering.write_to(lab_.folder());
    lab_.put("cluster.yaml", text);
    const std::string sim = "infiniband/" + fabric + "/sim/";
    for (const auto& [path, file] : rendering.sink.files) {
      if (path.starts_with(sim)) lab_.put(path.substr(sim.size()), file.content);
    }
    if (!pulled.empty()) pull("fabric.net", pulled);
    ASSERT_TRUE(run_fabric());
  }

  bool run_fabric() {
    const std::string names = Lab::contents(lab_.folder() / "node-name-map");
    const std::string conf = Lab::contents(lab_.folder() / "opensm.conf");
    const std::size_t at = conf.find("\nguid ") + 6;
    const std::string guid = conf.substr(at, conf.find('\n', at) - at);
    const std::size_t named = names.find(guid);
    if (named == std::string::npos) return false;
    const std::size_t quote = names.find('"', named) + 1;
    lab_.variable("SIM_HOST", names.substr(quote, names.find('"', quote) - quote));
    const pid_t simulator = lab_.start({"ibsim", "-s", "-n", "fabric.net"});
    if (!Lab::wait(20, [&] { return !lab_.alive(simulator) || lab_.run({"ibsim-run", "ibstat"}, 3).code == 0; })) {
      return false;
    }
    lab_.start({"ibsim-run", "opensm", "-F", "opensm.conf"});
    return Lab::wait(30, [&] {
      return lab_.run({"ibsim-run", "ibstat"}, 5).out.find("State: Active") != std::string::npos &&
             log().find("SUBNET UP") != std::string::npos;
    });
  }
  [[nodiscard]] std::string log() const {
    for (const char* name : {"opensm-backend.log", "opensm-storage.log"}) {
      const std::string text = Lab::contents(lab_.folder() / name);
      if (!text.empty()) return text;
    }
    return {};
  }

  // Removes one host's cable, both lines of it.
  void pull(const std::string& file, const std::string& description) {
    std::istringstream lines(Lab::contents(lab_.folder() / file));
    std::string kept;
    bool own = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Ca\t") || line.starts_with("Switch"))
        own = line.find("\"" + description + "\"") != std::string::npos;
      const bool port = line.starts_with("[");
      if (port && (own || line.find("\"" + description + "\"") != std::string::npos)) continue;
      kept += line + "\n";
    }
    lab_.put(file, kept);
  }

  // Wiring rules with findings in `weft check --live` over an ibnetdiscover of the running fabric.
  std::vector<std::string> live_findings() {
    const auto sweep = lab_.run({"ibsim-run", "ibnetdiscover"}, 30);
    EXPECT_EQ(sweep.code, 0);
    std::filesystem::create_directories(lab_.folder() / "live");
    lab_.put("live/ibnetdiscover.txt", sweep.out);
    const auto outcome = lab_.run({weft_binary(), "check", "cluster.yaml", "--live", "live", "--output", "json"}, 60);
    const Json document = Json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << outcome.out;
    std::vector<std::string> found;
    if (document.is_discarded()) return found;
    for (const Json& finding : document.at("findings")) {
      const std::string rule = finding.at("rule");
      // LV001 to LV008 are about cables; speeds are ibsim's own.
      if (rule.starts_with("LV00") && rule != "LV009") found.push_back(finding.at("message"));
    }
    return found;
  }

  // Every switch has a route to every adapter and every other switch; only spines need none to each other.
  void expect_routed(const model::Cluster& cluster, const std::vector<std::string>& switches) {
    const model::FabricPlan& plan = cluster.fabric(model::FabricKind::backend);
    const std::string sweep = Lab::contents(lab_.folder() / "live/ibnetdiscover.txt");
    for (const std::string& name : switches) {
      const std::size_t header = sweep.find("# \"" + name + "\"");
      ASSERT_NE(header, std::string::npos) << name;
      const bool spine = cluster.group_of(cluster.find_device(name)).tier == model::Tier::spine;
      const std::uint32_t nodes = plan.leaves + plan.host_links + plan.manager_links + (spine ? 1 : plan.spines);
      const std::size_t lid = sweep.find("lid ", header) + 4;
      const auto table =
          lab_.run({"ibsim-run", "ibroute", "-n", sweep.substr(lid, sweep.find(' ', lid) - lid)}, 20, true);
      EXPECT_NE(table.out.find(fmt::format("\n{} valid lids dumped", nodes)), std::string::npos)
          << name << ": " << table.out.substr(table.out.size() - std::min<std::size_t>(table.out.size(), 200));
    }
  }

  Lab lab_{"ibr"};
};

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST_F(RenderInfiniBand, SmallFabricHasItsPartitions) {
  const auto rendering = load_rendering(kBench);
  ASSERT_NE(rendering, nullptr);
  start(*rendering, "backend", kBench);
  if (HasFatalFailure()) return;
  EXPECT_EQ(live_findings(), std::vector<std::string>{});
  EXPECT_EQ(log().find("ERR "), std::string::npos) << log().substr(log().find("ERR "), 400);

  // P_Keys of a port by LID, as in the adapter's table: 0x8000 is full membership.
  const auto lid_of = [&](const std::string& description) {
    const std::string nodes = Lab::contents(lab_.folder() / "live/ibnetdiscover.txt");
    const std::size_t header = nodes.find("# \"" + description + "\"\n");
    const std::size_t lid = nodes.find("# lid ", header);
    return nodes.substr(lid + 6, nodes.find(' ', lid + 6) - lid - 6);
  };
  const auto keys = [&](const std::string& description) {
    const std::string out = lab_.run({"ibsim-run", "smpquery", "pkeys", lid_of(description)}, 10).out;
    std::vector<std::string> found;
    for (std::size_t at = out.find("0x"); at != std::string::npos; at = out.find("0x", at + 1)) {
      const std::string key = out.substr(at, 6);
      if (key != "0x0000") found.push_back(key);
    }
    return found;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys("alpha001 mlx5_0"), (Keys{"0x8001", "0x7fff"}));
  EXPECT_EQ(keys("beta002 mlx5_7"), (Keys{"0x8002", "0x7fff"}));
  EXPECT_EQ(keys("ufm1 mlx5_0"), (Keys{"0xffff"}));
  // A server of one tenant sees its own broadcast group and the default one, not the other tenant's.
  lab_.variable("SIM_HOST", "alpha001 mlx5_0");
  const std::string groups = lab_.run({"ibsim-run", "saquery", "-g"}, 10).out;
  EXPECT_NE(groups.find("pkey....................0xFFFF"), std::string::npos) << groups;
  EXPECT_NE(groups.find("pkey....................0x8001"), std::string::npos) << groups;
  EXPECT_EQ(groups.find("pkey....................0x8002"), std::string::npos) << groups;
  expect_routed(rendering->cluster(), {"be-spine001", "be-spine002", "be-alpha-u001-leaf1", "be-beta-u001-leaf8"});
}

TEST_F(RenderInfiniBand, GuidScriptFindsWhatTheSimulatorHas) {
  const auto rendering = load_rendering(kBench);
  ASSERT_NE(rendering, nullptr);
  start(*rendering, "backend", kBench);
  if (HasFatalFailure()) return;
  std::string sweep = lab_.run({"ibsim-run", "ibnetdiscover"}, 30).out;
  // Descriptions as set by managed switches and renamed adapters.
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = sweep.find(from); at != std::string::npos; at = sweep.find(from, at + to.size())) {
      sweep.replace(at, from.size(), to);
    }
  };
  replace("\"be-spine001\"", "\"MF0;be-spine001:MQM9700/U1\"");
  replace("\"alpha001 mlx5_0\"", "\"alpha001 mlx5_be1\"");
  lab_.put("sweep", sweep);
  const std::string script = (lab_.folder() / "infiniband/backend/guids.sh").string();
  const auto outcome = lab_.run({"bash", script, "--from", "sweep", "--out", "site", "--host", "ufm2"}, 20, true);
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const auto site = [&](const std::string& name) { return Lab::contents(lab_.folder() / "site" / name); };
  const auto simulated = [&](const std::string& name) { return Lab::contents(lab_.folder() / name); };
  for (const char* name : {"root_guids.conf", "cn_guids.conf", "io_guids.conf", "node-name-map"}) {
    EXPECT_EQ(site(name), simulated(name)) << name;
  }
  EXPECT_TRUE(simulated("partitions.conf").ends_with(site("partitions.conf"))) << site("partitions.conf");
  EXPECT_NE(site("opensm.conf").find("\nsm_priority 14\n"), std::string::npos);
  EXPECT_EQ(site("opensm.conf").find("\nguid 0x0000000000000000\n"), std::string::npos);
  // A node does not answer: nothing is written, and it is reported.
  lab_.put("sweep", sweep.substr(0, sweep.find("\nvendid", sweep.size() / 2)));
  const auto partial = lab_.run({"bash", script, "--from", "sweep", "--out", "none"}, 20, true);
  EXPECT_EQ(partial.code, 3);
  EXPECT_NE(partial.out.find("not found in the fabric"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(lab_.folder() / "none"));
}

TEST_F(RenderInfiniBand, PulledCableIsFound) {
  const auto rendering = load_rendering(kBench);
  ASSERT_NE(rendering, nullptr);
  start(*rendering, "backend", kBench, "alpha002 mlx5_3");
  if (HasFatalFailure()) return;
  const auto findings = live_findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings.front().find("alpha002:be4"), std::string::npos) << findings.front();
}

// The whole backend of a published design: 48 switches, 1,016 adapters and four of managers.
TEST_F(RenderInfiniBand, SuperPodIsRoutedAsAFatTree) {
  const auto text = read_file(testing_rendered::source_path("examples/superpod-h100-4su.yaml"));
  ASSERT_TRUE(text.ok());
  const auto rendering = load_rendering(*text);
  ASSERT_NE(rendering, nullptr);
  start(*rendering, "backend", *text);
  if (HasFatalFailure()) return;
  EXPECT_EQ(live_findings(), std::vector<std::string>{});
  EXPECT_NE(log().find("FatTree"), std::string::npos);
  EXPECT_EQ(log().find("ERR "), std::string::npos) << log().substr(log().find("ERR "), 400);
  const std::string sweep = Lab::contents(lab_.folder() / "live/ibnetdiscover.txt");
  const model::FabricPlan& plan = rendering->cluster().fabric(model::FabricKind::backend);
  EXPECT_EQ(count_of(sweep, "\nSwitch\t"), plan.leaves + plan.spines);
  EXPECT_EQ(count_of(sweep, "\nCa\t"), plan.host_links + plan.manager_links);
  EXPECT_EQ(sweep.find("lid 0 "), std::string::npos) << "a port without a LID";
  expect_routed(rendering->cluster(), {"be-spine001", "be-spine016", "be-dgx-u001-leaf1", "be-dgx-u004-leaf8"});
}

}  // namespace
}  // namespace weft
