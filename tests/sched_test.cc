// End-to-end tests of `weft sched replay`: its output and files, and how it rejects invalid input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;

// Two servers with 8 GPUs: a uses one for 10 s, b needs both, c fits before b can start, d does not.
const std::string kTrace =
    "name,tenant,submit,gpus,tasks,run_time,limit\n"
    "a,x,0,8,1,10,10\nb,x,1,8,2,5,5\nc,y,2,8,1,8,8\nd,y,3,8,1,20,20\n";

class SchedTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("sched"); }

  static Outcome replay(Words words) {
    words.insert(words.begin(), {weft_binary(), "sched", "replay"});
    return run(words);
  }
  static Json json(Words words) {
    words.insert(words.end(), {"-o", "json"});
    const Outcome outcome = replay(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  static std::string trace() { return file("trace.csv", kTrace); }
  static std::string in_folder(const std::string& name) { return (folder_ / name).string(); }
};

TEST_F(SchedTest, PoliciesSideBySide) {
  const Json all = json({"--plain", "2x8", trace(), "--policy", "fifo,easy"});
  const Json& rows = all.at("policies");
  ASSERT_EQ(rows.size(), 2U);
  // Strict: starts 0, 10, 15, 15, ends at 35. With a reservation for b: c starts at 2, d at 15: the same end.
  EXPECT_DOUBLE_EQ(rows[0].at("wait_mean_s").get<double>(), (0 + 9 + 13 + 12) / 4.0);
  EXPECT_DOUBLE_EQ(rows[1].at("wait_mean_s").get<double>(), (0 + 9 + 0 + 12) / 4.0);
  EXPECT_DOUBLE_EQ(rows[0].at("makespan_s").get<double>(), 35);
  const double work = 8 * (10 + 2 * 5 + 8 + 20);
  EXPECT_DOUBLE_EQ(rows[0].at("utilisation").get<double>(), work / (16 * 35));  // JSON key (words: allow)
  const Outcome table = replay({"--plain", "2x8", trace(), "--policy", "fifo,easy"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out, HasSubstr("Policies (* best)"));
  EXPECT_THAT(table.out, HasSubstr("Waits by tenant"));
}

TEST_F(SchedTest, FilesAreWritten) {
  const Outcome outcome = replay({"--plain", "2x8", trace(), "--policy", "easy", "--jobs", in_folder("jobs.ndjson"),
                                  "--page", in_folder("page.html"), "--plot", in_folder("plot.svg")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string jobs = contents(in_folder("jobs.ndjson"));
  const Json first = Json::parse(jobs.substr(0, jobs.find('\n')));
  EXPECT_EQ(first.at("job"), "a");
  EXPECT_EQ(first.at("policy"), "easy");
  EXPECT_EQ(first.at("wait_s"), 0);
  EXPECT_THAT(contents(in_folder("page.html")), HasSubstr("<!DOCTYPE html>"));
  EXPECT_THAT(contents(in_folder("plot.svg")), HasSubstr("<polyline"));
}

TEST_F(SchedTest, SameCommandLineGivesTheSameBytes) {
  const Words words = {"--plain", "2x8", trace(), "-o", "ndjson"};
  EXPECT_EQ(replay(words).out, replay(words).out);
}

TEST_F(SchedTest, QuotasLimitJobs) {
  // y may use 4 GPUs and borrow none: its jobs of 8 never start.
  const Json all = json({"--plain", "2x8", trace(), "--policy", "easy", "--tenant", "y=4,borrow=0"});
  EXPECT_EQ(all.at("policies")[0].at("never_started"), 2);
}

TEST_F(SchedTest, LostServersRestartJobs) {
  const Json all = json({"--plain", "2x8", trace(), "--policy", "fifo", "--first", "1", "--lose", "node-[1-2]@4s+6s"});
  EXPECT_EQ(all.at("policies")[0].at("failures"), 1);
  // 4 s done and lost, both servers back at 10 s, then all 10 s again.
  EXPECT_DOUBLE_EQ(all.at("policies")[0].at("makespan_s").get<double>(), 20);
  EXPECT_DOUBLE_EQ(all.at("policies")[0].at("lost_gpu_hours").get<double>(), 32.0 / 3600);
}

TEST_F(SchedTest, ClusterFileDefinesTheMachine) {
  const Json all = json({source_dir() + "/examples/pod32.yaml", trace(), "--policy", "weft"});
  EXPECT_EQ(all.at("policies")[0].at("started"), 4);
  EXPECT_EQ(all.at("replay").at("gpus"), 256);
}

// Servers in units of 8 with 4:1 between them. A gang with two pipeline stages that gets half of two units sends every
// activation over the uplinks and runs longer than in the trace; in one unit it runs as long as in the trace.
TEST_F(SchedTest, TrainingJobRunTimeDependsOnPlacement) {
  std::string cluster = contents(source_dir() + "/examples/pod32.yaml");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"unit: 32", "unit: 8"}, {"spines: 4, ", ""}, {"oversubscription: 1:1", "oversubscription: 8:1"}}) {
    const std::size_t at = cluster.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    cluster.replace(at, from.size(), to);
  }
  (void)file("gang.job.yaml",
             "job: 1\nname: gang\npool: train\nnodes: 8\ncommand: [train.py]\ntraining:\n  model: llama-3.1-70b\n"
             "  sequence: 4096\n  global_batch: 64\n  micro_batch: 1\n  parallel: {tensor: 8, pipeline: 2}\n"
             "  overlap: {data: false}\n  steps: 1000\n  data: {volume: datasets}\n"
             "  checkpoint: {volume: checkpoints, interval: 30m}\n");
  // Fillers take the 31 servers that are not spares in order; those of servers 5 to 12 end first.
  std::string rows = "name,submit,gpus,tasks,run_time,limit,job_file\n";
  for (int i = 0; i < 31; ++i) {
    rows += "filler,0,8,1," + std::string(i >= 4 && i < 12 ? "100" : "5000") + ",6000,\n";
  }
  rows += "halves,200,8,8,1000,3000,gang.job.yaml\nunit,6000,8,8,1000,3000,gang.job.yaml\n";
  const Outcome outcome = replay(
      {file("units.yaml", cluster), file("gangs.csv", rows), "--policy", "easy", "--jobs", in_folder("gangs.ndjson")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string lines = contents(in_folder("gangs.ndjson"));
  const auto end_of = [&](const std::string& job) {
    const std::size_t name = lines.find("\"job\":\"" + job + "\"");
    const std::size_t begin = lines.rfind('\n', name) + 1;
    return Json::parse(lines.substr(begin, lines.find('\n', name) - begin)).at("end_s").get<double>();
  };
  EXPECT_GT(end_of("halves"), 1200.5);
  EXPECT_LT(end_of("halves"), 1300);
  EXPECT_DOUBLE_EQ(end_of("unit"), 7000);
}

TEST_F(SchedTest, RefusesWhatMakesNoSense) {
  const auto refused = [&](const Words& words, const std::string& problem) {
    const Outcome outcome = replay(words);
    EXPECT_EQ(outcome.code, 2) << problem;
    EXPECT_THAT(outcome.err, HasSubstr(problem));
    EXPECT_EQ(outcome.out, "");
  };
  refused({trace()}, "missing machine");
  refused({"--plain", "2x99", trace()}, "not SERVERSxGPUS");
  refused({"--plain", "2x8", trace(), "--policy", "best"}, "unknown policy `best`");
  refused({"--plain", "2x8", trace(), "--tenant", "x"}, "is not of the form NAME=GPUS");
  refused({"--plain", "2x8", trace(), "--tenant", "x=4,steal=2"}, "`steal=2` is not a valid setting");
  refused({"--plain", "2x8", trace(), "--lose", "node-9@1s"}, "the machine has no server `node-9`");
  refused({"--plain", "2x8", trace(), "--limits", "0.5"}, "--limits");
  refused({"--plain", "2x8", "--nodes", trace(), trace()}, "mutually exclusive");
  refused({"--plain", "2x8", trace(), "--after", "1h"}, "no jobs to replay");
  refused({"--plain", "2x8", file("bad.csv", "name,gpus,run_time\na,many,10\n")}, "bad.csv:2");
  EXPECT_NE(replay({"--plain", "2x8", in_folder("absent.csv")}).code, 0);
}

TEST_F(SchedTest, PublishedTraces) {
  const std::string openb = test_data_dir() + "/traces/openb/";
  WEFT_NEEDS_DATA("traces/openb");
  const Json all = json({"--nodes", openb + "openb_node_list_gpu_node.csv.gz", openb + "openb_pod_list_default.csv.gz",
                         "--policy", "greedy", "--first", "500"});
  EXPECT_EQ(all.at("policies")[0].at("never_started"), 0);
}

}  // namespace
}  // namespace weft
