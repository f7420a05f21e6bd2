// The lease gate of a node against real Slurm: the Prolog that weft prints asks the gate, so a job that an
// administrator submits to a node of another engine does not start there. slurmctld, munged and one slurmd per node run
// on this machine; files stand for the GPUs.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/process.h"
#include "base/random.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "lab.h"
#include "ports.h"
#include "program.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_lab::Lab;
using testing_program::contents;

constexpr int kNodes = 2;

constexpr const char* kConf = R"(ClusterName=gates
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=@PORT@
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=@DIR@/run/munge.socket
StateSaveLocation=@DIR@/slurm-state
SlurmdSpoolDir=@DIR@/spool/%n
SlurmctldPidFile=@DIR@/run/slurmctld.pid
SlurmdPidFile=@DIR@/run/slurmd-%n.pid
SlurmctldLogFile=@DIR@/log/slurmctld.log
SlurmdLogFile=@DIR@/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=nohold_on_prolog_fail
MessageTimeout=10
KillWait=2
Prolog=@DIR@/prolog
Epilog=@DIR@/epilog
PrologFlags=Alloc
NodeName=DEFAULT CPUs=4 State=UNKNOWN
NodeName=train[001-002] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[@FIRST@-@LAST@]
PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=10 State=UP
)";

class LeaseGateOfSlurm : public ::testing::Test {
 protected:
  void SetUp() override {
    WEFT_NEEDS_ROOT();
    for (const char* program : {"slurmctld", "slurmd", "munged", "sbatch"}) WEFT_NEEDS_PROGRAM(program);
    lab_ = std::make_unique<Lab>("lease_gate");
    for (const char* folder : {"slurm-state", "run", "log", "spool", "dev", "gates"})
      fs::create_directories(file(folder));
    const int port = testing_lab::find_ports(kNodes + 1);
    std::string conf = replace_all(kConf, "@DIR@", lab_->folder().string());
    conf = replace_all(conf, "@PORT@", std::to_string(port));
    conf = replace_all(conf, "@FIRST@", std::to_string(port + 1));
    conf = replace_all(conf, "@LAST@", std::to_string(port + kNodes));
    lab_->put("slurm.conf", conf);
    for (int i = 1; i <= kNodes; ++i) lab_->put("dev/" + name(i) + ".gpu0", "stand-in\n");
    for (const char* script : {"prolog", "epilog"}) put_script(script);
    lab_->variable("SLURM_CONF", file("slurm.conf"));
    lab_->variable("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    start_slurm();
  }
  void TearDown() override {
    if (lab_ == nullptr) return;
    if (HasFailure()) std::cerr << contents(file("log/slurmctld.log")) << contents(file("log/slurmd-train002.log"));
    (void)lab_->run({"scancel", "-u", "root"});
    (void)Lab::wait(30, [&] { return trim(lab_->run({"squeue", "-h", "-t", "running,completing"}).out).empty(); });
    for (const pid_t pid : daemons_) ::kill(pid, SIGKILL);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return (lab_->folder() / name).string(); }
  static std::string name(int node) { return "train00" + std::to_string(node); }

  // What an operator installs, with a gate for each of the nodes on this machine.
  void put_script(const std::string& script) {
    const ProcessOutcome text = weft({"gate", "script", script}, 1);
    ASSERT_EQ(text.code, 0) << text.err;
    lab_->put(script + ".sh", text.out);
    lab_->put(script, "#!/bin/sh\nexport WEFT_GATE=" + file("gates") + "/$SLURMD_NODENAME SLURM_CONF=" +
                          file("slurm.conf") + "\nPATH=" + fs::path(weft_binary()).parent_path().string() +
                          ":/usr/sbin:/usr/bin:/sbin:/bin\nexport PATH\nexec sh " + file(script + ".sh") + "\n");
    ::chmod(file(script).c_str(), 0755);
  }

  void start_slurm() {
    std::string key;
    RandomStream random(static_cast<std::uint64_t>(::getpid()), "munge key");
    for (int i = 0; i < 128; ++i) key += static_cast<char>('a' + static_cast<int>(random.below(26)));
    lab_->put("munge.key", key);
    ::chmod(file("munge.key").c_str(), 0400);
    lab_->start({"munged", "-F", "--force", "--key-file=" + file("munge.key"), "--socket=" + file("run/munge.socket"),
                 "--pid-file=" + file("run/munged.pid"), "--log-file=" + file("log/munged.log"),
                 "--seed-file=" + file("run/munged.seed"), "--num-threads=2"});
    ASSERT_TRUE(Lab::wait(10, [&] { return fs::exists(file("run/munge.socket")); }));
    daemons_.push_back(lab_->start({"slurmctld", "-D", "-f", file("slurm.conf")}));
    for (int i = 1; i <= kNodes; ++i)
      daemons_.push_back(lab_->start({"slurmd", "-D", "-N", name(i), "-f", file("slurm.conf")}));
    ASSERT_TRUE(Lab::wait(60, [&] {
      return split_at_spaces(lab_->run({"sinfo", "-h", "-N", "-t", "idle", "-o", "%N"}).out).size() == kNodes;
    })) << contents(file("log/slurmctld.log"));
  }

  ProcessOutcome weft(std::vector<std::string> words, int node) const {
    words.insert(words.begin(), weft_binary());
    ProcessRequest request;
    request.words = std::move(words);
    request.limit = milliseconds(600'000);
    request.environment = {{"WEFT_GATE", file("gates/" + name(node))}};
    const Result<ProcessOutcome> outcome = run_process(request);
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome.ok() ? *outcome : ProcessOutcome{-1, "", ""};
  }
  json status(int node) const {
    const ProcessOutcome outcome =
        weft({"gate", "status", "--device", file("dev/" + name(node) + ".gpu*"), "-o", "json"}, node);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  void order(const std::string& verb, const std::string& engine, int epoch, int node) const {
    const std::string boot = status(node)["gate"]["boot"];
    const ProcessOutcome outcome = weft({"gate", verb, "--owner", engine, "--epoch", std::to_string(epoch), "--boot",
                                         boot, "--device", file("dev/" + name(node) + ".gpu*")},
                                        node);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  // A job that holds the node's GPU until the file `stop` appears, and says that it has run.
  std::string submit(int node, const std::string& label) {
    const std::string text = "#!/bin/sh\nexec 3<" + file("dev/" + name(node) + ".gpu0") + "\ntouch " +
                             file(label + ".ran") + "\nwhile [ ! -e " + file(label + ".stop") +
                             " ]; do sleep 0.1; done\n";
    lab_->put(label + ".sh", text);
    const std::string out =
        lab_->run({"sbatch", "--parsable", "-w", name(node), "-o", file(label + ".out"), file(label + ".sh")}, 30, true)
            .out;
    return std::string(trim(out));
  }
  std::string field(const std::string& what, const std::string& object, const std::string& key) {
    const std::string out = lab_->run({"scontrol", "-o", "show", what, object}, 30, true).out;
    const std::size_t at = out.find(key + "=");
    return at == std::string::npos ? "" : out.substr(at + key.size() + 1, out.find_first_of("\n", at) - at);
  }

  std::unique_ptr<Lab> lab_;
  std::vector<pid_t> daemons_;
};

TEST_F(LeaseGateOfSlurm, JobOnANodeOfAnotherEngineIsStoppedAtTheGate) {
  order("open", "slurm", 1, 1);
  order("open", "kubernetes", 2, 2);
  const std::string allowed = submit(1, "allowed");
  const std::string refused = submit(2, "refused");
  ASSERT_TRUE(Lab::wait(60, [&] { return fs::exists(file("allowed.ran")); }));
  // The witnesses see it: it has passed the gate, its step runs, and a process holds the device.
  const json busy = status(1);
  EXPECT_GE(busy["gate"]["holders"], 1) << busy.dump();
  EXPECT_EQ(busy["engines"][0]["entries"], 1) << busy.dump();
  EXPECT_GE(busy["engines"][0]["steps"], 1) << busy.dump();
  ASSERT_TRUE(Lab::wait(60, [&] { return contains(field("node", "train002", "State"), "DRAIN"); }));
  EXPECT_TRUE(field("node", "train002", "Reason").starts_with("weft lease: not leased to slurm"))
      << field("node", "train002", "Reason");
  ASSERT_TRUE(Lab::wait(60, [&] { return field("job", refused, "JobState").starts_with("PENDING"); }));
  EXPECT_FALSE(fs::exists(file("refused.ran")));
  EXPECT_EQ(status(2)["gate"]["holders"], 0);

  // The node moves to Slurm: the job that waits runs, and is lost in none of it.
  order("close", "kubernetes", 2, 2);
  order("open", "slurm", 3, 2);
  (void)lab_->run({"scontrol", "update", "nodename=train002", "state=resume"});
  (void)lab_->run({"scontrol", "release", refused});
  (void)lab_->run({"scontrol", "update", "jobid=" + refused, "starttime=now"});  // not two minutes after the requeue
  ASSERT_TRUE(Lab::wait(120, [&] { return fs::exists(file("refused.ran")); })) << field("job", refused, "JobState");

  // A close does not end what runs; the entry goes with the job.
  order("close", "slurm", 1, 1);
  EXPECT_EQ(status(1)["engines"][0]["state"], "closed");
  EXPECT_GE(status(1)["gate"]["holders"], 1);
  for (const char* label : {"allowed", "refused"}) lab_->put(std::string(label) + ".stop", "");
  ASSERT_TRUE(Lab::wait(60, [&] { return status(1)["engines"][0]["entries"] == 0; }));
  ASSERT_TRUE(Lab::wait(60, [&] { return status(1)["gate"]["holders"] == 0; }));
  ASSERT_TRUE(Lab::wait(60, [&] { return field("job", allowed, "JobState").starts_with("COMPLETED"); }));
}

}  // namespace
}  // namespace weft
