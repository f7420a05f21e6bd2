// A private Slurm cluster for end-to-end tests: slurmctld, munged and one slurmd per node on this machine, and a `weft
// serve` that uses it. What a test does with them is its own matter.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/process.h"
#include "base/random.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "lab.h"
#include "ports.h"
#include "program.h"

namespace weft::testing_slurm {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_lab::Lab;
using testing_program::contents;

inline constexpr const char* kCluster = R"(weft: 1
name: lab
pools:
  - {name: train, role: training, server: hgx-h100, count: @NODES@, per_rack: 1}
tenants:
  - {name: team-a}
)";

inline constexpr const char* kConf = R"(ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=@PORT@
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=@DIR@/run/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=@DIR@/jwt.key
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
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
DefMemPerCPU=1000
MessageTimeout=20
SlurmdTimeout=300
KillWait=2
NodeName=DEFAULT CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=1000000 Gres=gpu:h100:8 State=UNKNOWN
NodeName=train[001-@NAME@] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[@FIRST@-@LAST@]
PartitionName=main Nodes=ALL Default=YES MaxTime=7-0 DefaultTime=60 State=UP
)";

class SlurmFixture : public ::testing::Test {
 protected:
  explicit SlurmFixture(int nodes = 5) : nodes_(nodes) {}

  static constexpr int kMorePorts = 2;  // for daemons of a derived fixture, after those of the nodes
  [[nodiscard]] int more_port(int index) const { return port_ + nodes_ + 1 + index; }
  // Lines of slurm.conf, and what runs before slurmctld does.
  virtual std::string more_conf() { return {}; }
  virtual void start_before_controller() {}

  static std::string cluster(int nodes) { return replace_all(kCluster, "@NODES@", std::to_string(nodes)); }

  void SetUp() override {
    WEFT_NEEDS_ROOT();
    for (const char* program : {"slurmctld", "slurmd", "munged", "sbatch"}) WEFT_NEEDS_PROGRAM(program);
    lab_ = std::make_unique<Lab>("engine_slurm");
    const std::string d = lab_->folder().string();
    for (const char* folder : {"slurm-state", "run", "log", "spool", "dev", "a", "b"})
      fs::create_directories(file(folder));
    const int port = testing_lab::find_ports(nodes_ + 1 + kMorePorts);
    std::string conf = replace_all(kConf, "@DIR@", d);
    conf = replace_all(conf, "@NAME@", node_name(nodes_ - 1).substr(5));
    conf = replace_all(conf, "@PORT@", std::to_string(port));
    conf = replace_all(conf, "@FIRST@", std::to_string(port + 1));
    conf = replace_all(conf, "@LAST@", std::to_string(port + nodes_));
    port_ = port;
    lab_->put("slurm.conf", conf + more_conf());
    lab_->put("gres.conf", "AutoDetect=off\nName=gpu Type=h100 File=" + d + "/dev/gpu[0-7]\n");
    lab_->put("cluster.yaml", cluster(nodes_));
    for (int i = 0; i < 8; ++i) {
      WEFT_NEEDS(::mknod(file("dev/gpu" + std::to_string(i)).c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0, "mknod");
    }
    lab_->variable("SLURM_CONF", file("slurm.conf"));
    lab_->variable("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    start_slurm();
  }

  void TearDown() override {
    if (lab_ == nullptr) return;
    if (HasFailure()) {
      std::cerr << contents(file("server.log")) << "\n--- slurmctld\n" << contents(file("log/slurmctld.log")) << "\n";
    }
    stop_server(SIGKILL);
    kill_jobs();
    for (const auto& [node, pid] : slurmds_) ::kill(pid, SIGKILL);  // before slurmctld: one that waits for it is slow
    if (controller_ > 0) ::kill(controller_, SIGKILL);
    kill_jobs();
  }

  [[nodiscard]] std::string file(const std::string& name) const { return (lab_->folder() / name).string(); }
  static std::string node_name(int index) { return (index < 9 ? "train00" : "train0") + std::to_string(index + 1); }

  void start_slurm() {
    std::string key;
    RandomStream random(static_cast<std::uint64_t>(::getpid()), "munge key");
    for (int i = 0; i < 128; ++i) key += static_cast<char>('a' + static_cast<int>(random.below(26)));
    lab_->put("munge.key", key);
    ::chmod(file("munge.key").c_str(), 0400);
    lab_->put("jwt.key", key.substr(0, 32));
    ::chmod(file("jwt.key").c_str(), 0600);
    lab_->start({"munged", "-F", "--force", "--key-file=" + file("munge.key"), "--socket=" + file("run/munge.socket"),
                 "--pid-file=" + file("run/munged.pid"), "--log-file=" + file("log/munged.log"),
                 "--seed-file=" + file("run/munged.seed"), "--num-threads=2"});
    ASSERT_TRUE(Lab::wait(300, [&] { return fs::exists(file("run/munge.socket")); }));
    start_before_controller();
    if (HasFatalFailure()) return;
    start_controller();
    for (int i = 0; i < nodes_; ++i) start_slurmd(i);
    ASSERT_TRUE(Lab::wait(300, [&] { return idle_nodes() == nodes_; })) << contents(file("log/slurmctld.log"));
  }

  void start_controller() {
    controller_ = lab_->start({"slurmctld", "-D", "-f", file("slurm.conf")});
    ASSERT_TRUE(Lab::wait(300, [&] {
      return contains(lab_->run({"scontrol", "ping"}).out, "is UP");
    })) << contents(file("log/slurmctld.log"));
  }

  // On a socket in `rest`, as a user without rights.
  pid_t start_slurmrestd() {
    fs::create_directories(file("rest"));
    fs::permissions(file("rest"), fs::perms::all);
    const pid_t pid = lab_->start({"env", "SLURM_JWT=daemon", "setpriv", "--reuid=nobody", "--regid=nogroup",
                                   "--clear-groups", "slurmrestd", "-f", file("slurm.conf"), "-a", "rest_auth/jwt",
                                   "-s", "openapi/v0.0.38", "unix:" + file("rest/sock")});
    EXPECT_TRUE(Lab::wait(300, [&] { return fs::exists(file("rest/sock")); }));
    return pid;
  }

  void start_slurmd(int index) {
    slurmds_[node_name(index)] = lab_->start({"slurmd", "-D", "-N", node_name(index), "-f", file("slurm.conf")});
  }

  // Slurm sets a node without slurmd down after 5 s instead of 300.
  void shorten_slurmd_timeout() {
    lab_->put("slurm.conf", replace_all(contents(file("slurm.conf")), "SlurmdTimeout=300", "SlurmdTimeout=5"));
    slurm({"scontrol", "reconfigure"});
  }

  // A stand-in for Apptainer, which Debian 12 does not have, in the test's folder: notes its arguments in `calls` and
  // runs the program without a container.
  void put_apptainer() {
    lab_->put("apptainer", "#!/bin/sh\nprintf '%s\\n' \"$*\" >>" + file("calls") +
                               "\nwhile [ $# -gt 0 ]; do\n  case $1 in\n    exec | --nv) shift ;;\n"
                               "    --bind | --pwd) shift 2 ;;\n    *) shift; exec \"$@\" ;;\n  esac\ndone\nexit 2\n");
    ::chmod(file("apptainer").c_str(), 0755);
  }

  void kill_process(pid_t pid) {
    ::kill(pid, SIGKILL);
    while (lab_->alive(pid)) pause();
  }

  int idle_nodes() {
    const std::string out = lab_->run({"sinfo", "-h", "-N", "-t", "idle", "-o", "%N"}).out;
    return static_cast<int>(split_at_spaces(out).size());
  }

  std::string slurm(const testing_lab::Words& words) { return lab_->run(words, 300, true).out; }

  void start_server(std::vector<std::string> more = {}) {
    server_ = ::fork();
    if (server_ != 0) return;
    const int log = ::open(file("server.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    if (!server_path_.empty()) ::setenv("PATH", server_path_.c_str(), 1);
    std::vector<std::string> words = {
        weft_binary(),      "serve",   file("cluster.yaml"), "--engine", "slurm",   "--slurm-conf",
        file("slurm.conf"), "--state", file("state"),        "--socket", file("s"), "-v"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }

  int stop_server(int signal) {
    if (server_ <= 0) return -1;
    ::kill(server_, signal);
    int status = 0;
    ::waitpid(server_, &status, 0);
    server_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void wait_ready() {
    for (;;) {
      const ProcessOutcome status = weft({"status", "-o", "json"});
      if (status.code == 0) {
        const json facts = json::parse(status.out)["server"];
        if (facts["nodes"] == facts["usable_nodes"]) return;
      }
      int ended = 0;
      ASSERT_EQ(::waitpid(server_, &ended, WNOHANG), 0) << contents(file("server.log"));
      pause();
    }
  }

  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

  ProcessOutcome weft(std::vector<std::string> words) const {
    words.insert(words.begin(), weft_binary());
    ProcessRequest request;
    request.words = std::move(words);
    request.limit = milliseconds(600'000);
    request.environment = {{"WEFT_SOCKET", file("s")}};
    const Result<ProcessOutcome> outcome = run_process(request);
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome.ok() ? *outcome : ProcessOutcome{-1, "", ""};
  }

  std::string submit(const std::string& text) const {
    lab_->put("job.yaml", text);
    const ProcessOutcome outcome = weft({"job", "submit", "-q", "--directory", "/tmp", file("job.yaml")});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
    return std::string(trim(outcome.out));
  }

  json job(const std::string& number) const {
    const ProcessOutcome outcome = weft({"job", "show", number, "-o", "json"});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
    return json::parse(outcome.out)["job"];
  }

  // After `pause_step` it waits for the file `go`.
  std::string training(int nodes, int steps, int pause_step = -1) const {
    return "job: 1\nname: tiny\ntenant: team-a\nnodes: " + std::to_string(nodes) + "\ncommand: [python3, " +
           source_dir() + "/examples/tiny_train.py, --steps, \"" + std::to_string(steps) +
           "\", --step-time, \"0.05\", --checkpoint-steps, \"5\", --pause-step, \"" + std::to_string(pause_step) +
           "\", --pause-file, " + file("go") + "]\ncheckpoint: {volumes: [" + file("a") + ", " + file("b") +
           "], notice: signal}\nrestart: {backoff: 100ms}\n";
  }

  // Processes of an attempt: rank -> pid.
  std::map<int, pid_t> ranks(const std::string& number, const std::string& attempt) const {
    std::map<int, pid_t> found;
    const std::string nul(1, '\0');
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string variables = nul + contents(entry.path() / "environ");
      if (!contains(variables, nul + "WEFT_CHECKPOINT_REQUEST=" + file("state")) ||
          !contains(variables, nul + "WEFT_JOB_ID=" + number + nul) ||
          !contains(variables, nul + "WEFT_ATTEMPT=" + attempt + nul))
        continue;
      const std::size_t at = variables.find(nul + "RANK=");
      if (at != std::string::npos) found[std::atoi(variables.c_str() + at + 6)] = std::atoi(name.c_str());
    }
    return found;
  }

  // Daemons of steps outlive slurmd; what they started is known by the folder of this test.
  void kill_jobs() const {
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const bool ours = contains(contents(entry.path() / "environ"), lab_->folder().string());
      const int pid = std::atoi(name.c_str());
      const bool daemon = pid == controller_ || pid == ::getpid();
      if (ours && !daemon) ::kill(pid, SIGKILL);
    }
  }

  void wait_for_step(const std::string& number, int step) {
    for (;;) {
      const json fields = job(number);
      if (fields.value("checkpoint_step", 0) >= step) return;
      ASSERT_NE(fields.value("state", ""), "failed") << fields.dump();
      pause();
    }
  }

  void wait_for_state(const std::string& number, const std::string& state) {
    while (job(number)["state"] != state) pause();
  }

  // What weft serve -v wrote about a job.
  [[nodiscard]] std::string history() const { return contents(file("server.log")); }
  void wait_for_history(const std::string& text) {
    while (!contains(history(), text)) pause();
  }

  // Ids of the Slurm jobs of an attempt, all states.
  std::vector<std::string> slurm_jobs(const std::string& attempt) {
    std::vector<std::string> ids;
    const json list = json::parse(slurm({"squeue", "--json"}));
    for (const json& one : list["jobs"]) {
      if (contains(one["comment"].get<std::string>(), ":" + attempt + ":")) ids.push_back(one["job_id"].dump());
    }
    return ids;
  }

  int nodes_;
  int port_ = 0;
  std::unique_ptr<Lab> lab_;
  pid_t controller_ = 0;
  std::map<std::string, pid_t> slurmds_;
  pid_t server_ = 0;
  std::string server_path_;  // PATH of weft serve; "": that of the test
};

}  // namespace weft::testing_slurm
