#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "base/test_places.h"
#include "check/core/host_rule_tools.h"
#include "model/load.h"

namespace weft::check {
namespace {

// Files of the hosts and jobs of pod16; these rules ignore switch files.
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
      texts[std::string("running/") + name] = slurp(source_dir() + "/examples/running/" + name);
    }
    return texts;
  }();
  return kTexts;
}

const model::Cluster* pod16() {
  static const std::unique_ptr<model::Loaded> kLoaded = model::load_cluster(source_dir() + "/examples/pod16.yaml", {});
  EXPECT_TRUE(kLoaded->cluster != nullptr) << render_all(kLoaded->diagnostics, kLoaded->sources, false);
  return kLoaded->cluster.get();
}

struct Outcome {
  std::vector<Finding> findings;
  std::string text;  // "HO001 subject: message" lines
  std::string unread;
};

Outcome run(const std::map<std::string, std::string>& files, const model::Cluster* cluster) {
  static const std::vector<Rule> kRules = host_rules();
  Outcome outcome;
  Sources sources;
  config::ConfigSet set;
  Diagnostics diagnostics;
  for (const auto& [path, text] : files) config::read_config_text(path, text, sources, set, diagnostics);
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

TEST(HostRules, ExamplesTriggerOnlyTheirOwnRule) {
  ASSERT_FALSE(host_rules().empty());
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
    EXPECT_TRUE(rule.needs == RuleNeeds::config || rule.needs == RuleNeeds::both);
    for (const std::string_view text : {rule.title, rule.reason, rule.source, rule.fix}) EXPECT_FALSE(text.empty());
    EXPECT_NE(rule.title.back(), '.');
    EXPECT_NE(rule.fix.back(), '.');
    EXPECT_EQ(rule.reason.back(), '.');
  }
  EXPECT_GE(ids.size(), 30U);
}

TEST(HostRules, FindNothingInAnEmptySet) { EXPECT_EQ(run({}, pod16()).text + run({}, nullptr).text, ""); }

// An attachment from a published guide: a default route on each rail, addresses allocated per node.
TEST(HostRules, FindTheKnownFaultsOfAPublishedGuide) {
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

TEST(HostRules, MergeEqualPodsIntoOneFinding) {
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

// slurm.conf(5): DEFAULT is not a node but sets defaults for the lines after it; a node may have GPUs of several types.
TEST(HostRules, CountGpusOfNodeLinesAsSlurmDoes) {
  const auto found = [](const std::string& nodes) {
    std::string text;
    for (const Finding& finding : run({{"slurm.conf", "ClusterName=a\n" + nodes}}, pod16()).findings) {
      if (finding.rule->id == "HO093" || finding.rule->id == "HO094") text += finding.message + "\n";
    }
    return text;
  };
  EXPECT_EQ(found("NodeName=DEFAULT Gres=gpu:h100:8 State=UNKNOWN\nNodeName=train[001-016]\n"), "");
  EXPECT_EQ(found("NodeName=default Gres=gpu:7\nNodeName=train001\n"),
            "Slurm configures 7 GPUs on train001, which has 8\n");
  EXPECT_EQ(found("NodeName=DEFAULT Gres=gpu:7\nNodeName=train001 Gres=gpu:8\n"), "");
  EXPECT_EQ(found("NodeName=train001\tGres=gpu:h100:4,gpu:a100:4,gpu_mem:80\n"), "");
  EXPECT_EQ(found("NodeName=train001\tGres=gpu:6\n"), "Slurm configures 6 GPUs on train001, which has 8\n");
}

// The shared RDMA plugin of a NicClusterPolicy and a plugin's ConfigMap provide devices as well; HAMi provides GPU
// shares.
TEST(HostRules, SupportDevicePluginsBesidesTheSriovOperator) {
  const std::string policy =
      "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: p}\n"
      "spec: {resourceName: roce, numVfs: 8, isRdma: true, nicSelector: {pfNames: [ens1]}}\n";
  const auto pod = [](const std::string& resource) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: 'r/x:1', "
           "resources: {limits: {" +
           resource + ": 1}}}]}\n";
  };
  const std::string shared =
      "---\napiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\nmetadata: {name: n}\nspec:\n"
      "  rdmaSharedDevicePlugin:\n    config: |\n      {\"configList\": [{\"resourceName\": \"shared_a\"}]}\n";
  const std::string map =
      "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n"
      "  config.json: '{\"resourceList\": [{\"resourceName\":\"hostdev\"}]}'\n";
  const auto found = [&](const std::string& text) {
    return run({{"a.yaml", policy + text}}, nullptr).text.find("HO007") != std::string::npos;
  };
  EXPECT_TRUE(found(pod("rdma/shared_a")));
  EXPECT_FALSE(found(shared + pod("rdma/shared_a")));
  EXPECT_TRUE(found(shared + pod("rdma/shared_b")));
  EXPECT_FALSE(found(map + pod("nvidia.com/hostdev")));
  EXPECT_FALSE(found(pod("nvidia.com/gpumem")));
  EXPECT_FALSE(found(pod("openshift.io/roce")));
}

// On EFA, collectives use libfabric: NCCL's own transport is disabled on purpose.
TEST(HostRules, AcceptAPluginInPlaceOfNcclsTransport) {
  const auto off = [](const std::string& more) {
    const std::string script = "#!/bin/bash\n#SBATCH --nodes=2\nexport NCCL_IB_DISABLE=1\n" + more + "srun train\n";
    return run({{"a.sbatch", script}}, nullptr).text.find("HO024") != std::string::npos;
  };
  EXPECT_TRUE(off(""));
  EXPECT_FALSE(off("export FI_PROVIDER=efa\n"));
  EXPECT_FALSE(off("export NCCL_NET_PLUGIN=ofi\n"));
  EXPECT_TRUE(off("export FI_PROVIDER=efa\nexport NCCL_NET=Socket\n"));
}

TEST(HostRules, IgnorePlaceholderNames) {
  const auto pod = [](const std::string& image, const std::string& claim) {
    return run({{"a.yaml",
                 "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n---\n"
                 "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    image: " +
                     image + "\n    volumeMounts: [{name: v, mountPath: /v}]\n  volumes:\n  - name: v\n" +
                     "    persistentVolumeClaim: {claimName: " + claim + "}\n"}},
               nullptr)
        .text;
  };
  EXPECT_EQ(pod("${IMAGE_URI}", "__CLAIM__"), "");
  EXPECT_EQ(pod("<registry>/trainer", "data"), "");
  EXPECT_NE(pod("r/trainer", "data").find("HO066"), std::string::npos);
  EXPECT_NE(pod("r/trainer:1", "claim").find("HO070"), std::string::npos);
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
}  // namespace weft::check
