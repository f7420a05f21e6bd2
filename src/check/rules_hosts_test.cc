#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "check/host_rule_tools.h"
#include "model/load.h"

namespace weft {
namespace {

// What the hosts and jobs of pod16 run; the switches' files beside them are nothing to these rules.
constexpr const char* kFiles[] = {"attachments.yaml", "sriov.yaml",    "nic-template.yaml", "train-job.yaml",
                                  "inference.yaml",   "frontend.yaml", "policies.yaml",     "storage.yaml",
                                  "train.sbatch",     "slurm.conf",    "gres.conf",         "cgroup.conf",
                                  "exports",          "fstab",         "nvme-connect.sh",   "sysctl.conf"};

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

const std::map<std::string, std::string>& good_files() {
  static const std::map<std::string, std::string> kTexts = [] {
    std::map<std::string, std::string> texts;
    for (const char* name : kFiles) {
      texts[std::string("running/") + name] = slurp(std::string(WEFT_SOURCE_DIR) + "/examples/running/" + name);
    }
    return texts;
  }();
  return kTexts;
}

const Cluster* pod16() {
  static const std::unique_ptr<Loaded> kLoaded =
      load_cluster(std::string(WEFT_SOURCE_DIR) + "/examples/pod16.yaml", {});
  EXPECT_TRUE(kLoaded->cluster != nullptr) << render_all(kLoaded->diagnostics, kLoaded->sources, false);
  return kLoaded->cluster.get();
}

struct Outcome {
  std::vector<Finding> findings;
  std::string text;  // "HO001 subject: message" lines
  std::string unread;
};

Outcome run(const std::map<std::string, std::string>& files, const Cluster* cluster) {
  static const std::vector<Rule> kRules = host_rules();
  Outcome outcome;
  Sources sources;
  ConfigSet set;
  Diagnostics diagnostics;
  for (const auto& [path, text] : files) read_config_text(path, text, sources, set, diagnostics);
  if (!diagnostics.sorted().empty()) outcome.unread = render_all(diagnostics, sources, false);
  const CheckInput input(cluster, set, sources, false);
  Report report;
  for (const Rule& rule : kRules) {
    report.begin(rule);
    rule.run(input, report);
  }
  outcome.findings = report.findings();
  for (const Finding& finding : outcome.findings) {
    outcome.text += std::string(finding.rule->id) + " " + finding.subject + ": " + finding.message + " (" +
                    sources.describe(finding.place) + ")\n";
    EXPECT_TRUE(finding.place.known()) << finding.message;
    EXPECT_FALSE(finding.subject.empty()) << finding.message;
  }
  return outcome;
}

TEST(HostRules, FindNothingInTheGoodExamples) {
  const Outcome outcome = run(good_files(), pod16());
  EXPECT_EQ(outcome.unread, "");
  EXPECT_EQ(outcome.text, "");
}

TEST(HostRules, FindNothingInTheGoodExamplesWithoutACluster) { EXPECT_EQ(run(good_files(), nullptr).text, ""); }

TEST(HostRules, HaveExamplesThatTriggerThemAlone) {
  for (const Rule& rule : host_rules()) {
    SCOPED_TRACE(std::string(rule.id));
    auto files = good_files();
    const auto file = files.find(std::string(rule.example.file));
    ASSERT_NE(file, files.end()) << rule.example.file;
    std::string& text = file->second;
    if (rule.example.from.empty()) {
      text += rule.example.to;
    } else {
      const std::size_t at = text.find(rule.example.from);
      ASSERT_NE(at, std::string::npos) << rule.example.from;
      ASSERT_EQ(text.find(rule.example.from, at + 1), std::string::npos) << "twice: " << rule.example.from;
      text.replace(at, rule.example.from.size(), rule.example.to);
    }
    const Outcome outcome = run(files, pod16());
    EXPECT_EQ(outcome.unread, "");
    ASSERT_FALSE(outcome.findings.empty());
    for (const Finding& finding : outcome.findings) EXPECT_EQ(finding.rule->id, rule.id) << outcome.text;
    EXPECT_EQ(outcome.findings.size(), 1U) << outcome.text;
  }
}

TEST(HostRules, AreWellFormed) {
  std::set<std::string_view> ids;
  for (const Rule& rule : host_rules()) {
    SCOPED_TRACE(std::string(rule.id));
    EXPECT_TRUE(ids.insert(rule.id).second);
    EXPECT_EQ(rule.id.substr(0, 2), "HO");
    EXPECT_EQ(rule.id.size(), 5U);
    EXPECT_EQ(rule.needs, RuleNeeds::config);
    for (const std::string_view text : {rule.title, rule.reason, rule.source, rule.fix}) EXPECT_FALSE(text.empty());
    EXPECT_NE(rule.title.back(), '.');
    EXPECT_NE(rule.fix.back(), '.');
    EXPECT_EQ(rule.reason.back(), '.');
  }
  EXPECT_GE(ids.size(), 30U);
}

TEST(HostRules, FindNothingInNothing) { EXPECT_EQ(run({}, pod16()).text + run({}, nullptr).text, ""); }

// The attachment of a published guide: a default route on each rail, addresses handed out by each node.
TEST(HostRules, FindTheKnownFaultsOfAPublishedPattern) {
  const auto network = [](const std::string& name, int rail) {
    return "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: " + name +
           "}\nspec:\n  config: |\n    {\"type\": \"sriov\", \"mtu\": 9000, \"ipam\": {\"type\": \"host-local\",\n"
           "     \"ranges\": [[{\"subnet\": \"10.6" +
           std::to_string(rail) +
           ".0.0/16\"}]],\n"
           "     \"routes\": [{\"dst\": \"0.0.0.0/0\"}]}}\n";
  };
  const Outcome outcome = run({{"a.yaml", network("a", 0) + "---\n" + network("b", 1)}}, nullptr);
  std::map<std::string_view, int> count;
  for (const Finding& finding : outcome.findings) ++count[finding.rule->id];
  EXPECT_EQ(count["HO001"], 2);
  EXPECT_EQ(count["HO004"], 2);
  EXPECT_EQ(count["HO011"], 2);
  EXPECT_EQ(count.size(), 3U) << outcome.text;
}

TEST(HostRules, FoldManyEqualPodsIntoOneFinding) {
  std::string pods;
  for (int i = 1; i <= 300; ++i) {
    pods +=
        "apiVersion: v1\nkind: Pod\nmetadata: {name: worker-" + std::to_string(i) +
        "}\nspec: {containers: [{name: c, image: 'r.example.com/x', resources: {limits: {nvidia.com/gpu: 1, cpu: 1, "
        "memory: 1Gi}}}]}\n---\n";
  }
  const Outcome outcome = run({{"pods.yaml", pods}}, nullptr);
  ASSERT_EQ(outcome.findings.size(), 1U) << outcome.text.substr(0, 500);
  EXPECT_EQ(outcome.findings[0].rule->id, "HO066");
  EXPECT_EQ(outcome.findings[0].subject, "worker-[1-300]");
}

TEST(HostRules, ReadTaintsAsKubernetesDoes) {
  auto files = good_files();
  std::string& job = files["running/train-job.yaml"];
  const std::string exact = "{key: nvidia.com/gpu, operator: Equal, value: training, effect: NoSchedule}";
  const std::size_t at = job.find(exact);
  ASSERT_NE(at, std::string::npos);
  const std::string start = job.substr(0, at);
  const std::string rest = job.substr(at + exact.size());
  for (const char* good : {"{key: nvidia.com/gpu, operator: Exists}", "{operator: Exists}",
                           "{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}"}) {
    job = start + good + rest;
    EXPECT_EQ(run(files, pod16()).text.find("HO040"), std::string::npos) << good;
  }
  for (const char* bad :
       {"{key: nvidia.com/gpu, operator: Exists, effect: NoExecute}", "{key: other, operator: Exists}"}) {
    job = start + bad + rest;
    EXPECT_NE(run(files, pod16()).text.find("HO040"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace weft
