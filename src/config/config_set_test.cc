#include "config/config_set.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weft::config {
namespace {

namespace fs = std::filesystem;

TEST(DetectKind, DetectsEachKindByItsContent) {
  const auto is = [](ConfigKind kind, std::string_view text) { EXPECT_EQ(detect_kind("x", text), kind) << text; };
  is(ConfigKind::sonic, R"({"PORT": {"Ethernet0": {"lanes": "1,2", "speed": "400000"}}})");
  is(ConfigKind::sonic, "\n  {\n \"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"a\"}}}\n");
  is(ConfigKind::sonic,
     R"({"NTP_SERVER": {"10.0.0.1": {}}, "MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "true"}}})");
  is(ConfigKind::nxos, "!Command: show running-config\nversion 10.3(4a)\nhostname a\nfeature bgp\n");
  is(ConfigKind::nxos, "hostname a\ninterface Ethernet1/1\n  mtu 9216\n");
  is(ConfigKind::nvue, "- set:\n    interface:\n      swp1:\n        type: swp\n");
  is(ConfigKind::nvue, "- header:\n    model: SN5600\n- set:\n    system:\n      hostname: a\n");
  is(ConfigKind::nvue, "nv set interface swp1 link mtu 9216\nnv set qos roce\n");
  is(ConfigKind::nvue, R"([{"set": {"interface": {"swp1": {}}}}])");
  is(ConfigKind::kubernetes, "# jobs\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n");
  is(ConfigKind::kubernetes, R"({"apiVersion": "v1", "kind": "List", "items": []})");
  is(ConfigKind::sbatch, "#!/bin/bash\n#SBATCH --nodes=4\nsrun python train.py\n");
  is(ConfigKind::environment, "NCCL_IB_TC=106\n# a remark\nexport NCCL_DEBUG=INFO\n");
  is(ConfigKind::slurm, "ClusterName=pod\nSlurmctldHost=ctl1\nNodeName=n[1-4] Gres=gpu:8\n");
  is(ConfigKind::gres, "AutoDetect=nvml\nNodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-7]\n");
  is(ConfigKind::gres, "Name=gpu File=/dev/nvidia0\n");
  is(ConfigKind::cgroup, "CgroupPlugin=cgroup/v2\nConstrainDevices=yes\n");
  is(ConfigKind::sysctl, "# routing\nnet.ipv4.ip_forward = 0\nnet.ipv4.conf.all.rp_filter=2\n");
  is(ConfigKind::exports, "/srv/data 10.70.0.0/24(ro,sec=krb5p) @gpu(rw)\n");
  is(ConfigKind::mounts, "10.0.0.1:/data /data nfs4 vers=4.2,sec=krb5p 0 0\n");
  is(ConfigKind::mounts, "10.0.0.1:/data on /data type nfs4 (ro,vers=4.2,sec=sys)\ntmpfs on /run type tmpfs (rw)\n");
  is(ConfigKind::nvme, "nvme connect -t rdma -a 10.70.48.2 -s 4420 -n nqn.2024-01.example:data\n");
  is(ConfigKind::nvme, "--transport=tcp --traddr=10.70.48.2 --trsvcid=8009\n");
  is(ConfigKind::nic_script, "#!/bin/sh\nmlnx_qos -i ens1 --trust dscp\n");
  is(ConfigKind::nic_script, "#!/bin/sh\necho 106 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class\n");
  is(ConfigKind::nic_script, "ip link set ens1 mtu 9000\n");
  is(ConfigKind::host_facts, R"({"schema_version": 1, "kind": "host", "host": "a", "interfaces": []})");
  is(ConfigKind::lldp, R"({"lldp": {"interface": [{"eth0": {}}]}})");
  is(ConfigKind::lldp, "LocalPort    RemoteDevice    RemotePortID\n-----------  --------------\nEthernet0  a  p1\n");
  is(ConfigKind::lldp, "Device ID            Local Intf      Hold-time  Capability  Port ID\n");
  is(ConfigKind::ibnetdiscover, "#\n# Topology file: generated on Mon\n#\nswitchguid=0xb8\nSwitch 64 \"S-1\"\n");
  is(ConfigKind::iblinkinfo,
     "CA: host mlx5_0:\n 0x1 1 1[  ] ==( 4X 106.25 Gbps Active/ LinkUp)==> 0x2 3 7[ ] \"s\" ( )\n");
}

TEST(DetectKind, HereDocumentDoesNotDecideTheKind) {
  const auto kind = [](std::string_view text) { return detect_kind("x", text); };
  EXPECT_EQ(kind("#!/bin/bash\nset -e\nkubectl apply -f - <<EOF\napiVersion: v1\nkind: Pod\nEOF\n"),
            ConfigKind::unknown);
  EXPECT_EQ(kind("#!/bin/bash\nset -e\ncat <<EOF > slurm.conf\nClusterName=a\nSelectType=select/cons_tres\nEOF\n"),
            ConfigKind::unknown);
  EXPECT_EQ(kind("#!/bin/bash\n#SBATCH --nodes=2\ncat <<EOF\napiVersion: v1\nkind: Pod\nEOF\n"), ConfigKind::sbatch);
  EXPECT_EQ(kind("#!/bin/bash\nnv set qos roce\nnv config apply\n"), ConfigKind::nvue);
  EXPECT_EQ(kind("#!/bin/sh\nexport NCCL_DEBUG=INFO\n"), ConfigKind::environment);
  EXPECT_EQ(kind("# Copyright\n#!/bin/bash\nmain() {\n  cluster_name=$1\nClusterName=a\n}\n"), ConfigKind::unknown);
  EXPECT_EQ(detect_kind("setup.sh", "cat <<EOF > slurm.conf\nClusterName=a\nEOF\n"), ConfigKind::unknown);
}

TEST(DetectKind, MentionDoesNotDecideTheKind) {
  const std::string pod = "apiVersion: v1\nkind: Pod\n";
  EXPECT_EQ(detect_kind("docs/README.md", "# Guide\n```yaml\n" + pod + "```\n"), ConfigKind::unknown);
  EXPECT_EQ(detect_kind("render_test.go", "package a\nconst pod = `\n" + pod + "`\n"), ConfigKind::unknown);
  EXPECT_EQ(detect_kind("pod.yaml", pod), ConfigKind::kubernetes);
  EXPECT_EQ(detect_kind("env.json", R"({"NCCL_DEBUG": "INFO", "FI_PROVIDER": "efa"})"), ConfigKind::unknown);
  EXPECT_EQ(detect_kind("ntp.json", R"({"NTP_SERVER": {"10.0.0.1": {}}})"), ConfigKind::sonic);
  EXPECT_EQ(detect_kind("stack.yaml", "Resources:\n  Script:\n    Content: |\n      ClusterName=a\n    Type: x\n"),
            ConfigKind::unknown);
  EXPECT_EQ(detect_kind("s", "# a remark\nInclude nodes.conf\nClusterName=a\nNodeName=n1 \\\n  Gres=gpu:8\n"),
            ConfigKind::slurm);
}

TEST(DetectKind, LookAlikesAreNotConfused) {
  const auto kind = [](std::string_view path, std::string_view text) { return detect_kind(path, text); };
  EXPECT_EQ(kind("x", ""), ConfigKind::unknown);
  EXPECT_EQ(kind("x", " \n\t\n"), ConfigKind::unknown);
  EXPECT_EQ(kind("slurm.conf", std::string_view("ClusterName=a\0b", 15)), ConfigKind::unknown);
  EXPECT_EQ(kind("x",
                 "\x7f"
                 "ELF\x02\x01\x01\x01"),
            ConfigKind::unknown);
  EXPECT_EQ(kind("x", "{}"), ConfigKind::unknown);
  EXPECT_EQ(kind("x", "{"), ConfigKind::unknown);
  EXPECT_EQ(kind("x", "just a sentence about interface names\n"), ConfigKind::unknown);
  EXPECT_EQ(kind("README.md", "# Title\n\nSome text = here.\n"), ConfigKind::unknown);
  // A manifest that contains an environment and a script is a manifest.
  EXPECT_EQ(kind("x", "apiVersion: v1\nkind: ConfigMap\ndata:\n  run.sh: |\n    #!/bin/sh\n    mlnx_qos -i a\n"),
            ConfigKind::kubernetes);
  // A batch script that configures a NIC is a batch script.
  EXPECT_EQ(kind("x", "#!/bin/sh\n#SBATCH -N 2\nmlnx_qos -i ens1 --trust dscp\n"), ConfigKind::sbatch);
  // A nested "PORT" is not a SONiC table.
  EXPECT_EQ(kind("x", R"({"lldp": {"PORT": 1}})"), ConfigKind::lldp);
  EXPECT_EQ(kind("x", R"({"a": {"PORT": {}}})"), ConfigKind::unknown);
  // The file name decides only if the content is ambiguous.
  EXPECT_EQ(kind("gres.conf", "NodeName=n1 Count=8\n"), ConfigKind::gres);
  EXPECT_EQ(kind("nodes.conf", "NodeName=n1 CPUs=8\n"), ConfigKind::slurm);
  EXPECT_EQ(kind("slurm.conf", "Foo=bar\n"), ConfigKind::slurm);
  EXPECT_EQ(kind("a.env", "Foo=bar\n"), ConfigKind::environment);
  EXPECT_EQ(kind("x",
                 "\xEF\xBB\xBF"
                 "apiVersion: v1\r\nkind: Pod\r\n"),
            ConfigKind::kubernetes);
  // A YAML file of another kind.
  EXPECT_EQ(kind("x", "weft: 1\nname: pod\npools: []\n"), ConfigKind::unknown);
  // Every kind has a name.
  for (int i = 0; i <= static_cast<int>(ConfigKind::iblinkinfo); ++i) {
    EXPECT_EQ(to_text(static_cast<ConfigKind>(i)) == "unknown", i == 0) << i;
  }
}

class ConfigDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) /
            (std::string("weft_config_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& name, const std::string& text) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  fs::path root_;
  Sources sources_;
  ConfigSet set_;
  Diagnostics diagnostics_;
};

TEST_F(ConfigDirectory, ReadsEveryFileInNameOrder) {
  put("b/two.env", "NCCL_DEBUG=INFO\n");
  put("a.env", "NCCL_IB_TC=106\n");
  put(".hidden/three.env", "X=1\n");
  put("notes.txt", "nothing to see here\n");
  fs::create_symlink("/etc", root_ / "out");
  fs::create_symlink(root_ / "a.env", root_ / "c.env");
  read_config(root_.string(), sources_, set_, diagnostics_);
  ASSERT_EQ(set_.apps.size(), 3U);
  EXPECT_EQ(set_.apps[0].name, "a.env");
  EXPECT_EQ(set_.apps[1].name, "two.env");
  EXPECT_EQ(set_.apps[2].name, "c.env");
  EXPECT_FALSE(diagnostics_.has_errors());
  std::size_t notes = 0;
  for (const Diagnostic& diagnostic : diagnostics_.sorted()) notes += diagnostic.severity == Severity::note ? 1 : 0;
  EXPECT_EQ(notes, 2U);
  ASSERT_EQ(set_.files.size(), 3U);
  EXPECT_EQ(set_.file(set_.files[1].file)->kind, ConfigKind::environment);
  EXPECT_EQ(set_.file(99), nullptr);
}

TEST_F(ConfigDirectory, AcceptsADeviceNameBeforeThePath) {
  put("a=b.env", "X=1\n");
  put("c.env", "X=1\n");
  read_config("train*=" + (root_ / "c.env").string(), sources_, set_, diagnostics_);
  read_config((root_ / "a=b.env").string(), sources_, set_, diagnostics_);
  ASSERT_EQ(set_.files.size(), 2U);
  EXPECT_EQ(set_.files[0].applies_to, "train*");
  EXPECT_EQ(set_.files[1].applies_to, "");
}

TEST_F(ConfigDirectory, ReportsUnreadableFiles) {
  put("notes.txt", "nothing to see here\n");
  read_config((root_ / "notes.txt").string(), sources_, set_, diagnostics_);
  EXPECT_EQ(diagnostics_.error_count(), 1U);
  read_config((root_ / "absent").string(), sources_, set_, diagnostics_);
  EXPECT_EQ(diagnostics_.error_count(), 2U);
  EXPECT_TRUE(set_.empty());
}

TEST_F(ConfigDirectory, OneWithoutConfigurationIsAnError) {
  const fs::path empty = root_ / "empty";
  fs::create_directories(empty);
  read_config(empty.string(), sources_, set_, diagnostics_);
  EXPECT_EQ(diagnostics_.error_count(), 1U);
  std::ofstream(empty / "notes.txt") << "hello\n";
  read_config(empty.string(), sources_, set_, diagnostics_);
  EXPECT_EQ(diagnostics_.error_count(), 2U);
  std::ofstream(empty / "job.env") << "NCCL_IB_HCA=mlx5_0\n";
  read_config(empty.string(), sources_, set_, diagnostics_);
  EXPECT_EQ(diagnostics_.error_count(), 2U);
}

TEST_F(ConfigDirectory, StopsAtMaximumDepth) {
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "d/";
  put(deep + "x.env", "X=1\n");
  read_config(root_.string(), sources_, set_, diagnostics_);
  EXPECT_TRUE(set_.empty());
  EXPECT_TRUE(diagnostics_.has_errors());
}

}  // namespace
}  // namespace weft::config
