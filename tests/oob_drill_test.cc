// The rescue drill with real daemons: a slurmctld whose power is controlled by a BMC (ipmi_sim). It hangs with jobs in
// its queue; the runbook detects that, captures its console with serial over LAN, resets it out of band, and verifies
// that it responds again and that every job is still there. slurmctld, ipmi_sim and the clients are Debian's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "ipmi_lab.h"
#include "oob/journal/journal.h"
#include "slurm_lab.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing_lab::IpmiLab;
using testing_lab::Lab;
using testing_lab::Outcome;
using testing_lab::Words;
using testing_slurm::SlurmLab;

constexpr const char* kController = "infra001";  // of examples/pod16.yaml

// Output of the server's kernel on its serial port: from time to time, the state of its controller.
class SerialPort {
 public:
  SerialPort(const IpmiLab& lab, std::size_t machine, std::string pid_file)
      : thread_([this, &lab, machine, path = std::move(pid_file)] { print(lab, machine, path); }) {}
  SerialPort(const SerialPort&) = delete;
  SerialPort& operator=(const SerialPort&) = delete;
  ~SerialPort() {
    ended_ = true;
    thread_.join();
  }

 private:
  void print(const IpmiLab& lab, std::size_t machine, const std::string& path) {
    int line = -1;
    while (!ended_ && line < 0) line = lab.serial_line(machine, 1);
    while (!ended_) {
      const std::string pid = std::to_string(std::atoi(Lab::contents(path).c_str()));
      const std::string stat = Lab::contents("/proc/" + pid + "/stat");
      const std::size_t name = stat.find(") ");
      const std::string state = name == std::string::npos ? "gone" : stat.substr(name + 2, 1);
      const std::string text = "task slurmctld:" + pid + " state:" + state + "\r\n";
      (void)::send(line, text.data(), text.size(), MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    if (line >= 0) ::close(line);
  }
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

class OobDrill : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : SlurmLab::kPrograms) WEFT_NEEDS_PROGRAM(program);
    for (const char* program : IpmiLab::kPrograms) WEFT_NEEDS_PROGRAM(program);
    WEFT_NEEDS_ROOT();  // slurmctld with a private munged
    slurm_ = std::make_unique<SlurmLab>("drill");
    machines_ = std::make_unique<IpmiLab>(slurm_->lab);
    write_configuration();
    ASSERT_TRUE(slurm_->start_munge(slurm_->file("munge.key"))) << slurm_->log("munged.log");
    ASSERT_EQ(machines_->add(kController), "");
    // Its power: switching it off kills the process like a power cut, and a start reads what was on disk.
    machines_->hook(0, "pid=" + slurm_->file("run/controller.pid") +
                           "\nif [ \"$1\" = power ] && [ \"$2\" = 0 ] || [ \"$1\" = reset ]; then\n"
                           "  kill -KILL \"$(cat $pid)\"; rm -f $pid\nfi\n"
                           "if [ \"$1\" = power ] && [ \"$2\" = 1 ] || [ \"$1\" = reset ]; then\n"
                           "  [ -e $pid ] || setsid sh " +
                           slurm_->file("start.sh") + " < /dev/null > /dev/null 2>&1 &\nfi");
  }
  void TearDown() override {
    if (slurm_ == nullptr) return;
    if (const pid_t pid = controller(); pid > 1) ::kill(pid, SIGKILL);
    machines_.reset();
    slurm_.reset();
  }

  void write_configuration() {
    const std::string d = slurm_->lab.folder().string();
    slurm_->put("munge.key", std::string(64, 'm'), 0600);
    slurm_->put("seen-before", "#!/bin/sh\n", 0755);
    slurm_->put("slurm/slurm.conf",
                "ClusterName=drill\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=" +
                    std::to_string(slurm_->port(SlurmLab::kController)) +
                    "\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket=" + d +
                    "/run/munge.socket\nStateSaveLocation=" + d + "/state\nSlurmctldPidFile=" + d +
                    "/run/slurmctld.pid\nSlurmctldLogFile=" + d +
                    "/log/slurmctld.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
                    "MessageTimeout=3\nMpiDefault=none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                    "NodeName=n[1-4] NodeAddr=127.0.0.1 Port=[" +
                    std::to_string(slurm_->port(5)) + "-" + std::to_string(slurm_->port(8)) +
                    "] CPUs=4 State=UNKNOWN\nPartitionName=batch Nodes=ALL Default=YES State=UP\n");
    slurm_->put("start.sh", "echo $$ > " + d + "/run/controller.pid\nexec env SLURM_CONF=" + d +
                                "/slurm/slurm.conf slurmctld -D -f " + d + "/slurm/slurm.conf\n");
  }
  bool start_controller() {
    slurm_->lab.start({"setsid", "sh", slurm_->file("start.sh")});
    return Lab::wait(15, [&] { return up(); });
  }
  bool up() { return slurm_->lab.run({"scontrol", "ping"}, 8).out.find("is UP") != std::string::npos; }
  [[nodiscard]] pid_t controller() const {
    return std::atoi(Lab::contents(slurm_->lab.folder() / "run/controller.pid").c_str());
  }
  std::vector<std::string> queue() {
    std::vector<std::string> jobs = testing_slurm::lines_of(slurm_->run({"squeue", "--noheader", "--format=%A"}).out);
    std::sort(jobs.begin(), jobs.end());
    return jobs;
  }
  Outcome rescue(const Words& more) {
    Words words{weft_binary(),    "rescue",
                "scheduler-dead", source_dir() + "/examples/pod16.yaml",
                "--endpoints",    machines_->endpoints_file(),
                "--credentials",  "file:" + machines_->credentials_file(),
                "--state",        slurm_->file("weft"),
                "--syslog",       "none",
                "--set",          "scheduler=" + std::string(kController),
                "--set",          "console_time=2s",
                "--set",          "reset_time=12s",
                "--set",          "sacct=" + slurm_->file("seen-before")};
    words.insert(words.end(), more.begin(), more.end());
    return slurm_->lab.run(words, 120, true);
  }

  std::unique_ptr<SlurmLab> slurm_;
  std::unique_ptr<IpmiLab> machines_;
};

TEST_F(OobDrill, HungControllerIsResetAndKeepsItsJobs) {
  const SerialPort serial(*machines_, 0, slurm_->file("run/controller.pid"));
  ASSERT_TRUE(start_controller()) << slurm_->log("slurmctld.log");
  for (int i = 0; i < 5; ++i) {
    const Outcome submitted = slurm_->run({"sbatch", "--parsable", "--nodes=4", "--wrap", "sleep 60"});
    ASSERT_EQ(submitted.code, 0) << submitted.out;
  }
  const std::vector<std::string> before = queue();
  ASSERT_EQ(before.size(), 5U);
  // State that slurmctld has not saved is lost in a power cut, with any tool: it saves within seconds.
  const auto submitted = std::filesystem::file_time_type::clock::now();
  ASSERT_TRUE(Lab::wait(20, [&] {
    std::error_code absent;
    return std::filesystem::last_write_time(slurm_->file("state/job_state"), absent) > submitted && !absent;
  }));
  // Substitute for the accounting database, which this lab does not have: the last known queue.
  std::string script = "#!/bin/sh\n";
  for (const std::string& job : before) script += "echo " + job + "\n";
  slurm_->put("seen-before", script, 0755);
  const pid_t hung = controller();
  ASSERT_GT(hung, 1);
  ASSERT_EQ(::kill(hung, SIGSTOP), 0);
  EXPECT_FALSE(up());

  const Outcome plan = rescue({"--plan"});
  EXPECT_EQ(plan.code, 0) << plan.out;
  EXPECT_TRUE(machines_->done(0).empty()) << "a plan touches nothing";

  const Outcome outcome = rescue({"--run", "--yes", "--reason", "drill"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << slurm_->log("slurmctld.log");

  EXPECT_EQ(machines_->done(0), std::vector<std::string>{"reset 1"}) << "exactly one reset";
  EXPECT_TRUE(up());
  EXPECT_NE(controller(), hung);
  EXPECT_EQ(queue(), before) << "no job was lost";
  const Result<oob::JournalVerdict> verdict = oob::verify_journal(slurm_->file("weft/journal.ndjson"));
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->problems.empty());
  const std::string stopped = "task slurmctld:" + std::to_string(hung) + " state:T";
  bool captured = false;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(slurm_->file("weft/rescue"))) {
    if (entry.is_regular_file()) captured |= Lab::contents(entry.path()).find(stopped) != std::string::npos;
  }
  EXPECT_TRUE(captured) << "the console of the hung controller is kept";
}

TEST_F(OobDrill, ControllerThatRespondsIsNotReset) {
  ASSERT_TRUE(start_controller()) << slurm_->log("slurmctld.log");
  const pid_t alive = controller();
  const Outcome outcome = rescue({"--run", "--yes", "--reason", "drill"});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_TRUE(machines_->done(0).empty());
  EXPECT_EQ(controller(), alive);
}

}  // namespace
}  // namespace weft
