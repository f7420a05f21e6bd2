#include "job_namespace/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job_namespace/job_files.h"
#include "job_namespace/objects.h"
#include "kube/json_fields.h"

namespace weft::job_namespace {
namespace {

using ::testing::HasSubstr;

SlurmNodes two_nodes() {
  SlurmNodes nodes;
  for (const char* name : {"n1", "n2"}) {
    world::SlurmNode node;
    node.name = name;
    node.gpus = 8;
    node.cpus = 64;
    nodes[name] = node;
  }
  return nodes;
}

world::JobRun run_on(std::vector<std::string> nodes, std::vector<std::uint32_t> gpus, std::uint32_t cpus) {
  world::JobRun run;
  run.id = 12;
  run.started = 1'794'957'263;
  run.state = world::SlurmState::running;
  run.nodes = std::move(nodes);
  run.gpus = std::move(gpus);
  run.cpus = cpus;
  run.memory_mib = 4'000;
  return run;
}

TEST(NamespacePlan, TheCommentAsks) {
  EXPECT_TRUE(asks_for_namespace("weft:namespace"));
  EXPECT_TRUE(asks_for_namespace("llama weft:namespace v2"));
  for (const char* text : {"", "weft", "weft:namespaces", "xweft:namespace", "weft:namespace,x"})
    EXPECT_FALSE(asks_for_namespace(text)) << text;
}

TEST(NamespacePlan, WholeNodes) {
  const Result<NamespacePlan> plan = make_plan(run_on({"n1", "n2"}, {8, 8}, 128), two_nodes());
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->name, "slurm-12-1794957263");
  EXPECT_EQ(plan->gpus, 16U);
  EXPECT_TRUE(plan->whole_nodes);
  EXPECT_EQ(plan->note, "");
  const Value quota = quota_object(*plan, {});
  EXPECT_EQ(kube::raw_text(quota, {"spec", "hard", "requests.nvidia.com/gpu"}), "16");
  EXPECT_EQ(kube::member(quota, {"spec", "hard", "limits.cpu"}), nullptr);
}

// A kubelet could choose the GPU of another job.
TEST(NamespacePlan, SomeOfTheGpusOfANodeAreNone) {
  for (const std::vector<std::uint32_t>& gpus : {std::vector<std::uint32_t>{8, 4}, {1, 1}, {8}}) {
    const Result<NamespacePlan> plan = make_plan(run_on({"n1", "n2"}, gpus, 2), two_nodes());
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->gpus, gpus.size() == 1 ? 8U : 0U);
    EXPECT_FALSE(plan->whole_nodes);
    const Value quota = quota_object(*plan, {});
    EXPECT_EQ(kube::raw_text(quota, {"spec", "hard", "limits.cpu"}), "2");
    EXPECT_EQ(kube::raw_text(quota, {"spec", "hard", "limits.memory"}), "4000Mi");
  }
}

TEST(NamespacePlan, Refusals) {
  EXPECT_FALSE(make_plan(run_on({}, {}, 1), two_nodes()).ok());
  const Result<NamespacePlan> unknown = make_plan(run_on({"n3"}, {}, 1), two_nodes());
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().text(), HasSubstr("n3"));
  world::JobRun without_memory = run_on({"n1"}, {}, 1);
  without_memory.memory_mib = 0;
  EXPECT_FALSE(make_plan(without_memory, two_nodes()).ok());
}

TEST(NamespaceObjects, LabelsAndProbes) {
  EXPECT_EQ(key_of_label(node_label("12-1794957263")), "12-1794957263");
  EXPECT_EQ(key_of_label("kubernetes.io/hostname"), "");
  const Result<NamespacePlan> plan = make_plan(run_on({"n1"}, {8}, 64), two_nodes());
  ASSERT_TRUE(plan.ok());
  ObjectOptions options;
  options.instance = "0a1b2c3d";
  Value pod = probe_pod(*plan);
  EXPECT_FALSE(is_kept_on_nodes(pod, *plan, options));
  pod["spec"].set("nodeSelector", Value::map({{node_label(plan->key), Value("another")}}));
  EXPECT_FALSE(is_kept_on_nodes(pod, *plan, options));
  pod["spec"].set("nodeSelector", Value::map({{node_label(plan->key), Value("0a1b2c3d")}}));
  EXPECT_TRUE(is_kept_on_nodes(pod, *plan, options));
  EXPECT_FALSE(is_enforced(quota_object(*plan, options), options));
}

TEST(JobFiles, KubeconfigHasEverything) {
  kube::ClusterAccess access;
  access.server = "https://10.0.0.1:6443";
  access.ca.data = kube::Secret("-----BEGIN CERTIFICATE-----\n");
  const Result<std::string> config = make_kubeconfig(access, "slurm-1-2", kube::Secret("secret"));
  ASSERT_TRUE(config.ok());
  EXPECT_THAT(*config, HasSubstr("\"namespace\": \"slurm-1-2\""));
  EXPECT_THAT(*config, HasSubstr("\"token\": \"secret\""));
  EXPECT_THAT(*config, HasSubstr("certificate-authority-data"));
}

}  // namespace
}  // namespace weft::job_namespace
