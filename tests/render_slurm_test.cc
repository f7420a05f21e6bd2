// The rendered Slurm configuration in the real slurmctld: whether it starts, and whether its nodes, partitions,
// topology and accounts match the cluster file and the cabling.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/test_prerequisites.h"
#include "mariadb.h"
#include "slurm_lab.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_rendered::load_example;
using testing_rendered::load_rendering;
using testing_rendered::Rendering;
using testing_slurm::lines_of;
using testing_slurm::overlaid;
using testing_slurm::Overrides;
using testing_slurm::SlurmLab;
using testing_slurm::value_of;
using testing_slurm::with_places;

// Servers by the set of backend switches of one tier above their leaves; derived from the cabling only.
using Hosts = std::set<std::string>;

Hosts neighbors(const model::Cluster& cluster, model::DeviceId device, model::CableRole role, bool up) {
  Hosts out;
  for (const model::PortId id : cluster.ports_of(device)) {
    const model::Cable& cable = cluster.cable(cluster.cable_of(id));
    if (cable.role != role || cable.fabric != model::FabricKind::backend) continue;
    const model::PortId other = cluster.peer_of(id);
    if ((cable.b == other) == up) out.insert(cluster.name_of(cluster.port(other).device));
  }
  return out;
}

std::set<Hosts> server_groups(const model::Cluster& cluster, const std::string& prefix) {
  std::map<Hosts, Hosts> by_leaves;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    if (cluster.group_of(id).kind != model::DeviceKind::server || !cluster.name_of(id).starts_with(prefix)) continue;
    const Hosts leaves = neighbors(cluster, id, model::CableRole::host_leaf, true);
    if (!leaves.empty()) by_leaves[leaves].insert(cluster.name_of(id));
  }
  std::set<Hosts> out;
  for (const auto& [leaves, hosts] : by_leaves) out.insert(hosts);
  return out;
}

struct Topology {
  std::set<Hosts> leaves;            // level 0
  std::map<int, int> count;          // switches by level
  std::map<std::string, Hosts> all;  // nodes below each switch
};

Topology read_topology(const std::string& text) {
  Topology out;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with("SwitchName=")) continue;
    const int level = std::stoi(value_of(line, "Level"));
    const auto names = expand_hosts(value_of(line, "Nodes"));
    EXPECT_TRUE(names.ok()) << line;
    const auto list = names.value_or(std::vector<std::string>());
    const Hosts hosts(list.begin(), list.end());
    ++out.count[level];
    out.all[value_of(line, "SwitchName")] = hosts;
    if (level == 0) out.leaves.insert(hosts);
  }
  return out;
}

// A cluster without tenants in slurmctld, with its nodes powered down as cloud nodes that need no slurmd.
struct Asleep {
  std::unique_ptr<SlurmLab> slurm;
  std::string failure;
};

Asleep start_asleep(const std::string& name, Rendering& rendering) {
  Asleep out{std::make_unique<SlurmLab>(name), {}};
  rendering.render("slurm");
  SlurmLab& slurm = *out.slurm;
  slurm.install(rendering.sink);
  const std::string keys = slurm.file("keys");
  const Outcome made = slurm.run({"env", "WEFT_ROOT=" + keys, "sh", slurm.file("slurm/make-keys")});
  // make-keys was moved with the rest of /etc/slurm; MUNGE's key is at the path it uses.
  if (made.code != 0 || !slurm.start_munge(keys + "/etc/munge/munge.key"))
    out.failure = made.out + slurm.log("munged.log");
  Overrides overrides = slurm.site();
  overrides["AuthAltParameters"] = "AuthAltParameters=jwt_key=" + slurm.file("jwt.key");
  slurm.put("jwt.key", std::string(32, 'k'), 0600);
  std::set<std::string> unused;
  std::string conf = overlaid(rendering.sink.content("slurm/slurm.conf"), overrides, &unused);
  conf = with_places(conf, "CLOUD", slurm.port(SlurmLab::kNodes));
  conf +=
      "PrivateData=cloud\nSuspendTime=1\nSuspendProgram=/bin/true\nResumeProgram=/bin/true\nResumeTimeout=36000\n"
      "SuspendTimeout=1\nSuspendRate=0\nResumeRate=0\n";
  slurm.put("slurm/slurm.conf", conf);
  for (const char* optional : {"JobContainerType"}) unused.erase(optional);
  if (!unused.empty()) out.failure += "not in slurm.conf: " + *unused.begin();
  if (out.failure.empty() && !slurm.start_controller()) out.failure = "no slurmctld: " + slurm.log("slurmctld.log");
  return out;
}

// Errors of slurmctld, except for those due to missing features of this machine: mail, PMIx, cgroups.
std::string complaints(const SlurmLab& slurm) {
  std::string out;
  for (const std::string& line : lines_of(slurm.log("slurmctld.log"))) {
    if (line.find("error:") == std::string::npos && line.find("warning") == std::string::npos) continue;
    const auto names = [&](const char* what) { return line.find(what) != std::string::npos; };
    if (names("MailProg") || names("pmix") || names("mpi/") || names("pam_slurm_adopt")) continue;
    if (names("state file") || names("Trying backup")) continue;  // the first start
    out += line + "\n";
  }
  return out;
}

TEST(RenderSlurm, OverlayChangesNamedKeysOnly) {
  const auto rendering = load_example("pod16.yaml");
  rendering->render("slurm");
  const std::string conf = rendering->sink.content("slurm/slurm.conf");
  const SlurmLab slurm("overlay");
  const Overrides site = slurm.site();
  const auto after = lines_of(overlaid(conf, site, nullptr));
  const std::set<std::string> kept(after.begin(), after.end());
  std::size_t changed = 0;
  for (const std::string& line : lines_of(conf)) {
    if (kept.count(line) > 0) continue;
    EXPECT_EQ(site.count(line.substr(0, line.find('='))), 1U) << line;
    ++changed;
  }
  EXPECT_GT(changed, 10U);
  EXPECT_GT(after.size(), 50U) << "most of the file is tested as it is";
}

TEST(RenderSlurm, SuperpodOf127StartsAndHasItsUnits) {
  for (const char* program : SlurmLab::kPrograms) WEFT_NEEDS_PROGRAM(program);
  const auto rendering =
      load_example("superpod-h100-4su.yaml", {{"\nfabrics:", "\ncontrol_plane: {kind: slurm, pool: bcm}\n\nfabrics:"}});
  ASSERT_NE(rendering, nullptr);
  Asleep lab = start_asleep("slurm127", *rendering);
  ASSERT_EQ(lab.failure, "");
  SlurmLab& slurm = *lab.slurm;

  const Topology topology = read_topology(slurm.run({"scontrol", "show", "topology"}).out);
  EXPECT_EQ(topology.leaves, server_groups(rendering->cluster(), "dgx"));
  EXPECT_EQ(topology.leaves.size(), 4U) << "four scalable units";
  EXPECT_EQ(topology.count.at(1), 1) << "one layer of spines joins them";
  EXPECT_EQ(topology.all.at("be-spines").size(), 127U);

  const std::string nodes = slurm.run({"sinfo", "-h", "-N", "-o", "%N %c %G %z"}).out;
  EXPECT_EQ(lines_of(nodes).size(), 127U);
  for (const std::string& line : lines_of(nodes)) {
    // NVIDIA DGX H100 user guide: two sockets of 56 cores, eight GPUs.
    EXPECT_NE(line.find(" 112 gpu:h100:8"), std::string::npos) << line;
    EXPECT_NE(line.find("2:56:1"), std::string::npos) << line;
  }
  const Outcome placed =
      slurm.run({"sbatch", "--test-only", "-N32", "--gpus-per-node=h100:8", "--switches=1", "--wrap=true"});
  EXPECT_EQ(placed.code, 0) << placed.out;
  const Outcome too_many = slurm.run({"sbatch", "--test-only", "-N1", "--gpus-per-node=h100:9", "--wrap=true"});
  EXPECT_NE(too_many.code, 0) << too_many.out;
  EXPECT_EQ(complaints(slurm), "");
}

// Three tiers, 16,384 GPUs.
constexpr const char* kLarge = R"(weft: 1
name: large
pools:
  - {name: gpu, role: training, server: hgx-h100, count: 2048, unit: 32, per_rack: 2}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
site: {pdu: pdu-35kw, pdus_per_rack: 3, switches: row}
fabrics:
  backend: {leaf: sn5600, speed: 400G, wiring: rail-optimized, oversubscription: 1:1, tiers: 3}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c, subnets: [10.20.64.0/18]}
control_plane: {kind: slurm, pool: infra}
partitions:
  - {name: train, pools: [gpu], time_limit: 3d}
)";

TEST(RenderSlurm, TwoThousandNodesInThreeTiers) {
  for (const char* program : SlurmLab::kPrograms) WEFT_NEEDS_PROGRAM(program);
  const auto rendering = load_rendering(kLarge);
  ASSERT_NE(rendering, nullptr);
  const model::Cluster& cluster = rendering->cluster();
  ASSERT_EQ(cluster.fabric(model::FabricKind::backend).tiers, 3);
  Asleep lab = start_asleep("slurm2048", *rendering);
  ASSERT_EQ(lab.failure, "");
  SlurmLab& slurm = *lab.slurm;
  const Topology topology = read_topology(slurm.run({"scontrol", "show", "topology"}).out);
  EXPECT_EQ(topology.leaves, server_groups(cluster, "gpu"));
  EXPECT_EQ(topology.leaves.size(), 64U) << "2048 servers in units of 32";

  // Units are in one pod exactly when their leaves reach the same spines.
  std::map<Hosts, Hosts> by_spines;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    if (cluster.group_of(id).kind != model::DeviceKind::server || !cluster.name_of(id).starts_with("gpu")) continue;
    Hosts spines;
    for (const std::string& leaf : neighbors(cluster, id, model::CableRole::host_leaf, true)) {
      spines.merge(neighbors(cluster, cluster.find_device(leaf), model::CableRole::leaf_spine, true));
    }
    by_spines[spines].insert(cluster.name_of(id));
  }
  std::set<Hosts> pods;
  for (const auto& [spines, hosts] : by_spines) pods.insert(hosts);
  std::set<Hosts> seen;
  for (const auto& [name, hosts] : topology.all) {
    if (name.starts_with("be-pod")) seen.insert(hosts);
  }
  EXPECT_EQ(seen, pods);
  EXPECT_GT(pods.size(), 1U);
  EXPECT_EQ(topology.all.at("be-cores").size(), 2048U);
  const std::string partition = slurm.run({"scontrol", "show", "partition", "train", "-o"}).out;
  EXPECT_EQ(value_of(partition, "TotalNodes"), "2048");
  EXPECT_EQ(value_of(partition, "MaxTime"), "3-00:00:00");
  EXPECT_EQ(slurm.run({"sbatch", "--test-only", "-N1000", "--gpus-per-node=8", "--wrap=true"}).code, 0);
}

// ---- pod16 with accounts, a database and a few slurmds ----

class Pod16 {
 public:
  static constexpr int kSlurmds = 4;  // of sixteen: sufficient for the job
  Pod16() : slurm("slurm16"), rendering(load_example("pod16.yaml")) {}

  // "" when all daemons are up. make_gpus() comes first.
  std::string start() {
    rendering->add_job(
        "job: 1\nname: toy\ntenant: team-alpha\nnodes: 4\nmin_nodes: 2\ncommand: [train.py, \"it's $HOME\"]\n"
        "resume: /checkpoints/latest\ntime_limit: 1h\nmounts: []\nenvironment: {TOY: \"a b\"}\n");
    rendering->render("slurm");
    slurm.install(rendering->sink);
    const Outcome made =
        slurm.run({"env", "WEFT_ROOT=" + slurm.file("keys"), "sh", "-c", "umask 0; exec sh slurm/make-keys"});
    if (made.code != 0) return made.out;
    if (!slurm.start_munge(slurm.file("keys/etc/munge/munge.key"))) return "munged: " + slurm.log("munged.log");
    const std::string database = start_database();
    if (!database.empty()) return database;
    slurm.put("users", "team-alpha root\nteam-beta nobody\n");
    const Outcome early = accounts();
    if (early.code != 2 || early.out.find("start slurmctld") == std::string::npos) return "accounts: " + early.out;
    write_conf();
    fake_tools(8);
    if (!slurm.start_controller()) return "slurmctld: " + slurm.log("slurmctld.log");
    const Outcome late = accounts();  // everything but the quotas exists already
    if (late.code != 0) return "accounts: " + late.out;
    for (int i = 1; i <= kSlurmds; ++i) {
      char name[16];
      std::snprintf(name, sizeof name, "train%03d", i);
      slurm.lab.start({"slurmd", "-D", "-N", name, "-f", slurm.file("slurm/slurm.conf")});
    }
    const bool idle = Lab::wait(30, [&] {
      return lines_of(slurm.run({"sinfo", "-h", "-N", "-p", "train", "-t", "idle", "-o", "%N"}).out).size() == kSlurmds;
    });
    return idle ? "" : "nodes: " + slurm.run({"sinfo", "-N", "-l"}).out + slurm.log("slurmd-train001.log");
  }

  Outcome accounts() { return slurm.run({"sh", slurm.file("slurm/accounts"), slurm.file("users")}, 30); }

  // Output of nvidia-smi and the kernel for a healthy node with this many GPUs.
  void fake_tools(int gpus) {
    std::string list = "#!/bin/sh\n";
    for (int i = 0; i < gpus; ++i) list += "echo " + std::to_string(i) + ", 0\n";
    slurm.put("bin/nvidia-smi", list, 0755);
    for (int i = 1; i <= 8; ++i) slurm.put("sys/class/net/be" + std::to_string(i) + "/operstate", "up\n");
    slurm.put("slurm/node.facts", rendering->sink.content("slurm/pools/train.facts"));
    slurm.put("slurm/pool.env", rendering->sink.content("slurm/pools/train.env"));
  }

  SlurmLab slurm;
  std::unique_ptr<Rendering> rendering;

 private:
  std::string start_database() {
    const std::string failure = testing_lab::start_mariadb(slurm.lab, slurm.port(SlurmLab::kDatabase));
    if (!failure.empty()) return failure;
    const std::string d = slurm.lab.folder().string();
    const Overrides overrides = {
        {"AuthType", "AuthType=auth/munge\nAuthInfo=socket=" + d + "/run/munge.socket"},
        {"AuthAltParameters", "AuthAltParameters=jwt_key=" + d + "/keys" + d + "/slurm/jwt_hs256.key"},
        {"DbdHost", "DbdHost=localhost"},
        {"DbdBackupHost", ""},
        {"DbdPort", "DbdPort=" + std::to_string(slurm.port(SlurmLab::kDatabaseDaemon))},
        {"SlurmUser", "SlurmUser=root"},
        {"LogFile", "LogFile=" + d + "/log/slurmdbd.log"},
        {"PidFile", "PidFile=" + d + "/run/slurmdbd.pid"},
        {"StorageHost", "StorageHost=127.0.0.1\nStoragePort=" + std::to_string(slurm.port(SlurmLab::kDatabase))},
        {"StorageUser", "StorageUser=root"},
        {"Include", "Include " + d + "/keys" + d + "/slurm/slurmdbd.secret"}};
    std::set<std::string> unused;
    const std::string conf = overlaid(rendering->sink.content("slurm/slurmdbd.conf"), overrides, &unused);
    EXPECT_TRUE(unused.empty()) << *unused.begin();
    slurm.put("slurm/slurmdbd.conf", conf, 0600);
    slurm.lab.start({"env", "SLURM_CONF=" + slurm.file("slurm/slurmdbd.conf"), "slurmdbd", "-D"});
    // sacctmgr contacts slurmdbd through slurm.conf.
    write_conf();
    const bool up = Lab::wait(300, [&] { return slurm.run({"sacctmgr", "-n", "list", "cluster"}).code == 0; });
    return up ? "" : "slurmdbd: " + slurm.log("slurmdbd.log");
  }

  void write_conf() {
    const std::string d = slurm.lab.folder().string();
    Overrides overrides = slurm.site();
    overrides["AuthAltParameters"] = "AuthAltParameters=jwt_key=" + d + "/keys" + d + "/slurm/jwt_hs256.key";
    overrides["AccountingStorageHost"] = "AccountingStorageHost=127.0.0.1";
    overrides["AccountingStorageBackupHost"] = "";
    overrides["AccountingStoragePort"] =
        "AccountingStoragePort=" + std::to_string(slurm.port(SlurmLab::kDatabaseDaemon)) +
        "\nAccountingStoragePass=" + d + "/run/munge.socket";
    std::set<std::string> unused;
    std::string conf = overlaid(rendering->sink.content("slurm/slurm.conf"), overrides, &unused);
    EXPECT_TRUE(unused.empty()) << *unused.begin();
    conf = with_places(conf, "UNKNOWN", slurm.port(SlurmLab::kNodes));
    conf += "SlurmdParameters=config_overrides\n";
    slurm.put("slurm/slurm.conf", conf);
  }
};

void check_keys(Pod16& pod) {
  const auto mode = [&](const std::string& name) {
    struct stat info {};
    EXPECT_EQ(::stat(name.c_str(), &info), 0) << name;
    return info.st_mode & 0777U;
  };
  const std::string keys = pod.slurm.file("keys");
  const std::string slurm = keys + pod.slurm.lab.folder().string() + "/slurm/";
  EXPECT_EQ(mode(keys + "/etc/munge/munge.key"), 0400U);
  EXPECT_EQ(mode(slurm + "jwt_hs256.key"), 0600U);
  EXPECT_EQ(mode(slurm + "slurmdbd.secret"), 0600U);
  EXPECT_EQ(std::filesystem::file_size(keys + "/etc/munge/munge.key"), 1024U);
}

void check_accounts(Pod16& pod) {
  const std::string qos =
      pod.slurm.run({"sacctmgr", "-nP", "show", "qos", "format=name,priority,preempt,gracetime"}).out;
  // Priorities of the file; the time for a checkpoint.
  EXPECT_NE(qos.find("inference-critical|1000000|batch-low,training-high|00:01:30"), std::string::npos) << qos;
  EXPECT_NE(qos.find("training-high|500000|batch-low|00:01:30"), std::string::npos) << qos;
  EXPECT_NE(qos.find("batch-low|100000||00:01:30"), std::string::npos) << qos;
  const std::string accounts = pod.slurm
                                   .run({"sacctmgr", "-nP", "show", "assoc", "where", "account=team-alpha,team-beta",
                                         "user=", "format=account,grptres,qos,defaultqos"})
                                   .out;
  EXPECT_NE(accounts.find("gres/gpu=96"), std::string::npos) << accounts;
  EXPECT_NE(accounts.find("cpu=2048"), std::string::npos) << accounts;
  EXPECT_NE(accounts.find("gres/gpu:1g.10gb=56"), std::string::npos) << accounts;
  EXPECT_NE(accounts.find("|batch-low,training-high|training-high"), std::string::npos) << accounts;
}

void check_nodes_and_partitions(Pod16& pod) {
  SlurmLab& slurm = pod.slurm;
  const std::string node = slurm.run({"scontrol", "show", "node", "train003", "-o"}).out;
  EXPECT_EQ(value_of(node, "CPUTot"), "112");
  EXPECT_EQ(value_of(node, "Sockets"), "2");
  EXPECT_TRUE(value_of(node, "Gres").starts_with("gpu:h100:8")) << node;
  EXPECT_EQ(value_of(node, "AvailableFeatures"), "train,h100,nvme,rail8");
  EXPECT_LT(std::stoll(value_of(node, "RealMemory")), 2'000'000'000'000LL >> 20) << "2 TB, less what the system takes";
  EXPECT_GT(std::stoll(value_of(slurm.run({"scontrol", "show", "node", "train016", "-o"}).out, "Weight")),
            std::stoll(value_of(node, "Weight")))
      << "the spare comes last";
  const std::string partition = slurm.run({"scontrol", "show", "partition", "train", "-o"}).out;
  EXPECT_EQ(value_of(partition, "Nodes"), "train[001-016]");
  EXPECT_EQ(value_of(partition, "MaxTime"), "7-00:00:00");
  EXPECT_EQ(value_of(partition, "MaxNodes"), "15");
  EXPECT_EQ(value_of(partition, "AllowAccounts"), "root,team-alpha");
  EXPECT_EQ(value_of(partition, "Default"), "YES");
  const std::string serve = slurm.run({"scontrol", "show", "partition", "serve", "-o"}).out;
  EXPECT_GT(std::stoi(value_of(serve, "PriorityTier")), std::stoi(value_of(partition, "PriorityTier")));
  const Topology topology = read_topology(slurm.run({"scontrol", "show", "topology"}).out);
  std::set<Hosts> expected = server_groups(pod.rendering->cluster(), "train");
  expected.insert({"infer001", "infer002", "infer003", "infer004"});
  EXPECT_EQ(topology.leaves, expected);
  EXPECT_EQ(topology.count.size(), 1U) << "nothing joins the backend's unit and servers without a backend";
}

void check_tasks(Pod16& pod) {
  const Outcome two =
      pod.slurm.run({"srun", "-A", "team-alpha", "-N2", "--ntasks-per-node=1", "--gpus-per-node=h100:4", "sh", "-c",
                     "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $NCCL_IB_TC $NCCL_DEBUG"});
  EXPECT_EQ(two.code, 0) << two.out;
  // DSCP 26 of the file, shifted past the ECN bits, with ECT(0): RFC 3168.
  EXPECT_NE(two.out.find("train001 0,1,2,3 106 WARN"), std::string::npos) << two.out;
  const Outcome own =
      pod.slurm.run({"env", "NCCL_DEBUG=INFO", "srun", "-A", "team-alpha", "-N1", "sh", "-c", "echo =$NCCL_DEBUG="});
  EXPECT_NE(own.out.find("=INFO="), std::string::npos) << "what a job sets itself stays: " << own.out;
  const Outcome refused = pod.slurm.run({"srun", "-A", "team-alpha", "-p", "serve", "-N1", "true"});
  EXPECT_NE(refused.code, 0) << "the partition is another tenant's";
}

std::string job_field(SlurmLab& slurm, const std::string& job, const std::string& key) {
  return value_of(slurm.run({"scontrol", "show", "job", job, "-o"}).out, key);
}

// The rendered batch script, with a torchrun mock that reports its arguments and saves when it is stopped.
void check_batch(Pod16& pod) {
  SlurmLab& slurm = pod.slurm;
  slurm.put("bin/torchrun",
            "#!/bin/sh\nout=" + slurm.file("torchrun.$SLURM_NODEID.$SLURM_RESTART_COUNT") +
                "\nprintf '%s\\n' \"$@\" \"TOY=$TOY\" >$out\n"
                "trap 'echo saved >>$out; exit 1' TERM\nwhile :; do sleep 0.1; done\n",
            0755);
  const std::string script = slurm.file("slurm/toy.sbatch");
  const Outcome tested = slurm.run({"sbatch", "--test-only", script});
  EXPECT_EQ(tested.code, 0) << tested.out;
  // A node that still completes an earlier job would leave the elastic job with fewer nodes.
  const auto all_idle = [&] {
    const Outcome idle = slurm.run({"sinfo", "-h", "-N", "-p", "train", "-t", "idle", "-o", "%N"});
    return lines_of(idle.out).size() == Pod16::kSlurmds;
  };
  ASSERT_TRUE(Lab::wait(120, all_idle)) << slurm.run({"sinfo", "-N", "-l"}).out;
  const Outcome sent = slurm.run({"sbatch", "--parsable", script});
  ASSERT_EQ(sent.code, 0) << sent.out;
  const std::string job = lines_of(sent.out).front();
  const std::string output = slurm.file("toy-" + job + ".log");
  const auto told = [&](int node) { return Lab::contents(slurm.file("torchrun." + std::to_string(node) + ".")); };
  const auto all_started = [&] {
    for (int node = 0; node < 4; ++node) {
      if (told(node).find("TOY=") == std::string::npos) return false;
    }
    return true;
  };
  ASSERT_TRUE(Lab::wait(120, all_started)) << slurm.run({"scontrol", "show", "job", job}).out << Lab::contents(output);
  const std::string id = "--rdzv_id=" + job;
  const std::string port = std::to_string(29500 + std::stoi(job) % 1000);
  EXPECT_EQ(told(0), "--nnodes=2:4\n--nproc_per_node=8\n--max_restarts=3\n--rdzv_backend=c10d\n" + id +
                         "\n--rdzv_endpoint=train001:" + port +
                         "\ntrain.py\nit's $HOME\n--resume_from_checkpoint\n/checkpoints/latest\nTOY=a b\n");
  EXPECT_EQ(job_field(slurm, job, "NumNodes"), "4");
  EXPECT_EQ(job_field(slurm, job, "QOS"), "training-high");
  // The time limit is reached: the ranks save and the job is requeued.
  ASSERT_EQ(slurm.run({"scancel", "--batch", "--signal=USR1", job}).code, 0);
  EXPECT_TRUE(Lab::wait(120, [&] { return job_field(slurm, job, "Restarts") == "1"; }))
      << slurm.run({"scontrol", "show", "job", job}).out << Lab::contents(output);
  EXPECT_NE(told(3).find("saved"), std::string::npos) << told(3) << Lab::contents(output);
  slurm.run({"scancel", job});
}

void check_health(Pod16& pod) {
  SlurmLab& slurm = pod.slurm;
  const auto check = [&] {
    return slurm.run({"env", "SLURMD_NODENAME=train004", "sh", slurm.file("slurm/health-check")}).code;
  };
  const auto state = [&] { return value_of(slurm.run({"scontrol", "show", "node", "train004", "-o"}).out, "State"); };
  EXPECT_EQ(check(), 0);
  EXPECT_EQ(state().find("DRAIN"), std::string::npos);
  pod.fake_tools(7);
  EXPECT_NE(check(), 0);
  EXPECT_NE(state().find("DRAIN"), std::string::npos) << state();
  pod.fake_tools(8);
  slurm.put("sys/class/net/be4/operstate", "down\n");
  EXPECT_NE(check(), 0) << "a rail is down";
}

TEST(RenderSlurm, Pod16RunsItsBatchScript) {
  for (const char* program : SlurmLab::kPrograms) WEFT_NEEDS_PROGRAM(program);
  for (const char* program : {"mariadbd", "mariadb-install-db", "slurmdbd"}) {
    WEFT_NEEDS_PROGRAM(program);
  }
  WEFT_NEEDS_ROOT();  // daemons change users
  Pod16 pod;
  ASSERT_NE(pod.rendering, nullptr);
  WEFT_NEEDS(pod.slurm.make_gpus(8), "device files");
  ASSERT_EQ(pod.start(), "");
  check_keys(pod);
  check_accounts(pod);
  check_nodes_and_partitions(pod);
  check_tasks(pod);
  check_batch(pod);
  check_health(pod);
}

}  // namespace
}  // namespace weft
