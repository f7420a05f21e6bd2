#include "world/gate/node_steps.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weft::world {
namespace {

namespace fs = std::filesystem;

class NodeStepsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weft_steps_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    query = {(folder / "proc").string(), (folder / "checkpoint").string(), (folder / "cgroup").string()};
    fs::create_directories(folder / "cgroup");
    process("1", "/sbin/init");
  }
  void TearDown() override { fs::remove_all(folder); }
  void process(const std::string& pid, const std::string& title) const {
    fs::create_directories(folder / "proc" / pid);
    std::ofstream(folder / "proc" / pid / "cmdline", std::ios::binary) << title << '\0';
  }
  void cgroup(const std::string& path, const std::string& processes) const {
    fs::create_directories(folder / "cgroup" / path);
    std::ofstream(folder / "cgroup" / path / "cgroup.procs") << processes;
  }
  void checkpoint(const std::string& text) const { std::ofstream(folder / "checkpoint") << text; }

  fs::path folder;
  StepQuery query;
};

TEST_F(NodeStepsTest, CountsStepsOfSlurm) {
  process("4711", "slurmstepd: [77.batch]");
  process("4712", "slurmstepd: [77.0]");
  process("4713", "slurmstepd infinity");
  process("4714", "grep slurmstepd: [");
  const Result<NodeSteps> found = find_node_steps(query);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->slurm, 2U);
  EXPECT_EQ(found->kubernetes, 0U) << "no kubelet has given out a device";
  EXPECT_EQ(found->text, "slurmstepd: [77.0], slurmstepd: [77.batch]");
}

// Several slurmd on one machine: their steps listen in different directories.
TEST_F(NodeStepsTest, CountsStepsOfOneSlurmdByTheirSockets) {
  process("4711", "slurmstepd: [77.batch]");
  query.spool = "/var/spool/n1";
  EXPECT_FALSE(find_node_steps(query).ok()) << "what cannot be read is no idle node";
  fs::create_directories(folder / "proc/net");
  std::ofstream(folder / "proc/net/unix")
      << "Num       RefCount Protocol Flags    Type St Inode Path\n"
         "0000: 00000002 00000000 00010000 0001 01 20001 /var/spool/n1/n1_77.4294967291\n"
         "0000: 00000002 00000000 00010000 0001 01 20002 /var/spool/n1/n1_77.0\n"
         "0000: 00000003 00000000 00000000 0001 03 20003 /var/spool/n1/n1_77.0\n"
         "0000: 00000002 00000000 00010000 0001 01 20004 /var/spool/n10/n10_78.0\n"
         "0000: 00000002 00000000 00010000 0001 01 20005 /var/spool/n1/conf-cache\n"
         "0000: 00000002 00000000 00010000 0001 01 20006\n";
  const Result<NodeSteps> found = find_node_steps(query);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->slurm, 2U);
  EXPECT_EQ(found->text, "step 77.0 of Slurm, step 77.4294967291 of Slurm");
}

// As a kubelet 1.20 writes it.
TEST_F(NodeStepsTest, CountsPodsWithGpusThatHaveProcesses) {
  checkpoint(
      R"({"Data":{"PodDeviceEntries":[
        {"PodUID":"0d7d3c6e-7f9b-4a8e-9f6e-0c1d2e3f4a5b","ContainerName":"train","ResourceName":"nvidia.com/gpu",
         "DeviceIDs":{"0":["GPU-1"]},"AllocResp":""},
        {"PodUID":"11111111-7f9b-4a8e-9f6e-0c1d2e3f4a5b","ContainerName":"ended","ResourceName":"nvidia.com/gpu",
         "DeviceIDs":{"0":["GPU-2"]},"AllocResp":""},
        {"PodUID":"22222222-7f9b-4a8e-9f6e-0c1d2e3f4a5b","ContainerName":"net","ResourceName":"nvidia.com/rdma",
         "DeviceIDs":{"0":["0"]},"AllocResp":""}],
        "RegisteredDevices":{"nvidia.com/gpu":["GPU-1","GPU-2"]}},"Checksum":1})");
  const std::string burstable = "kubepods.slice/kubepods-burstable.slice/";
  const std::string slice = burstable + "kubepods-burstable-pod0d7d3c6e_7f9b_4a8e_9f6e_0c1d2e3f4a5b.slice";
  cgroup(slice, "");
  cgroup(slice + "/cri-containerd-4f.scope", "");
  cgroup(slice + "/cri-containerd-4f.scope/init.scope", "4711\n");  // by the program in the container
  cgroup("kubepods.slice/kubepods-pod22222222_7f9b_4a8e_9f6e_0c1d2e3f4a5b.slice", "4712\n");
  const Result<NodeSteps> found = find_node_steps(query);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->kubernetes, 1U);
  EXPECT_EQ(found->text, "pod 0d7d3c6e-7f9b-4a8e-9f6e-0c1d2e3f4a5b");
  const std::string other = "memory/kubepods/besteffort/pod11111111-7f9b-4a8e-9f6e-0c1d2e3f4a5b";
  cgroup("unified/kubepods/besteffort/pod11111111-7f9b-4a8e-9f6e-0c1d2e3f4a5b", "");
  cgroup(other, "");
  EXPECT_EQ(find_node_steps(query)->kubernetes, 1U) << "an empty cgroup that was left behind";
  cgroup(other + "/5e", "0\n");  // of another process namespace
  EXPECT_EQ(find_node_steps(query)->kubernetes, 2U) << "the cgroupfs driver";
  fs::remove_all(query.cgroups);
  EXPECT_FALSE(find_node_steps(query).ok());
}

TEST_F(NodeStepsTest, WhatCannotBeReadIsAnError) {
  checkpoint("{\"Data\":");
  EXPECT_FALSE(find_node_steps(query).ok()) << "truncated";
  checkpoint("{}");
  EXPECT_FALSE(find_node_steps(query).ok());
  checkpoint(R"({"Data":{"PodDeviceEntries":[{"PodUID":7}]},"Checksum":1})");
  EXPECT_FALSE(find_node_steps(query).ok());
  checkpoint(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})");
  EXPECT_TRUE(find_node_steps(query).ok());
  fs::remove_all(query.proc);
  EXPECT_FALSE(find_node_steps(query).ok());
}

}  // namespace
}  // namespace weft::world
