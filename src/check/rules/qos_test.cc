#include "check/rules/qos.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::check {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = source_dir() + "/examples";

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

// A set of example files with at most one edit: the cluster file, and the directory of its devices' running configs.
struct Case {
  std::unique_ptr<model::Loaded> loaded;
  config::ConfigSet config;
  Diagnostics diagnostics;
  bool edited = false;

  Case(const std::string& cluster, const std::string& directory, const RuleExample* edit) {
    loaded = model::load_cluster_text(cluster, changed(kExamples / cluster, cluster, edit));
    if (directory.empty() || !fs::exists(kExamples / directory)) return;
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(kExamples / directory)) files.insert(entry.path());
    for (const fs::path& path : files) {
      const std::string shown = directory + "/" + path.filename().string();
      config::read_config_text(shown, changed(path, shown, edit), loaded->sources, config, diagnostics);
    }
  }

  std::string changed(const fs::path& path, const std::string& shown, const RuleExample* edit) {
    std::string text = text_of_file(path);
    if (edit == nullptr || edit->file != shown) return text;
    edited = true;
    if (edit->from.empty()) return text + std::string(edit->to);
    const std::size_t at = text.find(edit->from);
    EXPECT_NE(at, std::string::npos) << shown << ": not there: " << edit->from;
    if (at == std::string::npos) return text;
    EXPECT_EQ(text.find(edit->from, at + 1), std::string::npos) << shown << ": twice: " << edit->from;
    return text.replace(at, edit->from.size(), edit->to);
  }

  std::vector<Finding> findings(const std::vector<Rule>& rules) {
    EXPECT_TRUE(loaded->cluster) << render_all(loaded->diagnostics, loaded->sources, false);
    if (!loaded->cluster) return {};
    const CheckInput input(loaded->cluster.get(), config, loaded->sources, false);
    Report report;
    for (const Rule& rule : rules) {
      if (rule.needs != RuleNeeds::design && config.empty()) continue;
      report.begin(rule);
      rule.run(input, report);
    }
    return report.findings();
  }
};

std::string told(const std::vector<Finding>& findings, const Sources& sources) {
  std::string out;
  for (const Finding& finding : findings) {
    out += std::string(finding.rule->id) + " " + sources.describe(finding.place) + " [" + finding.subject + "] " +
           finding.message + "\n";
    for (const auto& related : finding.related) {
      out += "    " + sources.describe(related.place) + " " + related.text + "\n";
    }
  }
  return out;
}

Case case_of(const RuleExample* edit, std::string_view file) {
  if (file.starts_with("running-nexus/")) return {"nexus8.yaml", "running-nexus", edit};
  if (file.starts_with("running/")) return {"pod16.yaml", "running", edit};
  return {std::string(file), "", edit};
}

TEST(QosRules, GoodFilesHaveNoFinding) {
  const std::vector<Rule> rules = qos_rules();
  for (const char* file :
       {"pod16.yaml", "pod32.yaml", "nexus8.yaml", "superpod-h100-4su.yaml", "running/", "running-nexus/"}) {
    if (!fs::exists(kExamples / file)) {
      ADD_FAILURE() << "no " << file;
      continue;
    }
    Case one = case_of(nullptr, file);
    const auto findings = one.findings(rules);
    EXPECT_TRUE(findings.empty()) << file << "\n" << told(findings, one.loaded->sources);
  }
}

TEST(QosRules, EachExampleTriggersExactlyItsRule) {
  const std::vector<Rule> rules = qos_rules();
  EXPECT_GE(rules.size(), 30U);
  for (const Rule& rule : rules) {
    SCOPED_TRACE(std::string(rule.id));
    if (!fs::exists(kExamples / rule.example.file)) {
      ADD_FAILURE() << "no " << rule.example.file;
      continue;
    }
    Case one = case_of(&rule.example, rule.example.file);
    EXPECT_TRUE(one.edited);
    const auto findings = one.findings(rules);
    EXPECT_FALSE(findings.empty()) << render_all(one.diagnostics, one.loaded->sources, false);
    for (const Finding& finding : findings) {
      EXPECT_EQ(finding.rule->id, rule.id) << told(findings, one.loaded->sources);
      EXPECT_TRUE(finding.place.known()) << told(findings, one.loaded->sources);
    }
    if (!findings.empty()) std::printf("%s", told({findings[0]}, one.loaded->sources).c_str());
  }
}

TEST(QosRules, RuleTextsFollowTheStyle) {
  std::set<std::string_view> ids;
  for (const Rule& rule : qos_rules()) {
    SCOPED_TRACE(std::string(rule.id));
    EXPECT_TRUE(rule.id.starts_with("QO") && rule.id.size() == 5);
    EXPECT_TRUE(ids.insert(rule.id).second);
    for (const std::string_view text : {rule.title, rule.fix}) EXPECT_FALSE(text.empty() || text.ends_with("."));
    EXPECT_FALSE(rule.reason.empty() || !rule.reason.ends_with("."));
    EXPECT_FALSE(rule.source.empty());
  }
}

// Combinations of vendor defaults without a cluster file: the rules name both files.
struct Loose {
  Sources sources;
  Diagnostics diagnostics;
  config::ConfigSet config;

  void add(const std::string& path, const std::string& text) {
    config::read_config_text(path, text, sources, config, diagnostics);
  }
  std::set<std::string> rules_found(std::string* all = nullptr) {
    const CheckInput input(nullptr, config, sources, false);
    Report report;
    static const std::vector<Rule> kRules = qos_rules();
    for (const Rule& rule : kRules) {
      if (rule.needs != RuleNeeds::config) continue;
      report.begin(rule);
      rule.run(input, report);
    }
    if (all != nullptr) *all = told(report.findings(), sources);
    std::set<std::string> ids;
    for (const Finding& finding : report.findings()) ids.emplace(finding.rule->id);
    return ids;
  }
};

constexpr const char* kOperatorDefault = R"(apiVersion: configuration.net.nvidia.com/v1alpha1
kind: NicConfigurationTemplate
metadata: {name: rdma, namespace: network-operator}
spec:
  nicSelector: {nicType: "1021"}
  template: {numVfs: 0, linkType: Ethernet, roceOptimized: {enabled: true}}
)";
constexpr const char* kCumulusRoce =
    "nv set system hostname leaf\nnv set interface swp1-2 type swp\nnv set qos roce\n"
    "nv set interface swp1-2 qos pfc-watchdog state enabled\n";

TEST(QosRules, OperatorDefaultWithCumulusRoceIsReportedWithBothFiles) {
  Loose loose;
  loose.add("nic.yaml", kOperatorDefault);
  loose.add("leaf.nvue", kCumulusRoce);
  std::string all;
  const std::set<std::string> found = loose.rules_found(&all);
  EXPECT_TRUE(found.count("QO031")) << all;
  EXPECT_TRUE(found.count("QO048")) << all;
  EXPECT_NE(all.find("nic.yaml"), std::string::npos) << all;
  EXPECT_NE(all.find("leaf"), std::string::npos) << all;
}

TEST(QosRules, NcclDefaultIsReportedWithoutACluster) {
  Loose loose;
  loose.add("nic.yaml", kOperatorDefault);
  loose.add("leaf.nvue", kCumulusRoce);
  loose.add("job.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: trainer}\nspec:\n  containers:\n    - name: main\n"
            "      image: r.example.com/t:1\n      env:\n        - {name: NCCL_IB_HCA, value: mlx5_0}\n");
  std::string all;
  EXPECT_TRUE(loose.rules_found(&all).count("QO033")) << all;
  EXPECT_NE(all.find("job.yaml"), std::string::npos) << all;
}

TEST(QosRules, RecommendedNicWithCumulusRoceHasNoFinding) {
  Loose loose;
  std::string nic = kOperatorDefault;
  const std::string from = "roceOptimized: {enabled: true}}";
  nic.replace(nic.find(from), from.size(),
              "roceOptimized: {enabled: true, qos: {trust: dscp, pfc: \"0,0,0,1,0,0,0,0\", tos: 106}},\n"
              "    rawNvConfig: [{name: CNP_DSCP_P1, value: \"48\"}]}");
  loose.add("nic.yaml", nic);
  loose.add("leaf.nvue", kCumulusRoce);
  std::string all;
  const std::set<std::string> found = loose.rules_found(&all);
  EXPECT_TRUE(found.empty()) << all;
}

// A published InfiniBand design uses credit-based flow control: no rule may report PFC or DSCP.
TEST(QosRules, InfiniBandHasNoFinding) {
  Case one = case_of(nullptr, "superpod-h100-4su.yaml");
  ASSERT_TRUE(one.loaded->cluster);
  for (const Finding& finding : one.findings(qos_rules())) {
    EXPECT_NE(finding.subject, "backend") << finding.message;
  }
}

// The policy that Microsoft publishes for Nexus: one marking threshold (a step, as in DCTCP), and no watchdog.
TEST(QosRules, SwitchFileIsCheckedWithoutACluster) {
  const std::string nexus = R"(hostname tor1
class-map type qos match-all RDMA
  match dscp 26
policy-map type qos IN
  class RDMA
    set qos-group 3
policy-map type network-qos NET
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
policy-map type queuing OUT
  class type queuing c-out-8q-q3
    bandwidth remaining percent 50
    random-detect minimum-threshold 300 kbytes maximum-threshold 300 kbytes drop-probability 100 weight 0 ecn
system qos
  service-policy type queuing output OUT
  service-policy type network-qos NET
interface Ethernet1/1
  priority-flow-control mode on
  service-policy type qos input IN
)";
  Loose loose;
  loose.add("tor1.cfg", nexus);
  std::string all;
  EXPECT_EQ(loose.rules_found(&all), std::set<std::string>{"QO045"}) << all;

  std::string silent = nexus;
  silent.replace(silent.find(" weight 0 ecn"), 13, " weight 0");
  Loose unmarked;
  unmarked.add("tor1.cfg", silent);
  EXPECT_EQ(unmarked.rules_found(&all), (std::set<std::string>{"QO044", "QO045"})) << all;
}

// A rendered qos.json alone: buffers and watchdog are in other files.
TEST(QosRules, PartialSonicConfigurationHasNoFindingsForMissingParts) {
  Loose loose;
  loose.add("qos.json", R"({"DSCP_TO_TC_MAP": {"AZURE": {"3": "3"}}, "TC_TO_QUEUE_MAP": {"AZURE": {"3": "3"}},
"WRED_PROFILE": {"W": {"ecn": "ecn_all", "green_min_threshold": "100000", "green_max_threshold": "400000",
  "green_drop_probability": "100", "wred_green_enable": "true"}},
"QUEUE": {"Ethernet0|3": {"wred_profile": "W"}},
"PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3"}}})");
  std::string all;
  EXPECT_TRUE(loose.rules_found(&all).empty()) << all;
}

// SONiC's lookup tables for Broadcom chips: the size is a few cells and does not include the headroom.
TEST(QosRules, SizeIncludesHeadroomOnSpectrumOnly) {
  const auto found = [](const std::string& hwsku) {
    Loose loose;
    loose.add("leaf.json", R"({"DEVICE_METADATA": {"localhost": {"hostname": "leaf", "hwsku": ")" + hwsku + R"("}},
"PORT": {"Ethernet0": {"speed": "100000", "admin_status": "up"}},
"BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10000000"}},
"BUFFER_PROFILE": {"p": {"pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "300000",
  "dynamic_th": "-3"}},
"BUFFER_PG": {"Ethernet0|3": {"profile": "p"}},
"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}})");
    return loose.rules_found().count("QO062") > 0;
  };
  EXPECT_FALSE(found("Arista-7260CX3-C64"));
  EXPECT_TRUE(found("ACS-MSN3700C"));
}

}  // namespace
}  // namespace weft::check
