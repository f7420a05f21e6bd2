// weft serve with engine slurm against real daemons: slurmctld, munged and one slurmd per node of a private cluster on
// this machine. Ranks, slurmd, slurmctld and weft itself are killed; administrators cancel and drain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/process.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "lab.h"
#include "program.h"
#include "slurm_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using testing_lab::Lab;
using testing_program::contents;
using testing_slurm::kCluster;

class EngineSlurm : public testing_slurm::SlurmFixture {};

TEST_F(EngineSlurm, AGangSurvivesTheKillOfARank) {
  start_server();
  wait_ready();
  const std::string number = submit(training(4, 60, 12));
  wait_for_step(number, 10);
  const std::vector<std::string> ids = slurm_jobs("1.1");
  ASSERT_EQ(ids.size(), 1U);
  const std::string shown = slurm({"scontrol", "-o", "show", "job", ids[0]});
  EXPECT_THAT(shown, HasSubstr(" NodeList=train[001-004] "));
  EXPECT_THAT(shown, HasSubstr(" NumNodes=4 "));
  while (ranks(number, "1").size() < 4) pause();
  const std::map<int, pid_t> before = ranks(number, "1");
  for (const auto& [rank, pid] : before) {
    const std::string nul(1, '\0');
    const std::string variables = nul + contents("/proc/" + std::to_string(pid) + "/environ");
    const std::string text = std::to_string(rank);
    for (const std::string expected :
         {"WORLD_SIZE=4", "GROUP_WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1",
          "WEFT_NODELIST=train001,train002,train003,train004", "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7"}) {
      EXPECT_THAT(variables, HasSubstr(nul + expected + nul)) << rank;
    }
    EXPECT_THAT(variables, HasSubstr(nul + "NODE_RANK=" + text + nul));
    EXPECT_THAT(variables, HasSubstr(nul + "WEFT_NODE=" + node_name(rank) + nul));
    EXPECT_THAT(variables, HasSubstr(nul + "SLURMD_NODENAME=" + node_name(rank) + nul));
  }
  ASSERT_EQ(::kill(before.at(2), SIGKILL), 0);
  lab_->put("go", "");
  const ProcessOutcome waited = weft({"job", "wait", number});
  EXPECT_EQ(waited.code, 0) << waited.out;
  EXPECT_EQ(job(number)["attempt"], 2);
  EXPECT_THAT(weft({"job", "logs", number, "--task", "3"}).out, HasSubstr("rank 3 restored step "));
  EXPECT_THAT(history(), HasSubstr("rank 2 on train003: killed by signal 9"));
  EXPECT_EQ(stop_server(SIGTERM), 0);
}

TEST_F(EngineSlurm, JobsOfOtherUsersShareANode) {
  start_server();
  wait_ready();
  const std::string text =
      "job: 1\nname: half\ntenant: team-a\nnodes: 1\ngpus_per_node: 4\ncommand: [/bin/sh, -c, 'id -un; echo gpus "
      "$CUDA_VISIBLE_DEVICES; until test -e " +
      file("go") + "; do sleep 0.05; done']\n";
  lab_->put("own.yaml", text);
  std::vector<std::string> numbers;
  for (int i = 0; i < 2; ++i) {
    ProcessRequest request;
    request.words = {
        "setpriv",     "--reuid=nobody", "--regid=nogroup", "--clear-groups", weft_binary(), "job", "submit", "-q",
        "--directory", "/tmp",           file("own.yaml")};
    request.environment = {{"WEFT_SOCKET", file("s")}};
    const Result<ProcessOutcome> outcome = run_process(request);
    ASSERT_TRUE(outcome.ok() && outcome->code == 0) << outcome->err;
    numbers.emplace_back(trim(outcome->out));
  }
  for (const std::string& number : numbers) wait_for_state(number, "running");
  lab_->put("go", "");
  std::set<std::string> gpus;
  for (const std::string& number : numbers) {
    EXPECT_EQ(weft({"job", "wait", number}).code, 0);
    const std::string log = weft({"job", "logs", number}).out;
    EXPECT_THAT(log, HasSubstr("nobody\n"));
    gpus.insert(log.substr(log.find("gpus")));
  }
  EXPECT_EQ(gpus, (std::set<std::string>{"gpus 0,1,2,3\n", "gpus 4,5,6,7\n"}));
}

// The step's daemon outlives slurmd, so the ranks on that node run on. Nothing may be concluded until it answers again.
TEST_F(EngineSlurm, ASlurmdIsKilled) {
  shorten_slurmd_timeout();
  start_server();
  wait_ready();
  const std::string number = submit(
      "job: 1\nname: sleep\ntenant: team-a\nnodes: 2\ncommand: [/bin/sleep, \"100000\"]\nrestart: {backoff: 100ms}\n");
  wait_for_state(number, "running");
  while (ranks(number, "1").size() < 2) pause();
  kill_process(slurmds_.at("train002"));
  wait_for_state(number, "stopping");  // Slurm: NODE_FAIL after SlurmdTimeout; sealed on train001 only
  wait_for_history("attempt 1 exited on train001");
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(job(number)["attempt"], 1);
    pause();
  }
  EXPECT_EQ(ranks(number, "1").count(1), 1U) << "the test needs a rank that runs on";
  start_slurmd(1);
  while (job(number)["attempt"] != 2 || job(number)["state"] != "running") pause();
  EXPECT_EQ(ranks(number, "1").size(), 0U);
  EXPECT_EQ(weft({"job", "cancel", number, "--reason", "enough"}).code, 0);
  EXPECT_EQ(weft({"job", "wait", number}).code, 1);
  EXPECT_EQ(job(number)["state"], "canceled");
  while (!ranks(number, "2").empty()) pause();
}

TEST_F(EngineSlurm, SlurmctldIsRestarted) {
  start_server();
  wait_ready();
  const std::string number = submit(training(3, 60, 7));
  wait_for_step(number, 5);
  ::kill(controller_, SIGTERM);  // it saves its state
  while (lab_->alive(controller_)) pause();
  wait_for_history("Slurm does not answer");
  start_controller();
  wait_for_history("Slurm answers again");
  lab_->put("go", "");
  const ProcessOutcome waited = weft({"job", "wait", number});
  EXPECT_EQ(waited.code, 0) << waited.out;
  EXPECT_EQ(job(number)["attempt"], 1);
}

// Killed before it saves its state, slurmctld comes back with jobs as they were: a running one may be held again. It
// must not be started a second time.
TEST_F(EngineSlurm, SlurmctldIsKilled) {
  start_server();
  wait_ready();
  const std::string number =
      submit("job: 1\nname: marks\ntenant: team-a\nnodes: 2\nrestart: {backoff: 100ms}\ncommand: [/bin/sh, -c, 'echo " +
             std::string("$WEFT_ATTEMPT $RANK >> ") + file("starts") + "; until test -e " + file("go") +
             "; do sleep 0.1; done']\n");
  wait_for_state(number, "running");
  kill_process(controller_);
  wait_for_history("Slurm does not answer");
  start_controller();
  wait_for_history("Slurm answers again");
  while (json::parse(weft({"status", "-o", "json"}).out)["server"]["usable_nodes"].get<int>() < 2) pause();
  wait_for_state(number, "running");
  lab_->put("go", "");
  EXPECT_EQ(weft({"job", "wait", number}).code, 0);
  std::map<std::string, int, std::less<>> starts;
  const std::string started = contents(file("starts"));
  for (const std::string_view line : split_lines(started)) EXPECT_EQ(++starts[std::string(line)], 1) << line;
}

// A kill between a submission and its release leaves a held job: the next server cancels it. No attempt runs twice.
TEST_F(EngineSlurm, TheServerIsKilledAtRandomMoments) {
  const char* text = std::getenv("WEFT_KILLS");
  const int kills = text != nullptr ? std::atoi(text) : 12;
  const int jobs = std::max(3, kills / 3);
  start_server();
  wait_ready();
  const std::string name = "$WEFT_JOB_ID $WEFT_ATTEMPT $RANK";
  lab_->put("marks.yaml",
            "job: 1\nname: marks\ntenant: team-a\nnodes: 2\nrestart: {backoff: 100ms}\ncommand: [/bin/sh, -c, "
            "'echo " +
                name + " >> " + file("starts") + "; sleep 0.5; echo " + name + " >> " + file("ends") + "']\n");
  std::thread submitter([&] {
    for (int i = 0; i < jobs; ++i)
      EXPECT_EQ(weft({"job", "submit", "-q", "--directory", "/tmp", file("marks.yaml")}).code, 0);
  });
  RandomStream random(29, "engine slurm kills");
  for (int i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(1'500'000)));
    EXPECT_EQ(stop_server(SIGKILL), 128 + SIGKILL);
    start_server();
  }
  submitter.join();
  std::vector<std::string> wait = {"job", "wait"};
  for (int i = 1; i <= jobs; ++i) wait.push_back(std::to_string(i));
  const ProcessOutcome waited = weft(wait);
  EXPECT_EQ(waited.code, 0) << waited.out << waited.err;
  std::map<std::string, int, std::less<>> starts;
  std::map<std::string, int, std::less<>> ends;
  const std::string started = contents(file("starts"));
  const std::string ended = contents(file("ends"));
  for (const std::string_view line : split_lines(started)) EXPECT_EQ(++starts[std::string(line)], 1) << line;
  for (const std::string_view line : split_lines(ended)) EXPECT_EQ(++ends[std::string(line)], 1) << line;
  for (int i = 1; i <= jobs; ++i) {
    const int attempt = job(std::to_string(i))["attempt"];
    for (const char* rank : {" 0", " 1"}) {
      const std::string last = std::to_string(i) + " " + std::to_string(attempt) + rank;
      EXPECT_EQ(starts[last], 1) << last;
      EXPECT_EQ(ends[last], 1) << last;
    }
  }
  EXPECT_EQ(slurm({"squeue", "-h", "-t", "PENDING,RUNNING", "-o", "%i"}), "");
  EXPECT_EQ(stop_server(SIGTERM), 0);
}

TEST_F(EngineSlurm, AnAdministratorCancelsAndDrains) {
  start_server();
  wait_ready();
  const std::string number = submit(training(2, 100'000));
  wait_for_step(number, 5);
  const std::vector<std::string> ids = slurm_jobs("1.1");
  ASSERT_EQ(ids.size(), 1U);
  slurm({"scancel", ids[0]});
  wait_for_history("canceled in Slurm (scancel), not by weft");
  while (job(number)["attempt"] != 2 || job(number)["state"] != "running") pause();  // a failure: it is tried again
  slurm({"scontrol", "update", "NodeName=train005", "State=DRAIN", "Reason=broken fan"});
  wait_for_history("broken fan");
  const std::string shown = weft({"node", "show", "train005"}).out;
  EXPECT_THAT(shown, HasSubstr("broken fan"));
  EXPECT_EQ(stop_server(SIGKILL), 128 + SIGKILL);
  start_server();
  while (weft({"status"}).code != 0) pause();
  wait_for_state(number, "running");
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
  EXPECT_EQ(weft({"job", "wait", number}).code, 1);
  const std::string node = slurm({"scontrol", "-o", "show", "node", "train005"});
  EXPECT_THAT(node, HasSubstr("DRAIN"));
  EXPECT_THAT(node, HasSubstr("Reason=broken fan"));
  slurm({"scontrol", "update", "NodeName=train005", "State=UNDRAIN"});
  wait_ready();
}

// With a stand-in for Apptainer (put_apptainer()).
TEST_F(EngineSlurm, JobsRunInContainers) {
  put_apptainer();
  start_server();
  wait_ready();
  const std::string head = "job: 1\nname: boxed\ntenant: team-a\nnodes: 2\nrestart: {max_failures: 0}\n";
  const std::string with =
      "image: pytorch/pytorch\nenvironment: {PATH: '" + lab_->folder().string() + ":/usr/bin:/bin', GREETING: hello}\n";
  const std::string good = submit(head + with + "command: [/bin/sh, -c, 'echo $GREETING from rank $RANK']\n");
  EXPECT_EQ(weft({"job", "wait", good}).code, 0) << weft({"job", "show", good}).out;
  EXPECT_THAT(weft({"job", "logs", good, "--task", "1"}).out, HasSubstr("hello from rank 1\n"));
  EXPECT_THAT(contents(file("calls")),
              HasSubstr("exec --pwd /tmp --nv --bind /tmp docker://pytorch/pytorch /bin/sh -c "));
  // The exit status is the program's, and so are signals.
  submit(head + with + "command: [/bin/sh, -c, 'exit 7']\n");
  wait_for_history("exit status 7");
  const std::string caught = file("caught-$RANK");
  const std::string stopped =
      submit(head + with + "command: [/bin/sh, -c, 'trap \"echo term >" + caught + "; exit 0\" TERM; echo ready >" +
             file("ready-$RANK") + "; while :; do sleep 0.1; done']\n");
  while (!std::filesystem::exists(file("ready-0")) || !std::filesystem::exists(file("ready-1"))) pause();
  EXPECT_EQ(weft({"job", "cancel", stopped}).code, 0);
  while (!std::filesystem::exists(file("caught-0")) || !std::filesystem::exists(file("caught-1"))) pause();
  // Without apptainer the program does not run on the host instead.
  if (lab_->run({"sh", "-c", "command -v apptainer"}).code == 0) return;
  lab_->put("job.yaml", head + "command: [/bin/sh, -c, 'echo bare >" + file("bare") + "']\n");
  const ProcessOutcome submitted =
      weft({"job", "submit", "-q", "--directory", "/tmp", "--container", "docker://a/b", file("job.yaml")});
  EXPECT_EQ(submitted.code, 0) << submitted.err;
  wait_for_history("apptainer is not installed, and the job has the image docker://a/b");
  EXPECT_FALSE(std::filesystem::exists(file("bare")));
}

// Lists come from slurmrestd; when it is gone they come from squeue and sinfo.
TEST_F(EngineSlurm, ListsFromSlurmrestd) {
  WEFT_NEEDS_PROGRAM("slurmrestd");
  const pid_t rest = start_slurmrestd();
  start_server({"--slurmrestd", "unix:" + file("rest/sock")});
  wait_ready();
  wait_for_history("slurmrestd answers");
  const std::string number = submit(training(2, 60, 7));
  wait_for_step(number, 5);
  kill_process(rest);
  fs::remove(file("rest/sock"));
  wait_for_history("using Slurm's commands until it answers");
  lab_->put("go", "");
  EXPECT_EQ(weft({"job", "wait", number}).code, 0);
  EXPECT_EQ(job(number)["attempt"], 1);
  start_slurmrestd();
  wait_for_history("slurmrestd answers again");
  const std::string next = submit(training(2, 20));
  EXPECT_EQ(weft({"job", "wait", next}).code, 0);
}

TEST_F(EngineSlurm, RefusesAClusterThatSlurmDoesNotHave) {
  lab_->put("cluster.yaml", cluster(7));
  start_server();
  int status = 0;
  ::waitpid(server_, &status, 0);
  server_ = 0;
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_THAT(history(), HasSubstr("Slurm has no node train[006-007]"));
  lab_->put("cluster.yaml", cluster(5));
  start_server({"--partition", "other"});
  ::waitpid(server_, &status, 0);
  server_ = 0;
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_THAT(history(), HasSubstr("partition other"));
}

}  // namespace
}  // namespace weft
