// Recordings: read back, replayed, and invalid ones.
#include "twin/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/machine/plain_machine.h"

namespace weft::twin {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr Duration kDay = sched::seconds(86'400);

std::shared_ptr<const sched::Machine> machine_of(std::int32_t nodes) {
  sched::PlainMachine plain;
  plain.nodes = nodes;
  return std::make_shared<const sched::Machine>(sched::plain_machine(plain));
}

TwinPlan busy_plan(std::uint64_t seed) {
  TwinPlan plan;
  plan.cluster = "test";
  plan.machine = machine_of(20);
  plan.faults = default_faults();
  plan.fault_scale = 40;
  plan.length = kDay * 4;
  plan.seed = seed;
  for (int i = 0; i < 3; ++i) {
    TwinJob job;
    job.spec.shape.name = "job-" + std::to_string(i);
    job.spec.shape.user = "ann";
    job.spec.shape.tasks = 6;
    job.spec.shape.task.gpus = 8;
    job.spec.command = {"train", "--data", "a b"};
    job.spec.checkpoint.volumes = {"/checkpoints"};
    job.spec.restart.max_failures = 1'000'000;
    job.submitted = sched::seconds(3600) * i;
    if (i == 1) job.work = sched::seconds(100'000);
    plan.jobs.push_back(job);
  }
  number_jobs(plan.jobs);
  return plan;
}

std::optional<Recording> read(const std::string& text, std::vector<std::string>* errors = nullptr) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("recording", text);
  std::optional<Recording> recording = read_recording(sources, file, diagnostics);
  EXPECT_EQ(recording.has_value(), !diagnostics.has_errors());
  if (errors == nullptr) {
    EXPECT_FALSE(diagnostics.has_errors()) << render_all(diagnostics, sources, false);
    return recording;
  }
  for (const Diagnostic& each : diagnostics.sorted()) {
    errors->push_back(std::to_string(each.place.line) + ":" + std::to_string(each.place.column) + " " + each.message);
  }
  return recording;
}

TEST(RecordingTest, ReplayedAsItWasTheJournalIsTheSame) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    TwinPlan plan = busy_plan(seed);
    plan.options.repair = seed != 3;
    const Result<TwinResult> result = play(plan);
    ASSERT_TRUE(result.ok());
    EXPECT_GE(result->interruptions(), 3U);
    std::optional<Recording> recording = read(write_recording(plan, *result));
    ASSERT_TRUE(recording.has_value());
    EXPECT_EQ(place_incidents(*recording, machine_of(20)), 0U);
    EXPECT_EQ(recording->plan.incidents, incidents_of(plan));
    EXPECT_EQ(recording->nodes, names_hash(*plan.machine));
    const Result<TwinResult> again = play(recording->plan);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->hash, result->hash) << seed;
    EXPECT_EQ(again->time, result->time);
    EXPECT_EQ(outcome_of(*again).journal.value, recording->outcome->journal.value);
  }
}

// Two more nodes: the incidents of the others stay theirs.
TEST(RecordingTest, MoreSparesSaveWaits) {
  TwinPlan plan = busy_plan(5);
  plan.fault_scale = 150;
  const Result<TwinResult> result = play(plan);
  ASSERT_TRUE(result.ok());
  std::optional<Recording> recording = read(write_recording(plan, *result));
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(place_incidents(*recording, machine_of(24)), 0U);
  EXPECT_NE(recording->nodes, names_hash(*recording->plan.machine));
  const Result<TwinResult> with = play(recording->plan);
  ASSERT_TRUE(with.ok());
  const auto waits = [](const TwinResult& each) {
    Duration sum{};
    for (const JobResult& job : each.jobs) sum += job.account.waits;
    return sum;
  };
  EXPECT_LT(waits(*with), waits(*result));
  EXPECT_GT(place_incidents(*recording, machine_of(4)), 0U);
}

TEST(RecordingTest, PeopleCanWriteOne) {
  const std::string text =
      "recording: 1\nlength: 2d\nfaults:\n  faults: 1\n  causes: [{name: gpu, rate: 0, detect: 60s, repair: 2h}]\n"
      "jobs: []\nincidents:\n  - {at: 3h, node: node-0001, cause: gpu, fix: person, detect: 30s, repair: 5h}\n";
  const std::optional<Recording> recording = read(text);
  ASSERT_TRUE(recording.has_value());
  ASSERT_EQ(recording->incidents.size(), 1U);
  EXPECT_EQ(recording->incidents[0].first, "node-0001");
  EXPECT_EQ(recording->incidents[0].second.repair, sched::seconds(5 * 3600));
}

TEST(RecordingTest, ErrorsHaveTheirPlace) {
  const std::string head =
      "recording: 1\nlength: 2d\nfaults:\n  faults: 1\n  causes: [{name: gpu, rate: 0, detect: 60s, repair: 2h}]\n";
  const auto errors_of = [&](const std::string& rest) {
    std::vector<std::string> errors;
    (void)read(head + rest, &errors);
    return errors;
  };
  EXPECT_THAT(errors_of("jobs: []\n"), Contains(HasSubstr("incidents")));
  EXPECT_THAT(errors_of("jobs: []\nincidents:\n  - {at: 3h, node: a, cause: fan, fix: restart}\n"),
              Contains("8:30 unknown cause `fan`"));
  EXPECT_THAT(errors_of("jobs: []\nincidents:\n  - {at: 3h, node: a, cause: gpu, fix: person}\n"),
              Contains(HasSubstr("`detect` is needed")));
  EXPECT_THAT(
      errors_of("jobs:\n  - {spec: nothing, submitted: 1s, launch: 1s, load: 1s, restore: 1s, stall: 1s, write: "
                "1s, step: 1s}\nincidents: []\n"),
      Contains(HasSubstr("7:12 ")));
  EXPECT_THAT(errors_of("seed: x\njobs: []\nincidents: []\n"), Contains(HasSubstr("6:7 `x` is not a seed")));
}

}  // namespace
}  // namespace weft::twin
