// weft serve --mode watch against real Slurm daemons: jobs that others submitted, also before weft started; why they
// wait, compared with squeue; nodes that fail. Every command that weft sends to Slurm is recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "base/text.h"
#include "lab.h"
#include "program.h"
#include "slurm_fixture.h"

namespace weft {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_lab::Lab;
using testing_program::contents;

class EngineWatch : public testing_slurm::SlurmFixture {
 protected:
  void SetUp() override {
    SlurmFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::filesystem::create_directories(file("audit"));
    for (const char* name :
         {"squeue", "sinfo", "scontrol", "sbatch", "scancel", "srun", "sacct", "sacctmgr", "salloc"}) {
      lab_->put(std::string("audit/") + name, "#!/bin/sh\necho \"" + std::string(name) + " $*\" >> " + file("calls") +
                                                  "\nexec /usr/bin/" + name + " \"$@\"\n");
      ::chmod(file(std::string("audit/") + name).c_str(), 0755);
    }
    server_path_ = file("audit") + ":/usr/sbin:/usr/bin:/sbin:/bin";
  }

  void watch(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--mode", "watch"});
    start_server(more);
    wait_for_list();
  }
  // Until the first lists have been read.
  void wait_for_list() {
    while (weft({"job", "list", "-o", "json"}).code != 0) {
      int ended = 0;
      ASSERT_EQ(::waitpid(server_, &ended, WNOHANG), 0) << contents(file("server.log"));
      pause();
    }
  }

  std::string sbatch(std::vector<std::string> options) {
    options.insert(options.begin(), {"sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null"});
    options.insert(options.end(), {"--wrap", "exec sleep 100000"});
    return std::string(trim(slurm(options)));
  }
  std::string squeue_field(const std::string& job, const std::string& format) {
    return std::string(trim(slurm({"squeue", "-h", "-j", job, "-o", format})));
  }
  void wait_for_slurm_state(const std::string& job, const std::string& state) {
    while (squeue_field(job, "%T") != state) pause();
  }
  json document(const std::vector<std::string>& words) const {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"-o", "json"});
    const ProcessOutcome outcome = weft(all);
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }
  json listed_job(const std::string& id) const {
    for (const json& row : document({"job", "list", "--all"}).value("jobs", json::array())) {
      if (row["job"] == id) return row;
    }
    return {};
  }
  json proposals() const { return document({"status"}).value("proposals", json::array()); }
  int count_in_history(const std::string& text) const {
    const std::string all = history();
    int count = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
    return count;
  }
  // What weft sent to Slurm, each call once.
  [[nodiscard]] std::set<std::string> calls() const {
    std::set<std::string> calls;
    const std::string text = contents(file("calls"));
    for (const std::string_view line : split_lines(text)) calls.emplace(line);
    calls.erase("");
    return calls;
  }
  // scontrol's view of a job or node without what changes by itself.
  std::string shown(const std::string& kind, const std::string& name) {
    // slurmd computes BootTime from its clock at every registration: it may differ by a second.
    static const std::set<std::string> kVolatile = {"RunTime",       "CPULoad",    "FreeMem", "LastBusyTime",
                                                    "LastSchedEval", "AccrueTime", "BootTime"};
    std::string out;
    const std::string text = slurm({"scontrol", "-o", "show", kind, name});
    for (const std::string_view word : split_at_spaces(text)) {
      if (!kVolatile.contains(std::string(word.substr(0, word.find('='))))) out += std::string(word) + " ";
    }
    return out;
  }
  std::string node_state(int index) {
    return json::parse(slurm({"sinfo", "--json"}))["nodes"][static_cast<std::size_t>(index)].dump();
  }
};

TEST_F(EngineWatch, AdoptsARunningClusterAndChangesNothing) {
  const std::string before = sbatch({"-N2", "--exclusive", "--gres=gpu:8", "-t", "30", "-J", "earlier"});
  const std::string array = sbatch({"--array=0-1", "-N4", "--exclusive", "-J", "sweep"});
  wait_for_slurm_state(before, "RUNNING");
  slurm({"scontrol", "update", "NodeName=train004", "State=DRAIN", "Reason=bad dimm"});
  const std::string job_before = shown("job", before);
  const std::string node_before = shown("node", "train004");
  watch();
  const json adopted = listed_job(before);
  ASSERT_FALSE(adopted.is_null()) << weft({"job", "list"}).out;
  EXPECT_EQ(adopted["state"], "running");
  EXPECT_EQ(adopted["nodes"], squeue_field(before, "%N"));
  EXPECT_EQ(adopted["gpus"], 16);
  EXPECT_EQ(document({"job", "show", before})["job"]["name"], "earlier");
  EXPECT_FALSE(listed_job(array + "_[0-1]").is_null());
  EXPECT_EQ(document({"job", "show", array + "_1"})["job"]["job"], array + "_[0-1]");
  const std::string later = sbatch({"-n1", "-J", "later"});
  while (listed_job(later).is_null()) pause();
  EXPECT_THAT(weft({"node", "show", "train004"}).out, HasSubstr("bad dimm"));
  EXPECT_EQ(document({"status"})["server"]["mode"], "watch");
  EXPECT_THAT(weft({"job", "list", "-o", "csv"}).out, HasSubstr("earlier"));
  EXPECT_THAT(weft({"queue", "-o", "yaml"}).out, HasSubstr("sweep"));
  EXPECT_EQ(weft({"job", "show", "999999"}).code, 2);

  lab_->put("job.yaml", training(1, 5));
  const ProcessOutcome submitted = weft({"job", "submit", file("job.yaml")});
  EXPECT_EQ(submitted.code, 4);
  EXPECT_THAT(submitted.err, HasSubstr("watch mode: slurm schedules this cluster"));
  for (const char* verb : {"cancel", "hold", "release"}) EXPECT_EQ(weft({"job", verb, before}).code, 4) << verb;
  EXPECT_EQ(weft({"job", "wait", before}).code, 4);
  EXPECT_EQ(weft({"job", "logs", before}).code, 4);
  EXPECT_EQ(weft({"node", "drain", "train001", "--reason", "test"}).code, 4);

  shorten_slurmd_timeout();
  kill_process(slurmds_.at("train005"));  // Slurm sets it down after SlurmdTimeout
  while (proposals().empty()) pause();
  const json proposal = proposals()[0];
  EXPECT_EQ(proposal["node"], "train005");
  EXPECT_EQ(proposal["stage"], "quarantine");
  EXPECT_EQ(proposal["reason"], "Slurm: down, not responding");
  EXPECT_EQ(document({"node", "show", "train005"})["node"]["proposal"], "quarantine");
  wait_for_history("would quarantine train005: Slurm: down, not responding");
  stop_server(SIGKILL);
  watch();
  while (document({"node", "show", "train005"})["node"].value("health", "") != "fatal") pause();
  EXPECT_EQ(proposals().size(), 1U);
  EXPECT_EQ(count_in_history("would quarantine train005"), 1) << history();

  EXPECT_EQ(shown("job", before), job_before);
  EXPECT_EQ(shown("node", "train004"), node_before);
  EXPECT_THAT(node_state(4), HasSubstr("\"reason\":\"Not responding\""));
  EXPECT_EQ(calls(), (std::set<std::string>{"sinfo --json", "squeue --json"}));
  start_slurmd(4);
  while (!proposals().empty()) pause();
  EXPECT_EQ(count_in_history("no longer would quarantine train005"), 1);
  EXPECT_EQ(calls(), (std::set<std::string>{"sinfo --json", "squeue --json"}));
  EXPECT_EQ(stop_server(SIGTERM), 0);
}

// weft's explanation never contradicts Slurm: it has Slurm's reason, and facts that belong to it.
TEST_F(EngineWatch, ExplainsWhyJobsWaitAsSlurmDoes) {
  const std::string running = sbatch({"-N3", "--exclusive", "--gres=gpu:8", "-t", "30"});
  wait_for_slurm_state(running, "RUNNING");
  slurm({"scontrol", "update", "NodeName=train005", "State=DRAIN", "Reason=bad dimm"});
  const std::string resources = sbatch({"-N4", "--exclusive", "-t", "10"});
  const std::string priority = sbatch({"-N4", "--exclusive", "-t", "600", "--nice=100"});
  const std::string drained = sbatch({"-w", "train005", "-t", "10"});
  const std::string dependent = sbatch({"--dependency=afterok:" + running});
  const std::string held = sbatch({"--hold"});
  const std::string later = sbatch({"--begin=now+1hour"});
  watch();
  const std::map<std::string, std::string> expected = {{resources, "Resources"},     {priority, "Priority"},
                                                       {drained, "ReqNodeNotAvail"}, {dependent, "Dependency"},
                                                       {held, "JobHeldUser"},        {later, "BeginTime"}};
  std::map<std::string, json> why;
  for (const auto& [job, reason] : expected) {
    for (;;) {
      why[job] = document({"job", "why", job});
      const std::string shown_by_slurm = squeue_field(job, "%r");
      const bool same = !why[job].is_null() && shown_by_slurm.starts_with(reason) &&
                        why[job]["job"].value("engine_reason", "") == reason;
      if (same) break;
      pause();
    }
  }
  const auto sentence = [&](const std::string& job) { return why.at(job)["job"]["sentence"].get<std::string>(); };
  EXPECT_THAT(sentence(resources), StartsWith("it waits for resources: it asks for 4 nodes; 1 of 5 nodes"));
  EXPECT_LT(why[resources]["job"]["fitting_nodes"], why[resources]["job"]["nodes_wanted"]);
  EXPECT_EQ(why[resources]["job"]["ahead_count"], 0);
  EXPECT_FALSE(why[resources]["job"]["enough_nodes_at"].is_null());
  EXPECT_THAT(sentence(priority), HasSubstr("with a higher priority"));
  EXPECT_EQ(why[priority]["ahead"][0]["job"], resources);
  EXPECT_EQ(sentence(drained), "Slurm cannot use train005: train005 drained by root: bad dimm");
  EXPECT_THAT(sentence(dependent), HasSubstr("job " + running + " is running"));
  EXPECT_EQ(sentence(held), "it is held by its user; `scontrol release " + held + "` lets it start");
  EXPECT_THAT(sentence(later), StartsWith("it begins no earlier than 20"));
  EXPECT_EQ(why[drained]["out_of_service"][0]["node"], "train005");
  EXPECT_THAT(document({"job", "why", running})["job"]["sentence"].get<std::string>(), HasSubstr("train[001-003]"));
  EXPECT_EQ(calls(), (std::set<std::string>{"sinfo --json", "squeue --json"}));
}

TEST_F(EngineWatch, QuarantinesWhereEnabledAndReturnsTheNode) {
  slurm({"scontrol", "update", "NodeName=train004", "State=DRAIN", "Reason=bad dimm"});
  const std::string drained_by_others = shown("node", "train004");
  watch({"--enable", "quarantine:train[001-002]"});
  shorten_slurmd_timeout();
  kill_process(slurmds_.at("train002"));
  const auto reason = [&] { return std::string(trim(slurm({"sinfo", "-h", "-N", "-n", "train002", "-o", "%E"}))); };
  while (!reason().starts_with("weft:1:not-responding:lab-")) pause();
  wait_for_history("repair session 1 opened");
  while (proposals().empty() || proposals()[0]["stage"] != "repair") pause();
  start_slurmd(1);
  while (!contains(slurm({"sinfo", "-h", "-N", "-n", "train002", "-o", "%T"}), "drain")) pause();
  while (document({"node", "show", "train002"})["node"].value("health", "") != "healthy") pause();
  EXPECT_EQ(weft({"node", "resume", "train002"}).code, 0);
  while (std::string(trim(slurm({"sinfo", "-h", "-N", "-n", "train002", "-o", "%T"}))) != "idle") pause();
  wait_for_history("repair session 1 closed (repaired)");
  EXPECT_EQ(shown("node", "train004"), drained_by_others);
  std::set<std::string> changes = calls();
  changes.erase("sinfo --json");
  changes.erase("squeue --json");
  for (const std::string& change : changes) EXPECT_THAT(change, StartsWith("scontrol update NodeName=train002 State="));
  EXPECT_EQ(changes.size(), 2U) << "one drain, one resume";
}

// With `drain` enabled, on the two ways in which a node fails under a job. Slurm itself requeues the jobs of a node
// that it sets down: weft finds none left to requeue, and goes on. A node that has lost a GPU is drained by slurmctld,
// its job runs on, and neither is changed: that drain is not weft's.
TEST_F(EngineWatch, DrainsWhereEnabled) {
  const std::string gone = sbatch({"-w", "train002", "--requeue", "-t", "30"});
  const std::string broken = sbatch({"-w", "train003", "--requeue", "-t", "30"});
  wait_for_slurm_state(gone, "RUNNING");
  wait_for_slurm_state(broken, "RUNNING");
  watch({"--enable", "quarantine", "--enable", "drain"});
  shorten_slurmd_timeout();
  // A slurmd of train003 that finds seven GPUs.
  std::filesystem::create_directories(file("seven"));
  lab_->put("seven/slurm.conf", contents(file("slurm.conf")));
  lab_->put("seven/gres.conf", "AutoDetect=off\nName=gpu Type=h100 File=" + file("dev") + "/gpu[0-6]\n");
  kill_process(slurmds_.at("train003"));
  slurmds_["train003"] = lab_->start({"slurmd", "-D", "-N", "train003", "-f", file("seven/slurm.conf")});
  while (!contains(slurm({"sinfo", "-h", "-N", "-n", "train003", "-o", "%E"}), "gres/gpu count")) pause();
  const std::string drained_by_slurm = shown("node", "train003");
  while (document({"node", "show", "train003"})["node"].value("health", "") != "fatal") pause();

  kill_process(slurmds_.at("train002"));
  const auto reason = [&] { return std::string(trim(slurm({"sinfo", "-h", "-N", "-n", "train002", "-o", "%E"}))); };
  while (!reason().starts_with("weft:1:not-responding:lab-")) pause();
  // Past quarantine and drain; repair is not enabled.
  while (proposals().empty() || proposals()[0]["stage"] != "repair") pause();
  EXPECT_EQ(proposals()[0]["node"], "train002");
  EXPECT_NE(squeue_field(gone, "%N"), "train002");
  EXPECT_EQ(squeue_field(broken, "%T %N"), "RUNNING train003");
  EXPECT_EQ(shown("node", "train003"), drained_by_slurm);
  std::set<std::string> changes = calls();
  changes.erase("sinfo --json");
  changes.erase("squeue --json");
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_THAT(*changes.begin(), StartsWith("scontrol update NodeName=train002 State=DRAIN"));
}

TEST_F(EngineWatch, AnOutageOfSlurmctldConcludesNothing) {
  const std::string job = sbatch({"-N2", "--exclusive"});
  wait_for_slurm_state(job, "RUNNING");
  watch();
  while (listed_job(job).is_null()) pause();
  kill_process(controller_);
  while (document({"status"})["server"]["engine_problem"] == "answers") pause();
  const json list = document({"job", "list"});
  ASSERT_FALSE(list["jobs"].empty());
  EXPECT_EQ(list["jobs"][0]["job"], job);
  EXPECT_THAT(list["notes"][0].get<std::string>(), HasSubstr("Slurm does not answer"));
  start_controller();
  while (document({"status"})["server"]["engine_problem"] != "answers") pause();
  EXPECT_EQ(count_in_history("would "), 0) << history();
  EXPECT_EQ(calls(), (std::set<std::string>{"sinfo --json", "squeue --json"}));
}

TEST_F(EngineWatch, RefusesWhatHasNoMeaning) {
  const auto serve = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"serve", file("cluster.yaml"), "--state", file("other"), "--socket", file("t")});
    return weft(words);
  };
  EXPECT_EQ(serve({"--mode", "watch"}).code, 2) << "engine local";
  EXPECT_EQ(serve({"--engine", "slurm", "--enable", "drain"}).code, 2);
  const std::vector<std::string> watching = {"--engine",         "slurm",  "--slurm-conf",
                                             file("slurm.conf"), "--mode", "watch"};
  const std::map<std::string, std::string> refused = {{"explode", "is not a stage"},
                                                      {"quarantine:nowhere", "the cluster has no pool or node"},
                                                      {"quarantine:", "names no pool or node"},
                                                      {"drain", "quarantine is not, which comes before it"}};
  for (const auto& [stage, text] : refused) {
    std::vector<std::string> words = watching;
    words.insert(words.end(), {"--enable", stage});
    const ProcessOutcome outcome = serve(words);
    EXPECT_EQ(outcome.code, 2) << stage;
    EXPECT_THAT(outcome.err, HasSubstr(text)) << stage;
  }
}

}  // namespace
}  // namespace weft
