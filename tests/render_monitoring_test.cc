// Prometheus, Alertmanager and Grafana files checked with the programs that read them: promtool, amtool, and Grafana's
// rules for panels. promtool, not the text of a rule, determines which alerts fire.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/test_prerequisites.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_rendered::load_example;
using testing_rendered::load_rendering;
using testing_rendered::Rendering;

constexpr const char* kExamples[] = {"pod16.yaml", "superpod-h100-4su.yaml", "pod32.yaml", "nexus8.yaml"};

std::unique_ptr<Rendering> rendered(const std::string& example) {
  auto out = load_example(example);
  for (const char* target : {"prometheus", "alertmanager", "grafana"}) out->render(target);
  return out;
}

std::vector<std::string> files_under(const Rendering& rendering, const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& [path, file] : rendering.sink.files) {
    if (path.starts_with(folder)) out.push_back(path);
  }
  return out;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// Debian builds Prometheus without Kubernetes discovery: its promtool gets the configuration without that job.
std::string without_kubernetes(const std::string& config) {
  const std::size_t from = config.find("- job_name: kube-state-metrics");
  if (from == std::string::npos) return config;
  const std::size_t to = config.find("\n- job_name:", from);
  return config.substr(0, from) + (to == std::string::npos ? "" : config.substr(to + 1));
}

bool check_config(Lab& lab, const Rendering& rendering, const std::string& name) {
  const std::string path = "prometheus/" + name;
  if (rendering.sink.files.count(path) == 0) return false;
  Outcome checked = lab.run({"promtool", "check", "config", path}, 20, true);
  if (checked.out.find("kubernetes_sd_configs not found") != std::string::npos) {
    lab.put("prometheus/reduced.yml", without_kubernetes(rendering.sink.content(path)));
    checked = lab.run({"promtool", "check", "config", "prometheus/reduced.yml"}, 20, true);
  }
  EXPECT_EQ(checked.code, 0) << name << "\n" << checked.out;
  EXPECT_EQ(checked.out.find("FAILED"), std::string::npos) << checked.out;
  return true;
}

class Monitoring : public ::testing::TestWithParam<const char*> {};

TEST_P(Monitoring, PromtoolAcceptsConfigurationAndRules) {
  WEFT_NEEDS_PROGRAM("promtool");
  const auto rendering = rendered(GetParam());
  Lab lab("monitoring");
  rendering->write_to(lab.folder());
  EXPECT_TRUE(check_config(lab, *rendering, "prometheus.yml"));
  EXPECT_EQ(check_config(lab, *rendering, "prometheus-oob.yml"), !rendering->plan->jump_hosts().empty());
  ASSERT_FALSE(files_under(*rendering, "prometheus/rules/").empty());
  for (const std::string& path : files_under(*rendering, "prometheus/rules/")) {
    const Outcome rules = lab.run({"promtool", "check", "rules", path}, 20, true);
    EXPECT_EQ(rules.code, 0) << path << "\n" << rules.out;
  }
}

void run_tests(const Rendering& rendering, bool network) {
  Lab lab("alerts");
  rendering.write_to(lab.folder());
  int run = 0;
  for (const std::string& path : files_under(rendering, "prometheus/tests/")) {
    if (path.ends_with("network_test.yml") != network) continue;
    ++run;
    const Outcome tests = lab.run({"promtool", "test", "rules", path}, 120, true);
    EXPECT_EQ(tests.code, 0) << path << "\n" << tests.out.substr(0, 4000);
  }
  EXPECT_GT(run, 0);
}

TEST_P(Monitoring, FabricAlertsFireOnlyWhenTheyShould) {
  WEFT_NEEDS_PROGRAM("promtool");
  run_tests(*rendered(GetParam()), true);
}

TEST_P(Monitoring, OtherAlertsFireOnlyWhenTheyShould) {
  WEFT_NEEDS_PROGRAM("promtool");
  run_tests(*rendered(GetParam()), false);
}

TEST_P(Monitoring, EveryAlertHasBothCasesAndARunbook) {
  const auto rendering = rendered(GetParam());
  std::set<std::string> alerts;
  for (const std::string& path : files_under(*rendering, "prometheus/rules/")) {
    const std::string text = rendering->sink.content(path);
    const std::regex name("- alert: (\\w+)");
    for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found) {
      EXPECT_TRUE(alerts.insert((*found)[1]).second) << (*found)[1];
    }
  }
  EXPECT_GT(alerts.size(), 40U);
  std::string every_test;
  for (const std::string& path : files_under(*rendering, "prometheus/tests/")) {
    every_test += rendering->sink.content(path);
  }
  for (const std::string& alert : alerts) {
    EXPECT_NE(every_test.find("- name: " + alert + " fires\n"), std::string::npos) << alert;
    EXPECT_NE(every_test.find("- name: " + alert + " is silent\n"), std::string::npos) << alert;
    // Its runbook exists, and it has a fabric and a severity.
    std::string anchor;
    for (const char c : alert) anchor += static_cast<char>(std::tolower(c));
    EXPECT_NE(every_test.find("runbooks.md#" + anchor), std::string::npos) << alert;
    EXPECT_NE(rendering->sink.content("prometheus/runbooks.md").find("\n## " + alert + "\n"), std::string::npos)
        << alert;
  }
  // Every alert of a firing case has a fabric label: one of the four or the host itself.
  EXPECT_EQ(count_of(every_test, "exp_labels:"), count_of(every_test, "severity: "));
  EXPECT_EQ(count_of(every_test, "exp_labels:"), count_of(every_test, " fabric: "));
}

TEST_P(Monitoring, BrokenRuleFailsItsTest) {
  WEFT_NEEDS_PROGRAM("promtool");
  auto rendering = rendered(GetParam());
  Lab lab("broken");
  std::string& rules = rendering->sink.files.at("prometheus/rules/oob.yml").content;
  const std::size_t at = rules.find("up{job=\\\"bmc\\\"} == 0");
  ASSERT_NE(at, std::string::npos) << rules;
  rules.replace(at, 21, "up{job=\\\"bmc\\\"} == 2");
  rendering->write_to(lab.folder());
  EXPECT_NE(lab.run({"promtool", "test", "rules", "prometheus/tests/oob_test.yml"}, 60, true).code, 0);
}

TEST_P(Monitoring, QueriesOfPanelsParse) {
  WEFT_NEEDS_PROGRAM("promtool");
  const auto rendering = rendered(GetParam());
  Lab lab("panels");
  nlohmann::json rules = nlohmann::json::array();
  for (const std::string& path : files_under(*rendering, "grafana/dashboards/")) {
    const auto board = nlohmann::json::parse(rendering->sink.content(path));
    for (const auto& panel : board["panels"]) {
      if (!panel.contains("targets")) continue;
      for (const auto& target : panel["targets"]) {
        std::string expr = target["expr"];
        expr = std::regex_replace(expr, std::regex("\\$__rate_interval"), "5m");
        expr = std::regex_replace(expr, std::regex("\\$(pool|instance|fabric)"), ".*");
        EXPECT_EQ(expr.find('$'), std::string::npos) << expr;
        rules.push_back({{"record", fmt::format("panel:number:{}", rules.size())}, {"expr", expr}});
      }
    }
  }
  EXPECT_GT(rules.size(), 50U);
  lab.put("panels.yml", nlohmann::json{{"groups", {{{"name", "panels"}, {"rules", rules}}}}}.dump());
  const Outcome checked = lab.run({"promtool", "check", "rules", "panels.yml"}, 20, true);
  EXPECT_EQ(checked.code, 0) << checked.out;
}

TEST_P(Monitoring, PanelsDoNotOverlap) {
  const auto rendering = rendered(GetParam());
  std::set<std::string> uids;
  for (const std::string& path : files_under(*rendering, "grafana/dashboards/")) {
    const auto board = nlohmann::json::parse(rendering->sink.content(path));
    EXPECT_TRUE(uids.insert(board["uid"]).second) << path;
    std::set<int> ids;
    std::set<std::pair<int, int>> taken;
    for (const auto& panel : board["panels"]) {
      EXPECT_TRUE(ids.insert(panel["id"].get<int>()).second) << path;
      const auto& place = panel["gridPos"];
      EXPECT_LE(place["x"].get<int>() + place["w"].get<int>(), 24) << path;
      for (int x = place["x"]; x < place["x"].get<int>() + place["w"].get<int>(); ++x) {
        for (int y = place["y"]; y < place["y"].get<int>() + place["h"].get<int>(); ++y) {
          EXPECT_TRUE(taken.insert({x, y}).second) << path << ": " << panel["title"];
        }
      }
      if (panel["type"] == "row") continue;
      EXPECT_FALSE(panel["fieldConfig"]["defaults"]["unit"].get<std::string>().empty()) << panel["title"];
      EXPECT_FALSE(panel["targets"].empty()) << panel["title"];
    }
    EXPECT_GT(ids.size(), 3U) << path;
  }
  EXPECT_GE(uids.size(), 3U);
}

TEST_P(Monitoring, AlertmanagerSendsToTheRightPeople) {
  WEFT_NEEDS_PROGRAM("amtool");
  const auto rendering = rendered(GetParam());
  Lab lab("routes");
  rendering->write_to(lab.folder());
  const std::string config = "alertmanager/alertmanager.yml";
  const Outcome checked = lab.run({"amtool", "check-config", config}, 20, true);
  EXPECT_EQ(checked.code, 0) << checked.out;
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"severity=critical", "fabric=backend", "alertname=PfcPauseStorm"}, "pager-network"},
      {{"severity=warning", "fabric=backend", "alertname=EcnMarksHigh"}, "chat-network"},
      {{"severity=critical", "fabric=storage", "alertname=StorageUnreachable"}, "pager-storage"},
      {{"severity=warning", "fabric=oob", "alertname=BmcUnreachable"}, "chat-oob"},
      {{"severity=critical", "fabric=oob", "alertname=OobSwitchDown"}, "pager-oob"},
      {{"severity=critical", "fabric=host", "alertname=GpuXid"}, "pager-platform"},
      {{"severity=info", "fabric=host", "alertname=NvlinkUnderused"}, "dashboard"},
      {{"severity=warning", "alertname=SomebodyElses"}, "chat-platform"},
  };
  for (const auto& [labels, receiver] : kCases) {
    std::vector<std::string> words = {
        "amtool", "config", "routes", "test", "--config.file=" + config, "--verify.receivers=" + std::string(receiver)};
    words.insert(words.end(), labels.begin(), labels.end());
    const Outcome tested = lab.run(words, 20, true);
    EXPECT_EQ(tested.code, 0) << receiver << "\n" << tested.out;
  }
  // Sources and targets of inhibition rules exist.
  std::string rules;
  for (const std::string& path : files_under(*rendering, "prometheus/rules/")) rules += rendering->sink.content(path);
  const std::string text = rendering->sink.content(config);
  const std::regex source("source_matchers: \\[\"?alertname=\\\\?\"(\\w+)");
  int inhibitions = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), source), end; found != end; ++found) {
    const std::string name = (*found)[1];
    ++inhibitions;
    if (GetParam() != std::string("pod16.yaml")) continue;  // the only cluster with every kind of device
    EXPECT_NE(rules.find("- alert: " + name + "\n"), std::string::npos) << name;
  }
  EXPECT_GT(inhibitions, 0) << text;
  EXPECT_EQ(text.find("api_url: "), std::string::npos) << "an address of a receiver is a secret";
}

INSTANTIATE_TEST_SUITE_P(Examples, Monitoring, ::testing::ValuesIn(kExamples), [](const auto& each) {
  std::string name = each.param;
  name.resize(name.find('.'));
  name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
  return name;
});

// Every server, switch, BMC and PDU is a scrape target exactly once, under its own name.
TEST(MonitoringTargets, CoverTheCluster) {
  const auto rendering = rendered("pod16.yaml");
  const model::Cluster& cluster = rendering->cluster();
  std::map<std::string, std::map<std::string, nlohmann::json>> jobs;  // job, instance
  for (const std::string& path : files_under(*rendering, "prometheus/targets/")) {
    const auto list = nlohmann::json::parse(rendering->sink.content(path));
    const std::string job = path.substr(19, path.size() - 24);
    for (const auto& entry : list) {
      EXPECT_EQ(entry["targets"].size(), 1U);
      if (job != "monitoring") {
        EXPECT_TRUE(jobs[job].emplace(entry["labels"]["instance"], entry).second) << path << entry;
      }
    }
  }
  for (std::uint32_t i = 0; i < cluster.devices().size(); ++i) {
    const auto id = static_cast<model::DeviceId>(i);
    const std::string& name = cluster.name_of(id);
    if (cluster.oob_address(id) == Ipv4{}) continue;
    EXPECT_EQ(jobs["ping_oob"].count(name), 1U) << name;
    switch (cluster.group_of(id).kind) {
      case model::DeviceKind::server:
        EXPECT_EQ(jobs["bmc"].count(name), 1U) << name;
        break;
      case model::DeviceKind::network_switch:
        EXPECT_EQ(jobs["snmp"].count(name), 1U) << name;
        break;
      case model::DeviceKind::pdu:
        EXPECT_EQ(jobs["pdu"].count(name), 1U) << name;
        break;
      case model::DeviceKind::external:
        break;
    }
  }
  EXPECT_EQ(jobs["dcgm"].size(), 21U);  // 16 training and 5 inference servers
  EXPECT_EQ(jobs["storage"].size(), 12U);
  // A backend leaf of pod16 has 16 links to the spines, a spine 32 to the leaves (128 leaf-spine links).
  EXPECT_EQ(jobs["snmp"]["be-train-u001-leaf1"]["labels"]["sessions"], "16");
  EXPECT_EQ(jobs["snmp"]["be-spine001"]["labels"]["sessions"], "32");
}

// Published figures: the H100's data sheet, the guide's limits, the catalog's PDU.
TEST(MonitoringLimits, FollowTheHardware) {
  const auto rendering = rendered("pod16.yaml");
  const std::string recording = rendering->sink.content("prometheus/rules/recording.yml");
  EXPECT_NE(recording.find("vector(700)"), std::string::npos);
  EXPECT_NE(recording.find("vector(900000)"), std::string::npos);
  EXPECT_NE(recording.find("vector(34500)"), std::string::npos);
  // 10 % of 400 Gb/s in pauses of 65535 x 512 bit times.
  EXPECT_NE(rendering->sink.content("prometheus/rules/network.yml").find("> 1192"), std::string::npos);
  const std::string counters = rendering->sink.content("prometheus/exporters/dcgm-counters.csv");
  const std::string gpu = rendering->sink.content("prometheus/rules/gpu.yml");
  const std::regex field("DCGM_FI_\\w+");
  for (std::sregex_iterator found(gpu.begin(), gpu.end(), field), end; found != end; ++found) {
    EXPECT_NE(counters.find(found->str() + ","), std::string::npos) << found->str();
  }
}

TEST(MonitoringBadNames, StayInTheirPlace) {
  WEFT_NEEDS_PROGRAM("promtool");
  const auto rendering = load_rendering(
      "weft: 1\nname: odd\npools:\n  - {name: t.1, server: hgx-h100, count: 2, hosts: 'a\"b{{x}}$(id)[1-2]'}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "services: [{name: chat, pool: t.1, gpus: 1}]\n");
  ASSERT_NE(rendering, nullptr);
  for (const char* target : {"prometheus", "alertmanager", "grafana"}) rendering->render(target);
  Lab lab("odd");
  rendering->write_to(lab.folder());
  EXPECT_TRUE(check_config(lab, *rendering, "prometheus.yml"));
  for (const char* path : {"prometheus/tests/gpu_test.yml", "prometheus/tests/oob_test.yml"}) {
    const Outcome tests = lab.run({"promtool", "test", "rules", path}, 60, true);
    EXPECT_EQ(tests.code, 0) << path << "\n" << tests.out.substr(0, 3000);
  }
  for (const std::string& path : files_under(*rendering, "prometheus/targets/")) {
    EXPECT_TRUE(nlohmann::json::accept(rendering->sink.content(path))) << path;
  }
}

}  // namespace
}  // namespace weft
