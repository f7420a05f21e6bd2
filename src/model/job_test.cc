#include "model/job.h"

#include <gtest/gtest.h>

#include <string>

#include "model/load.h"

namespace weft::model {
namespace {

constexpr const char* kCluster = R"(weft: 1
name: lab
pools:
  - {name: train, role: training, server: hgx-h100, count: 16, unit: 16, spares: 1}
  - {name: infer, role: inference, server: hgx-h100, count: 2, mig: {1g.10gb: 7}, links: {backend: 0}}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
  - {name: flash, role: storage, server: storage-nvme-2u, count: 4, racks: service}
fabrics:
  backend: {leaf: sn5600, speed: 400G}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
storage:
  - name: fast
    kind: nvmeof
    pool: flash
    volumes:
      - {name: images, purpose: dataset, size: 10TB, read_only: true}
      - {name: state, purpose: checkpoint, size: 10TB}
      - {name: homes, purpose: home, size: 1TB}
workload: {max_restarts: 5}
partitions:
  - {name: train, pools: [train], time_limit: 7d, priority: ai-training-high}
  - {name: serve, pools: [infer]}
tenants:
  - {name: blue, quota: {gpus: 200}, partitions: [serve]}
  - {name: red, quota: {gpus: 64}, partitions: [train], priority: ai-batch-low}
)";

struct Read {
  std::unique_ptr<Loaded> loaded = load_cluster_text("cluster.yaml", kCluster);
  std::optional<JobSpec> job;
  std::string errors;
};

Read read(const std::string& text) {
  Read out;
  EXPECT_NE(out.loaded->cluster, nullptr) << render_all(out.loaded->diagnostics, out.loaded->sources, false);
  if (out.loaded->cluster == nullptr) return out;
  Diagnostics diagnostics;
  const FileId file = out.loaded->sources.add("job.yaml", text);
  if (const auto root = parse_yaml(out.loaded->sources, file, diagnostics)) out.job = read_job(*root, diagnostics);
  if (out.job) resolve(*out.job, *out.loaded->cluster, diagnostics);
  out.errors = diagnostics.has_errors() ? render_all(diagnostics, out.loaded->sources, false) : std::string();
  return out;
}

const std::string kJob = "job: 1\nname: run\nnodes: 8\ncommand: [train.py]\n";

TEST(Job, IsFilledInFromTheCluster) {
  const Read out = read(kJob);
  ASSERT_EQ(out.errors, "");
  const JobSpec& job = *out.job;
  EXPECT_EQ(job.pool.value, "train");
  EXPECT_EQ(job.partition.value, "train");
  EXPECT_EQ(job.tenant.value, "red") << "blue may not use the partition";
  EXPECT_EQ(job.priority.value, "ai-batch-low") << "the tenant's comes before the partition's";
  EXPECT_EQ(job.min_nodes.value, 8);
  EXPECT_EQ(job.gpus_per_node.value, 8);
  EXPECT_EQ(job.max_restarts.value, 5);
  EXPECT_EQ(to_text(job.time_limit.value), "1w");
  EXPECT_TRUE(job.image->starts_with("registry.lab.internal/")) << job.image.value;
  ASSERT_EQ(job.mounts->size(), 2U) << "homes are not for ranks";
  EXPECT_EQ(job.mounts->at(0).path.value, "/data");
  EXPECT_TRUE(job.mounts->at(0).read_only.value);
  EXPECT_EQ(job.mounts->at(1).path.value, "/checkpoints");
  EXPECT_FALSE(job.mounts->at(1).read_only.value);
}

TEST(Job, KeepsValuesOfTheFile) {
  const Read out = read(kJob +
                        "min_nodes: 4\ngpus_per_node: 4\ntime_limit: 12h\npriority: ai-training-high\nmax_restarts: 0\n"
                        "mounts: [{volume: homes, path: /people}]\nenvironment: {A_B: \"x=y z\"}\n");
  ASSERT_EQ(out.errors, "");
  EXPECT_EQ(out.job->min_nodes.value, 4);
  EXPECT_EQ(out.job->gpus_per_node.value, 4);
  EXPECT_EQ(out.job->priority.value, "ai-training-high");
  EXPECT_EQ(out.job->max_restarts.value, 0);
  EXPECT_EQ(to_text(out.job->time_limit.value), "12h");
  ASSERT_EQ(out.job->mounts->size(), 1U);
  EXPECT_EQ(out.job->mounts->at(0).path.value, "/people");
}

TEST(Job, ReadsSectionsForSubmission) {
  const Read out = read(kJob +
                        "checkpoint: {volumes: [homes, /fast/a], interval: 10m, notice: signal, signal: USR2}\n"
                        "restart: {max_failures: 4, backoff: 30s}\n");
  ASSERT_EQ(out.errors, "");
  const JobCheckpointSpec& checkpoint = out.job->checkpoint.value;
  ASSERT_EQ(checkpoint.volumes->size(), 2U);
  EXPECT_EQ(checkpoint.volumes->at(1).value, "/fast/a");
  EXPECT_EQ(to_text(checkpoint.interval.value), "10m");
  EXPECT_EQ(checkpoint.notice.value, JobNotice::signal);
  EXPECT_EQ(checkpoint.signal.value, NoticeSignal::usr2);
  EXPECT_EQ(out.job->restart->max_failures.value, 4);
  EXPECT_EQ(to_text(out.job->restart->backoff.value), "30s");
  const Read without = read(kJob);
  EXPECT_FALSE(without.job->checkpoint.has_value());
  EXPECT_EQ(without.job->checkpoint->notice.value, JobNotice::none);
}

struct BadJob {
  const char* what;
  std::string text;
  const char* message;
  const char* place;
};

class BadJobs : public testing::TestWithParam<BadJob> {};

TEST_P(BadJobs, AreRejectedWithTheirLocation) {
  const Read out = read(GetParam().text);
  EXPECT_NE(out.errors.find(GetParam().message), std::string::npos) << out.errors;
  EXPECT_NE(out.errors.find(std::string("job.yaml:") + GetParam().place + ": error"), std::string::npos) << out.errors;
}

INSTANTIATE_TEST_SUITE_P(
    Job, BadJobs,
    testing::Values(
        BadJob{"empty", "", "the file is empty", "1:1"},
        BadJob{"version", "job: 2\nname: a\nnodes: 1\ncommand: [x]\n", "job", "1:6"},
        BadJob{"unknown_key", kJob + "node: 3\n", "unknown key `node`", "5:1"},
        BadJob{"no_nodes", "job: 1\nname: a\ncommand: [x]\n", "nodes", "1:1"},
        BadJob{"name", "job: 1\nname: Run_1\nnodes: 1\ncommand: [x]\n", "is not a valid job name", "2:7"},
        BadJob{"too_many", "job: 1\nname: a\nnodes: 16\ncommand: [x]\n", "has 16 (1 reserved as spares)", "3:8"},
        BadJob{"quota", "job: 1\nname: a\nnodes: 9\ncommand: [x]\n", "quota of tenant `red` is 64", "3:8"},
        BadJob{"min_nodes", kJob + "min_nodes: 9\n", "min_nodes (9) is above nodes (8)", "5:12"},
        BadJob{"gpus", kJob + "gpus_per_node: 9\n", "`hgx-h100` has 8", "5:16"},
        BadJob{"tenant", kJob + "tenant: rad\n", "unknown tenant `rad`", "5:9"},
        BadJob{"other_tenant", kJob + "tenant: blue\n", "tenant `blue` may not use partition `train`", "5:9"},
        BadJob{"pool", kJob + "pool: tran\n", "did you mean `train`?", "5:7"},
        BadJob{"no_gpus", kJob + "pool: infra\n", "have no GPUs", "5:7"},
        BadJob{"mig", kJob + "pool: infer\n", "are partitioned into MIG", "5:7"},
        BadJob{"partition", kJob + "partition: nowhere\n", "unknown partition `nowhere`", "5:12"},
        BadJob{"other_partition", kJob + "partition: serve\n", "does not contain pool `train`", "5:12"},
        BadJob{"time", kJob + "time_limit: 8d\n", "8d exceeds the limit of partition `train`, 1w", "5:13"},
        BadJob{"no_time", kJob + "time_limit: 1s\n", "at least one minute", "5:13"},
        BadJob{"priority", kJob + "priority: high\n", "unknown priority `high`", "5:11"},
        BadJob{"volume", kJob + "mounts: [{volume: imagez}]\n", "did you mean `images`?", "5:19"},
        BadJob{"written", kJob + "mounts: [{volume: images, read_only: false}]\n", "is read-only", "5:38"},
        BadJob{"twice", kJob + "mounts: [{volume: images}, {volume: state, path: /data}]\n", "is mounted twice",
               "5:50"},
        BadJob{"path", kJob + "mounts: [{volume: images, path: /data/../etc}]\n", "is not an absolute path", "5:33"},
        BadJob{"image", kJob + "image: \"a b\"\n", "is not a container image", "5:8"},
        BadJob{"command", "job: 1\nname: a\nnodes: 1\ncommand: []\n", "needs a script", "4:10"},
        BadJob{"option", "job: 1\nname: a\nnodes: 1\ncommand: [--standalone]\n", "is an option, not a script", "4:10"},
        BadJob{"variable", kJob + "environment: {\"A B\": x}\n", "`A B` is not a valid variable name", "5:15"},
        BadJob{"digit", kJob + "environment: {1A: x}\n", "`1A` is not a valid variable name", "5:15"},
        BadJob{"rank", kJob + "environment: {RANK: \"0\"}\n", "is set by torchrun", "5:15"},
        BadJob{"newline", kJob + "environment: {A: \"x\\ny\"}\n", "contains control characters", "5:15"},
        BadJob{"shm", kJob + "shared_memory: 0\n", "need shared memory", "5:16"},
        BadJob{"resume", kJob + "resume: latest\n", "is not an absolute path", "5:9"}),
    [](const auto& test) { return std::string(test.param.what); });

TEST(Job, IsElasticOnlyIfTheClusterAllowsIt) {
  std::string cluster = kCluster;
  cluster.replace(cluster.find("max_restarts: 5"), 15, "elastic: false");
  const auto loaded = load_cluster_text("cluster.yaml", cluster);
  ASSERT_NE(loaded->cluster, nullptr);
  Diagnostics diagnostics;
  const auto root = parse_yaml(loaded->sources, loaded->sources.add("job.yaml", kJob + "min_nodes: 2\n"), diagnostics);
  ASSERT_TRUE(root.has_value());
  auto job = read_job(*root, diagnostics);
  ASSERT_TRUE(job.has_value());
  resolve(*job, *loaded->cluster, diagnostics);
  EXPECT_EQ(diagnostics.error_count(), 1U);
}

}  // namespace
}  // namespace weft::model
