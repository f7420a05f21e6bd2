// Slurm's accounting and incident lists as histories: states, requeues, reused numbers, columns in any order, errors
// with their places.
#include "twin/slurm_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/machine/plain_machine.h"
#include "twin/history_recording.h"
#include "twin/twin.h"

namespace weft::twin {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kHeader = "JobID|User|JobName|Submit|Start|End|State|NodeList|AllocTRES\n";

std::shared_ptr<const sched::Machine> machine() {
  sched::PlainMachine plain;
  plain.nodes = 8;
  return std::make_shared<const sched::Machine>(sched::plain_machine(plain));
}

// A row with times of 2026-10-01.
std::string row(const std::string& id, const std::string& submit, const std::string& start, const std::string& end,
                const std::string& state, const std::string& nodes, int gpus) {
  const auto time = [](const std::string& text) { return text.empty() ? "Unknown" : "2026-10-01T" + text; };
  return id + "|ann|train|" + time(submit) + "|" + time(start) + "|" + time(end) + "|" + state + "|" + nodes +
         "|billing=4,cpu=64,gres/gpu=" + std::to_string(gpus) + ",mem=1T,node=1\n";
}

struct Read {
  std::optional<History> history;
  std::vector<std::string> errors;
};

std::vector<std::string> errors_of(const Diagnostics& diagnostics) {
  std::vector<std::string> errors;
  for (const Diagnostic& each : diagnostics.sorted())
    errors.push_back(std::to_string(each.place.line) + ":" + std::to_string(each.place.column) + " " + each.message);
  return errors;
}

Read read(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("sacct.txt", text);
  Read out;
  out.history = read_sacct(sources, file, *machine(), diagnostics);
  out.errors = errors_of(diagnostics);
  EXPECT_EQ(out.history.has_value(), out.errors.empty());
  return out;
}

std::vector<Trouble> list(const std::string& text, std::vector<std::string>* errors = nullptr) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("incidents.csv", text);
  const std::optional<std::vector<Trouble>> troubles = read_incident_list(sources, file, *machine(), diagnostics);
  EXPECT_EQ(troubles.has_value(), !diagnostics.has_errors());
  if (errors != nullptr) *errors = errors_of(diagnostics);
  return troubles.value_or(std::vector<Trouble>());
}

TEST(SlurmHistoryTest, StatesStepsAndRequeues) {
  const Read got = read(std::string(kHeader) +  //
                        row("10", "00:00:00", "00:01:00", "02:00:00", "NODE_FAIL", "node-[1-4]", 32) +
                        row("10.batch", "00:00:00", "00:01:00", "02:00:00", "CANCELLED", "node-1", 8) +
                        row("10", "02:00:01", "02:03:00", "09:00:00", "COMPLETED", "node-[1-3,5]", 32) +
                        row("11_3", "01:00:00", "01:00:10", "01:30:00", "OUT_OF_MEMORY", "node-6", 8) +
                        row("12+0", "01:00:01", "01:00:20", "03:00:00", "CANCELLED by 1000", "node-7", 4) +
                        row("13", "05:00:00", "", "", "PENDING", "None assigned", 8) +
                        row("14", "05:00:00", "05:00:00", "", "RUNNING", "node-8", 8) +
                        row("15", "05:00:00", "05:00:00", "06:00:00", "TIMEOUT", "login-1", 8) +
                        row("16", "05:00:00", "05:00:00", "06:00:00", "COMPLETED", "node-1", 0));
  ASSERT_TRUE(got.history.has_value()) << testing::PrintToString(got.errors);
  const History& history = *got.history;
  ASSERT_EQ(history.jobs.size(), 4U);
  EXPECT_EQ(history.jobs[0].spec.shape.name, "10-train");
  ASSERT_EQ(history.jobs[0].attempts.size(), 2U);
  EXPECT_TRUE(history.jobs[0].attempts[0].interrupted);
  EXPECT_FALSE(history.jobs[0].attempts[1].interrupted);
  EXPECT_EQ(history.jobs[0].end, control::JobState::done);
  EXPECT_EQ(history.jobs[0].spec.shape.task.gpus, 8);
  EXPECT_EQ(history.jobs[1].end, control::JobState::failed);
  EXPECT_TRUE(history.jobs[1].spec.restart.on_success_only);
  EXPECT_EQ(history.jobs[2].end, control::JobState::canceled);
  EXPECT_EQ(history.jobs[2].attempts[0].parts[0].milli, 4000);
  EXPECT_FALSE(history.jobs[3].end.has_value());
  EXPECT_EQ(history.until - history.from, sched::seconds(9 * 3600));
  EXPECT_THAT(history.notes, Contains("1 row without GPUs: left out."));
  EXPECT_THAT(history.notes, Contains("1 row on nodes that the cluster lacks: left out."));
  EXPECT_THAT(history.notes, Contains("1 row that did not start: left out."));
}

TEST(SlurmHistoryTest, ReusedNumbersAreOtherJobs) {
  const Read got = read(std::string(kHeader) +  //
                        row("10", "00:00:00", "00:01:00", "02:00:00", "COMPLETED", "node-1", 8) +
                        row("10", "03:00:00", "03:01:00", "04:00:00", "COMPLETED", "node-1", 8));
  ASSERT_TRUE(got.history.has_value());
  ASSERT_EQ(got.history->jobs.size(), 2U);
  const NotedRecording recording = make_recording(*got.history, *machine(), "lab");
  EXPECT_EQ(recording.spec.jobs.value.size(), 2U);
  EXPECT_NE(recording.spec.jobs.value[0].spec.value, recording.spec.jobs.value[1].spec.value);
}

TEST(SlurmHistoryTest, ColumnsInAnyOrderAndTypedGpus) {
  const Read got = read(
      "State|AllocTRES|NodeList|End|Start|Submit|JobID|Partition\n"
      "COMPLETED|cpu=8,gres/gpu:h100=6,gres/gpu:a100=2|node-2|2026-10-01T05:00:00+02:00|2026-10-01T02:00:00|"
      "2026-10-01T01:00:00|7|gpu \"A|\n");
  EXPECT_THAT(got.errors, ElementsAre(HasSubstr("2:")));  // the name has the separator
  const Read good = read(
      "State|AllocTRES|NodeList|End|Start|Submit|JobID|JobName\n"
      "COMPLETED|cpu=8,gres/gpu:h100=6,gres/gpu:a100=2|node-2|2026-10-01T05:00:00|2026-10-01T02:00:00|"
      "2026-10-01T01:00:00|7|\"a b\n");
  ASSERT_TRUE(good.history.has_value()) << testing::PrintToString(good.errors);
  EXPECT_EQ(good.history->jobs[0].spec.shape.task.gpus, 8);
  EXPECT_EQ(good.history->jobs[0].spec.shape.name, "7-\"a-b");
}

TEST(SlurmHistoryTest, ErrorsHaveTheirPlace) {
  EXPECT_THAT(read("JobID|User\n1|ann\n").errors, Contains(HasSubstr("1:1 missing column `Submit`")));
  EXPECT_THAT(read("").errors, ElementsAre(HasSubstr("no header")));
  const std::string head = kHeader;
  EXPECT_THAT(read(head + row("1", "00:00:00", "00:00:00", "01:00:00", "LOST", "node-1", 8)).errors,
              ElementsAre("2:73 unknown job state `LOST`"));
  EXPECT_THAT(read(head + row("1", "00:00:00", "02:00:00", "01:00:00", "COMPLETED", "node-1", 8)).errors,
              ElementsAre(HasSubstr("ends before it starts")));
  EXPECT_THAT(read(head + row("1", "0:0", "02:00:00", "03:00:00", "COMPLETED", "node-1", 8)).errors,
              ElementsAre(HasSubstr("2:13 ")));
  EXPECT_THAT(read(head + row("1", "00:00:00", "02:00:00", "03:00:00", "COMPLETED", "node-[1", 8)).errors,
              ElementsAre(HasSubstr("is not a list of nodes")));
  EXPECT_THAT(read(head + row("1", "00:00:00", "02:00:00", "03:00:00", "COMPLETED", "login", 8)).errors,
              ElementsAre(HasSubstr("no job with GPUs")));
  EXPECT_THAT(read(head + "1|ann\n").errors, ElementsAre(HasSubstr("the row has 2 fields")));
}

TEST(SlurmHistoryTest, IncidentLists) {
  const std::vector<Trouble> troubles = list(
      "node,time,cause,repaired,detected,fix,effect\n"
      "node-3,2026-10-01T05:00:00,Xid 79,2026-10-01 09:00,2026-10-01T05:10:00,,\n"
      "node-1,2026-10-01T02:00:00,\"PSU, left\",,,power_cycle,down\n");
  ASSERT_EQ(troubles.size(), 2U);
  EXPECT_EQ(troubles[0].signal, "PSU, left");
  EXPECT_EQ(troubles[0].fix, Fix::power_cycle);
  EXPECT_EQ(troubles[0].effect, Effect::down);
  EXPECT_EQ(troubles[1].fix, Fix::person);
  EXPECT_EQ(troubles[1].ended - troubles[1].detected, sched::seconds(3 * 3600 + 50 * 60));
  std::vector<std::string> errors;
  (void)list("time,node\n", &errors);
  EXPECT_THAT(errors, ElementsAre(HasSubstr("missing column `cause`")));
  (void)list("time,node,cause\n2026-10-01T05:00:00,node-99,x\nyesterday,node-1,x\n", &errors);
  EXPECT_THAT(errors, ElementsAre(HasSubstr("2:21 the cluster has no node `node-99`"), HasSubstr("3:1 ")));
  (void)list(
      "time,node,cause,repaired,fix\n2026-10-01T05:00:00,node-1,x,2026-10-01T04:00:00,\n"
      "2026-10-01T05:00:00,node-1,x,,persn\n",
      &errors);
  EXPECT_THAT(errors, ElementsAre(HasSubstr("is before it was detected"), HasSubstr("unknown fix `persn`")));
}

// A month in small: what the accounting has, the replay has too.
TEST(SlurmHistoryTest, ReplayedItIsWhatWas) {
  Read got = read(std::string(kHeader) +  //
                  row("10", "00:00:00", "00:01:00", "05:00:00", "NODE_FAIL", "node-[1-4]", 32) +
                  row("10", "05:00:10", "05:03:00", "19:00:00", "COMPLETED", "node-[2-5]", 32) +
                  row("11", "00:00:00", "00:01:00", "08:00:00", "FAILED", "node-[6-7]", 16) +
                  row("12", "09:00:00", "09:01:00", "12:00:00", "COMPLETED", "node-[6-7]", 16));
  ASSERT_TRUE(got.history.has_value());
  got.history->troubles = list(
      "time,node,cause,detected,repaired\n2026-10-01T04:55:00,node-1,Xid 79,2026-10-01T05:00:00,2026-10-01T11:00\n");
  const NotedRecording made = make_recording(*got.history, *machine(), "lab");
  EXPECT_FALSE(made.spec.outcome.value.productive.has_value());
  EXPECT_EQ(made.spec.outcome.value.interruptions.value, 2);
  Diagnostics diagnostics;
  std::optional<Recording> recording = read_recording(made.spec, diagnostics);
  ASSERT_TRUE(recording.has_value());
  ASSERT_EQ(recording->incidents.size(), 2U);
  EXPECT_EQ(recording->incidents[0].first, "node-1");
  EXPECT_EQ(recording->incidents[1].second.job, 1);
  EXPECT_EQ(place_incidents(*recording, machine()), 0U);
  const Result<TwinResult> result = play(recording->plan);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->interruptions(), 2U);
  const std::int64_t held = outcome_of(*result).held.value;
  EXPECT_NEAR(static_cast<double>(held), static_cast<double>(made.spec.outcome.value.held.value),
              0.02 * static_cast<double>(held));
  EXPECT_TRUE(result->jobs[0].account.done);
  EXPECT_NEAR(result->jobs[0].account.ended.seconds() - kTwinStart.seconds(), 19 * 3600, 600);
  EXPECT_FALSE(result->jobs[1].account.done);
  EXPECT_TRUE(result->jobs[2].account.done);
}

}  // namespace
}  // namespace weft::twin
