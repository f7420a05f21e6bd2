// What tests with the real slurmctld do not cover: other releases, other hardware, and invalid names.
#include <gtest/gtest.h>

#include <string>

#include "model/load.h"
#include "render/core/memory_sink.h"

namespace weft::render {
namespace {

constexpr const char* kCluster = R"(weft: 1
name: Lab
site: {domain: lab.internal}
pools:
  - name: train
    role: training
    server: hgx-h100
    count: 6
    spares: 1
    unit: 6
    labels: {"zone/x": "a,b #c"}
    bios: {hyper_threading: true}
    overrides: [{hosts: "train[002-003]", labels: {stepping: b1}}]
  - {name: share, role: inference, server: hgx-h100, count: 2, time_slices: 4, links: {backend: 0}}
  - {name: cut, role: inference, server: hgx-h100, count: 2, mig: {1g.10gb: 3, 2g.20gb: 2}, links: {backend: 0}}
  - {name: old, role: training, server: dgx-a100, count: 2, unit: 2}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
fabrics:
  backend: {leaf: sn5600, speed: 200G}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
control_plane: {kind: slurm, pool: infra}
workload: {environment: {"NCCL_X": "a b'c", "BAD NAME": x}}
)";

struct Files {
  std::unique_ptr<model::Loaded> loaded;
  MemorySink sink;
};

Files render(const std::string& text, const char* option = nullptr) {
  Files out;
  out.loaded = model::load_cluster_text("cluster.yaml", text);
  EXPECT_NE(out.loaded->cluster, nullptr) << render_all(out.loaded->diagnostics, out.loaded->sources, false);
  if (out.loaded->cluster == nullptr) return out;
  const RenderPlan plan(*out.loaded->cluster);
  RenderOptions options;
  if (option != nullptr) {
    EXPECT_TRUE(options.set(option).ok());
  }
  const RenderInput input{*out.loaded->cluster, plan, options, {}};
  const auto targets = find_targets("slurm");
  EXPECT_TRUE(targets.front()->applies(input));
  targets.front()->render(input, out.sink);
  return out;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line) != std::string::npos;
}

TEST(Slurm, NodesThatDifferHaveSeparateLines) {
  const Files files = render(kCluster);
  const std::string conf = files.sink.content("slurm/slurm.conf");
  EXPECT_TRUE(has_line(conf, "NodeName=train[001,004-005] ")) << conf;
  EXPECT_TRUE(has_line(conf, "NodeName=train[002-003] ")) << conf;
  EXPECT_TRUE(has_line(conf, "NodeName=train006 ")) << conf;
  EXPECT_NE(conf.find("Features=train,h100,nvme,rail8,zone_x-a_b__c,stepping-b1 "), std::string::npos) << conf;
  EXPECT_NE(conf.find("ThreadsPerCore=2"), std::string::npos);
  EXPECT_TRUE(has_line(conf, "ClusterName=lab\n")) << "Slurm keeps names of clusters in small letters";
}

TEST(Slurm, TimeSlicedAndMigGpus) {
  const Files files = render(kCluster);
  const std::string conf = files.sink.content("slurm/slurm.conf");
  const std::string gres = files.sink.content("slurm/gres.conf");
  EXPECT_NE(conf.find("Gres=gpu:h100:8,shard:32 "), std::string::npos) << conf;
  EXPECT_NE(conf.find("Gres=gpu:1g.10gb:24,gpu:2g.20gb:16 "), std::string::npos) << conf;
  EXPECT_TRUE(has_line(conf, "GresTypes=gpu,shard\n"));
  EXPECT_TRUE(has_line(gres, "NodeName=share[001-002] Name=shard Count=32\n")) << gres;
  EXPECT_TRUE(has_line(gres, "NodeName=cut[001-002] AutoDetect=nvml\n")) << gres;
}

// DGX A100: eight NUMA nodes of 16 cores; GPUs 0 and 1 are on the fourth (NVIDIA DGX A100 user guide, topology).
TEST(Slurm, CoresFollowNumaNodes) {
  const Files files = render(kCluster);
  const std::string gres = files.sink.content("slurm/gres.conf");
  EXPECT_TRUE(has_line(gres, "NodeName=old[001-002] Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=48-63\n")) << gres;
  EXPECT_TRUE(has_line(gres, "NodeName=old[001-002] Name=gpu Type=a100 File=/dev/nvidia[2-3] Cores=16-31\n")) << gres;
}

TEST(Slurm, DisconnectedPoolsHaveNoRootSwitch) {
  const Files files = render(kCluster);
  const std::string topology = files.sink.content("slurm/topology.conf");
  EXPECT_TRUE(has_line(topology, "SwitchName=fe-share Nodes=share[001-002]\n")) << topology;
  EXPECT_TRUE(has_line(topology, "SwitchName=fe-cut Nodes=cut[001-002]\n")) << topology;
  EXPECT_EQ(topology.find("fe-share,"), std::string::npos);
}

TEST(Slurm, WithoutTenantsThereIsNoDatabase) {
  const Files files = render(kCluster);
  const std::string conf = files.sink.content("slurm/slurm.conf");
  EXPECT_EQ(files.sink.files.count("slurm/slurmdbd.conf"), 0U);
  EXPECT_EQ(files.sink.files.count("slurm/accounts"), 0U);
  EXPECT_TRUE(has_line(conf, "PreemptType=preempt/partition_prio\n"));
  for (const char* setting : {"AccountingStorageTRES", "TRESBillingWeights", "PriorityWeightFairshare"})
    EXPECT_EQ(conf.find(setting), std::string::npos) << setting << " is refused without one";
}

TEST(Slurm, ReleasesDiffer) {
  const std::string old_conf = render(kCluster).sink.content("slurm/slurm.conf");
  const Files files = render(kCluster, "slurm=24.05");
  const std::string conf = files.sink.content("slurm/slurm.conf");
  EXPECT_EQ(old_conf.find("PreemptParameters"), std::string::npos) << "unknown to 22.05";
  EXPECT_NE(old_conf.find("preempt_send_user_signal"), std::string::npos);
  EXPECT_TRUE(has_line(conf, "PreemptParameters=send_user_signal,youngest_first\n"));
  EXPECT_EQ(conf.find("preempt_"), std::string::npos);
  const std::string rest = files.sink.content("slurm/slurmrestd/infra001.conf");
  EXPECT_NE(rest.find("-d v0.0.41"), std::string::npos) << rest;
  EXPECT_NE(rest.find("User=slurmrestd"), std::string::npos);
}

TEST(Slurm, InvalidVariablesAreOmitted) {
  const Files files = render(kCluster);
  const std::string variables = files.sink.content("slurm/pools/train.env");
  EXPECT_TRUE(has_line(variables, "NCCL_X=a b'c\n")) << variables;
  EXPECT_EQ(variables.find("BAD"), std::string::npos);
  bool said = false;
  for (const std::string& remark : files.sink.notes) said = said || remark.find("BAD NAME") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST(Slurm, HoldsNoSecrets) {
  std::string text = kCluster;
  text += "tenants: [{name: red, quota: {gpus: 8}}]\n";
  const Files files = render(text);
  const RenderedFile& database = files.sink.files.at("slurm/slurmdbd.conf");
  EXPECT_EQ(database.mode, "0600");
  EXPECT_EQ(database.owner, "slurm");
  EXPECT_EQ(database.content.find("StoragePass"), std::string::npos);
  EXPECT_TRUE(has_line(database.content, "Include /etc/slurm/slurmdbd.secret\n"));
}

}  // namespace
}  // namespace weft::render
