#include "sched/replay/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sched/machine/plain_machine.h"
#include "sched/replay/choice.h"
#include "sched/replay/page.h"
#include "sched/replay/plot.h"
#include "sched/replay/policies.h"

namespace weft::sched {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// Two servers: a small job, a gang that waits for it, and a stream of small jobs behind.
struct Scene {
  std::shared_ptr<const Machine> machine;
  std::vector<Job> jobs;
  ReplayReport report;

  explicit Scene(const std::vector<std::string>& policies, std::int64_t until = 400'000) {
    PlainMachine plain;
    plain.nodes = 2;
    machine = std::make_shared<const Machine>(plain_machine(plain));
    const auto add = [&](std::string name, std::int64_t at, std::int32_t nodes, std::int64_t run) {
      Job job;
      job.name = std::move(name);
      job.tenant = nodes > 1 ? "<big>" : "small";
      job.submitted = Moment() + seconds(at);
      job.task.gpus = 8;
      job.tasks = nodes;
      job.run_time = job.limit = seconds(run);
      jobs.push_back(std::move(job));
    };
    add("first", 0, 1, 3600);
    add("gang", 1, 2, 600);
    for (std::int64_t at = 1800; at < until; at += 1800) add("small", at, 1, 3600);
    report.trace = "a<b>.csv";
    report.format = "weft";
    report.machine = "two & two";
    report.nodes = 2;
    report.gpus = 16;
    report.jobs = jobs;
    for (const std::string& name : policies) {
      ReplayOptions options;
      options.policy = find_policy(name)->policy;
      options.keep_nodes = true;
      ReplayRun run;
      run.result = replay(machine, jobs, options);
      run.metrics = measure(name, jobs, run.result);
      report.runs.push_back(std::move(run));
    }
  }
};

TEST(ReplayView, BestIsMarkedAndPoliciesAreSideBySide) {
  const Scene scene({"fifo", "greedy", "easy"});
  const std::string text = write(replay_document(scene.report, false), {});
  EXPECT_THAT(text, HasSubstr("fifo"));
  EXPECT_THAT(text, HasSubstr("longest"));
  EXPECT_THAT(text, HasSubstr(" *"));
  const Json json = Json::parse(write(replay_document(scene.report, true), {OutputFormat::json, false}));
  const Json& rows = json.at("policies");
  ASSERT_EQ(rows.size(), 3U);
  // The gang starts at 3600 s with a reservation, and after the last small job without one.
  EXPECT_LT(rows[2].at("wait_longest_s").get<double>(), 3600 + 3600);
  EXPECT_GT(rows[1].at("wait_longest_s").get<double>(), 390'000);
  EXPECT_EQ(rows[0].at("policy"), "fifo");
}

TEST(ReplayView, StarvationIsDetectedAndExplained) {
  const Scene scene({"greedy"});
  EXPECT_THAT(replay_findings(scene.report), ::testing::Contains(HasSubstr("gang (16 GPUs, tenant <big>) waited")));
  EXPECT_THAT(replay_findings(Scene({"easy"}).report), ::testing::Each(Not(HasSubstr("gang"))));
}

TEST(ReplayView, StrictOrderIsReportedAsCauseOfIdleGpus) {
  EXPECT_THAT(replay_findings(Scene({"fifo"}, 7200).report), ::testing::Contains(HasSubstr("Strict order")));
}

TEST(ReplayView, OneLinePerJob) {
  const Scene scene({"easy"});
  std::string text;
  ASSERT_TRUE(write_jobs(scene.report, scene.report.runs[0], *scene.machine, [&](std::string_view piece) {
    text += piece;
    return true;
  }));
  std::size_t lines = 0;
  std::size_t from = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    const Json line = Json::parse(text.substr(from, end - from));
    if (lines == 1) {
      EXPECT_EQ(line.at("job"), "gang");
      EXPECT_EQ(line.at("nodes"), "node-[1-2]");
      EXPECT_DOUBLE_EQ(line.at("wait_s").get<double>(), 3599);
      EXPECT_DOUBLE_EQ(line.at("start_s").get<double>(), 3600);
    }
    from = end + 1;
    ++lines;
  }
  EXPECT_EQ(lines, scene.jobs.size());
}

TEST(ReplayView, DurationsAreHumanReadable) {
  EXPECT_EQ(span_text(0), "0 s");
  EXPECT_EQ(span_text(4.25), "4.2 s");
  EXPECT_EQ(span_text(45), "45 s");
  EXPECT_EQ(span_text(600), "10.0 min");
  EXPECT_EQ(span_text(7200), "2.0 h");
  EXPECT_EQ(span_text(10 * 86'400), "10.0 d");
}

TEST(ReplayPage, EscapesNamesAndHasAllPlots) {
  const Scene scene({"fifo", "easy"});
  const std::string page = replay_page(scene.report);
  EXPECT_THAT(page, HasSubstr("a&lt;b&gt;.csv"));
  EXPECT_THAT(page, HasSubstr("&lt;big&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<big>")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  for (const char* title :
       {"Utilization", "GPUs that waiting jobs request", "Share of jobs by wait", "Mean wait by size"}) {
    EXPECT_THAT(page, HasSubstr(title));
  }
  EXPECT_EQ(page.find("<?xml"), std::string::npos);
}

// Figures by hand: `quick` makes most jobs wait less, at the cost of the big ones, and repeats work.
ReplayReport two_policies() {
  ReplayReport report;
  report.runs.resize(2);
  ReplayMetrics& slow = report.runs[0].metrics;
  ReplayMetrics& quick = report.runs[1].metrics;
  slow.policy = "slow";
  slow.all.mean = 7200;
  slow.all.p99 = slow.all.longest = 36'000;
  slow.utilization_arriving = 0.90;
  slow.used_gpu_hours = quick.used_gpu_hours = 1000;
  slow.by_size = {{"1 GPU", 90, 0, 3600}, {"9-64 GPUs", 10, 0, 18'000}};
  quick = slow;
  quick.policy = "quick";
  quick.all.mean = 3600;
  quick.utilization_arriving = 0.895;
  quick.by_size = {{"1 GPU", 90, 0, 600}, {"9-64 GPUs", 10, 0, 36'000}};
  quick.preemptions = 12;
  quick.lost_gpu_hours = 50;
  return report;
}

TEST(ReplayChoice, SaysWhoWinsAndWhoPays) {
  const ReplayReport report = two_policies();
  const std::vector<PolicyChoice> choices = policy_choices(report);
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_THAT(choices[1].wins, ::testing::ElementsAre("mean wait: 60.0 min (slow 2.0 h)",
                                                      "mean wait of jobs of 1 GPU: 10.0 min (slow 60.0 min)"));
  EXPECT_THAT(choices[1].pays, ::testing::ElementsAre(
                                   "work repeated, as a share of the GPU-hours used: 5.0 % instead of 0.0 % under slow",
                                   "mean wait of jobs of 9-64 GPUs: 10.0 h instead of 5.0 h under slow",
                                   "12 preemptions, with 50 GPU-hours of work repeated"));
  EXPECT_THAT(choices[0].pays, ::testing::Contains("mean wait: 2.0 h instead of 60.0 min under quick"));
  // Half a point of utilization does not count.
  const std::string summary = choice_summary(report);
  EXPECT_THAT(summary, HasSubstr("Under quick jobs wait 60.0 min on average; slow 2.0 h."));
  EXPECT_THAT(summary, HasSubstr("utilization while jobs arrive (90.0 %)"));
  EXPECT_THAT(replay_page(report), HasSubstr("Which policy"));
}

TEST(ReplayChoice, EqualFiguresFavorNone) {
  ReplayReport report = two_policies();
  report.runs[1].metrics = report.runs[0].metrics;
  report.runs[1].metrics.policy = "same";
  for (const PolicyChoice& choice : policy_choices(report)) {
    EXPECT_TRUE(choice.wins.empty());
    EXPECT_TRUE(choice.pays.empty());
  }
  EXPECT_THAT(choice_summary(report), HasSubstr("equally long under all policies"));
  report.runs.resize(1);
  EXPECT_TRUE(policy_choices(report).empty());
  EXPECT_THAT(replay_page(report), Not(HasSubstr("Which policy")));
}

TEST(ReplayPage, EmptyReplayHasPlots) {
  ReplayReport report;
  report.runs.resize(1);
  EXPECT_THAT(replay_picture(report), HasSubstr("<svg"));
  EXPECT_THAT(write(replay_document(report, false), {}), HasSubstr("Utilization"));
}

}  // namespace
}  // namespace weft::sched
