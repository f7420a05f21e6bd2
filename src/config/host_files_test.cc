#include <gtest/gtest.h>

#include <string>

#include "config/config_set.h"
#include "config/host_text.h"

namespace weft::config {
namespace {

struct Read {
  Sources sources;
  ConfigSet set;
  Diagnostics diagnostics;
};

Read read(const std::string& name, std::string text) {
  Read out;
  read_config_text(name, std::move(text), out.sources, out.set, out.diagnostics);
  return out;
}

std::string entries(const Read& read) {
  std::string out;
  for (const SettingsFile& file : read.set.settings) {
    for (const auto& e : file.entries) out += std::to_string(e.place.line) + " " + e.key + "=" + e.value + "\n";
  }
  return out;
}

TEST(HostText, SplitsShellLines) {
  using host_text::commands_of;
  using Commands = std::vector<host_text::Command>;
  EXPECT_EQ(commands_of("a 'b c' \"d\\\"e\" f\\ g # h"), (Commands{{"a", "b c", "d\"e", "f g"}}));
  EXPECT_EQ(commands_of("a;b && c || d | e"), (Commands{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}));
  EXPECT_EQ(commands_of("echo 1 >/x 2>&1"), (Commands{{"echo", "1", ">", "/x", "2", ">", "&1"}}));
  EXPECT_EQ(commands_of("for i in 1; do sudo x $i; done"), (Commands{{"for", "i", "in", "1"}, {"x", "$i"}, {"done"}}));
  EXPECT_EQ(commands_of(""), Commands{});
  EXPECT_EQ(commands_of("x '' y"), (Commands{{"x", "", "y"}}));
  EXPECT_EQ(host_text::quoted_words_of("--a=b&c 'd e' # f"), (host_text::Command{"--a=b&c", "d e"}));
}

TEST(Sbatch, ReadsOptionsInBothFormsAndTheEnvironment) {
  const Read r = read("job.sh", R"(#!/bin/bash
#SBATCH --job-name=llm
#SBATCH -N 16 --ntasks-per-node 8
#SBATCH -C h100&ib
#SBATCH -wtrain001
#SBATCH --exclusive
#SBATCH --gres=gpu:8   # all of them
#SBATCH --export=ALL,NCCL_DEBUG=WARN

export NCCL_IB_TC=106 NCCL_IB_HCA="mlx5_0,mlx5_1"
NCCL_DEBUG=INFO
#SBATCH --requeue
srun --gpu-bind=closest --export=ALL,NCCL_ALGO=Ring \
  python train.py
UCX_TLS=rc mpirun -x NCCL_PROTO=Simple ./a.out
)");
  ASSERT_EQ(r.set.apps.size(), 1U);
  const AppConfig& app = r.set.apps[0];
  EXPECT_EQ(app.kind, "sbatch");
  EXPECT_EQ(app.name, "llm");
  std::string options;
  for (const auto& option : app.options) options += *option + " ";
  EXPECT_EQ(options,
            "--job-name=llm --nodes=16 --ntasks-per-node=8 --constraint=h100&ib --nodelist=train001 --exclusive "
            "--gres=gpu:8 --export=ALL,NCCL_DEBUG=WARN ");
  EXPECT_EQ(**app.variable("NCCL_IB_TC"), "106");
  EXPECT_EQ(app.variable("NCCL_IB_TC")->place.line, 10U);
  EXPECT_EQ(**app.variable("NCCL_IB_HCA"), "mlx5_0,mlx5_1");
  EXPECT_EQ(**app.variable("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(**app.variable("NCCL_ALGO"), "Ring");
  EXPECT_EQ(**app.variable("NCCL_PROTO"), "Simple");
  EXPECT_EQ(**app.variable("UCX_TLS"), "rc");
  ASSERT_EQ(app.commands.size(), 2U);
  EXPECT_EQ(app.commands[0].place.line, 13U);
  ASSERT_EQ(app.constraints.size(), 2U);
  EXPECT_EQ(**app.limit("--gres"), "gpu:8");
}

TEST(Environment, ReadsAssignments) {
  const Read r = read("nccl.conf", "NCCL_IB_TC=106\n# x\nexport NCCL_DEBUG='INFO'\n");
  ASSERT_EQ(r.set.apps.size(), 1U);
  EXPECT_EQ(r.set.apps[0].kind, "environment");
  EXPECT_EQ(**r.set.apps[0].variable("NCCL_IB_TC"), "106");
  EXPECT_EQ(**r.set.apps[0].variable("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(r.set.apps[0].variable("NCCL_DEBUG")->place, (SourceLocation{r.set.files[0].file, 1, 3}));
}

TEST(NicScript, ReadsTheUsualCommands) {
  const Read r = read("nic.sh", R"(#!/bin/sh
mlnx_qos -i ens1np0 --trust=dscp --pfc 0,0,0,1,0,0,0,0
cma_roce_tos -d mlx5_0 -t 106
echo 48 > /sys/class/net/ens1np0/ecn/roce_np/cnp_dscp
echo 6 > /sys/class/net/ens1np0/ecn/roce_np/cnp_802p_prio
echo 1 > /sys/class/net/ens1np0/ecn/roce_np/enable/3
echo 0 > /sys/class/net/ens1np0/ecn/roce_np/enable/5
mlxconfig -y -d 0000:1a:00.0 set ROCE_CC_PRIO_MASK_P1=0xff NUM_OF_VFS=16 LINK_TYPE_P1=2
ethtool -A ens1np0 autoneg off rx off tx off
ip link set dev ens1np0 mtu 9000
for i in a b; do ip link set $i mtu 4200; done
)");
  ASSERT_EQ(r.set.nics.size(), 1U);
  const NicConfig& nic = r.set.nics[0];
  EXPECT_EQ(nic.name, "nic.sh");
  EXPECT_EQ(*nic.trust, model::TrustMode::dscp);
  EXPECT_TRUE(*nic.pfc[3] && !*nic.pfc[4]);
  EXPECT_EQ(*nic.tos, 106);
  EXPECT_EQ(nic.tos.place.line, 3U);
  EXPECT_EQ(*nic.cnp_dscp, 48);
  EXPECT_EQ(*nic.cnp_priority, 6);
  EXPECT_TRUE(*nic.ecn);
  EXPECT_EQ(*nic.cc_priority_mask, 255);
  EXPECT_EQ(*nic.virtual_functions, 16);
  EXPECT_EQ(*nic.link_type, "Ethernet");
  EXPECT_TRUE(nic.global_pause.known() && !*nic.global_pause);
  EXPECT_EQ(*nic.mtu, 4200);
  EXPECT_EQ(nic.interfaces, (std::vector<std::string>{"ens1np0", "mlx5_0", "0000:1a:00.0"}));
  EXPECT_EQ(r.diagnostics.sorted().size(), 0U);
}

TEST(NicScript, PauseInEitherDirectionCountsAsOn) {
  EXPECT_TRUE(*read("a.sh", "ethtool -A ens1 rx off tx on\n").set.nics.at(0).global_pause);
  EXPECT_TRUE(*read("a.sh", "ethtool -A ens1 rx on tx off\n").set.nics.at(0).global_pause);
  EXPECT_EQ(read("a.sh", "cma_roce_tos -d mlx5_0 -t 300\n").diagnostics.warning_count(), 1U);
  EXPECT_EQ(*read("a.sh", "echo 106 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class\n").set.nics.at(0).tos, 106);
  EXPECT_EQ(*read("a.sh", "echo tclass=106 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class\n").set.nics.at(0).tos,
            106);
}

TEST(Settings, ReadsSlurmWithContinuations) {
  const Read r = read("slurm.conf", R"(# Cluster
ClusterName=pod
SelectType=select/cons_tres SelectTypeParameters=CR_Core_Memory
SlurmctldParameters=cloud_dns,\
idle_on_node_suspend
NodeName=train[001-016] Gres=gpu:h100:8 \
  CPUs=128 State=UNKNOWN
PartitionName=train Nodes=train[001-016] Default=YES  # the only one
nonsense
)");
  EXPECT_EQ(entries(r),
            "2 clustername=pod\n3 selecttype=select/cons_tres\n3 selecttypeparameters=CR_Core_Memory\n"
            "4 slurmctldparameters=cloud_dns,idle_on_node_suspend\n"
            "6 nodename=train[001-016] Gres=gpu:h100:8   CPUs=128 State=UNKNOWN\n"
            "8 partitionname=train Nodes=train[001-016] Default=YES\n");
  EXPECT_EQ(r.diagnostics.warning_count(), 1U);
  EXPECT_EQ(r.set.settings.at(0).find("selecttype")->value, "select/cons_tres");
  EXPECT_EQ(r.set.settings[0].find("absent"), nullptr);
}

TEST(Settings, ReadsGresAndCgroup) {
  EXPECT_EQ(entries(read("gres.conf", "AutoDetect=nvml\nNodeName=n1 Name=gpu File=/dev/nvidia0\n")),
            "1 autodetect=nvml\n2 nodename=n1 Name=gpu File=/dev/nvidia0\n");
  EXPECT_EQ(entries(read("cgroup.conf", "ConstrainDevices=yes\n")), "1 constraindevices=yes\n");
}

TEST(Settings, ReadsKernelSettings) {
  EXPECT_EQ(entries(read("99.conf", "; old\n-net.ipv4.ip_forward = 0\nnet/ipv4/conf/all/rp_filter=2\n")),
            "2 net.ipv4.ip_forward=0\n3 net.ipv4.conf.all.rp_filter=2\n");
}

TEST(Settings, ReadsExportsByClient) {
  EXPECT_EQ(
      entries(read("exports",
                   "/srv/a 10.70.0.0/24(ro,sec=krb5p) *(rw)\n/srv/b -sec=krb5p,ro h1 h2(rw)\n"
                   "\"/srv/c d\" h3(ro)\n")),
      "1 /srv/a=10.70.0.0/24(ro,sec=krb5p)\n1 /srv/a=*(rw)\n2 /srv/b=h1(sec=krb5p,ro)\n2 /srv/b=h2(sec=krb5p,ro,rw)\n"
      "3 /srv/c d=h3(ro)\n");
}

TEST(Settings, ReadsMountsInBothForms) {
  EXPECT_EQ(entries(read("fstab", "s:/data /data nfs4 ro,sec=krb5p 0 0\nUUID=1 / ext4 defaults 0 1\n")),
            "1 /data=s:/data nfs4 ro,sec=krb5p\n2 /=UUID=1 ext4 defaults\n");
  EXPECT_EQ(entries(read("mounts", "s:/data on /data type nfs4 (rw,vers=4.2)\n")),
            "1 /data=s:/data nfs4 rw,vers=4.2\n");
}

TEST(Settings, ReadsNvmeConnections) {
  EXPECT_EQ(entries(read("connect.sh",
                         "#!/bin/sh\nnvme connect -t tcp -a 10.70.48.2 -s 4420 -n nqn.x --tls\n"
                         "/usr/sbin/nvme connect --transport=rdma --traddr=10.71.48.2 -n nqn.x\n")),
            "2 10.70.48.2=connect -t tcp -a 10.70.48.2 -s 4420 -n nqn.x --tls\n"
            "3 10.71.48.2=connect --transport=rdma --traddr=10.71.48.2 -n nqn.x\n");
  EXPECT_EQ(entries(read("discovery.conf", "--transport=tcp --traddr=10.70.48.2 --trsvcid=8009\n")),
            "1 10.70.48.2=--transport=tcp --traddr=10.70.48.2 --trsvcid=8009\n");
}

}  // namespace
}  // namespace weft::config
