// Recordings from journals, checked against the twin: it writes the journal of a run of which it knows the truth.
#include "twin/journal_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/record.h"
#include "sched/machine/plain_machine.h"
#include "store/memory_store.h"
#include "twin/history_recording.h"
#include "twin/incident_finder.h"
#include "twin/twin.h"

namespace weft::twin {
namespace {

using testing::HasSubstr;

constexpr Duration kDay = sched::seconds(86'400);

std::shared_ptr<const sched::Machine> machine_of(std::int32_t nodes) {
  sched::PlainMachine plain;
  plain.nodes = nodes;
  return std::make_shared<const sched::Machine>(sched::plain_machine(plain));
}

TwinJob job_of(const std::string& name, std::int32_t nodes) {
  TwinJob job;
  job.spec.shape.name = name;
  job.spec.shape.user = "ann";
  job.spec.shape.tasks = nodes;
  job.spec.shape.task.gpus = 8;
  job.spec.command = {"train"};
  job.spec.checkpoint.volumes = {"/checkpoints"};
  job.spec.checkpoint.interval = sched::seconds(1200);
  job.spec.restart.max_failures = 1'000'000;
  return job;
}

TwinPlan busy_plan(std::uint64_t seed, double scale = 40) {
  TwinPlan plan;
  plan.cluster = "test";
  plan.machine = machine_of(20);
  plan.faults = default_faults();
  plan.fault_scale = scale;
  plan.length = kDay * 4;
  plan.seed = seed;
  for (int i = 0; i < 3; ++i) {
    TwinJob job = job_of("job-" + std::to_string(i), 6);
    job.submitted = sched::seconds(3600) * i;
    if (i > 0) job.work = sched::seconds(100'000) * i;
    plan.jobs.push_back(job);
  }
  number_jobs(plan.jobs);
  return plan;
}

struct Imported {
  TwinResult truth;
  History history;
  NotedRecording recording;
};

Imported import(const TwinPlan& plan) {
  store::MemoryStore store;
  TwinHooks hooks;
  hooks.journal = &store;
  Imported out;
  Result<TwinResult> truth = play(plan, hooks);
  EXPECT_TRUE(truth.ok());
  out.truth = std::move(truth).value();
  Result<History> history = read_journal(plan.machine, store, std::nullopt);
  EXPECT_TRUE(history.ok()) << (history.ok() ? "" : history.error().text());
  if (!history.ok()) return out;
  out.history = std::move(history).value();
  // The journal ends with its last record: the run went on.
  clip_history(out.history, out.history.from, kTwinStart + plan.length);
  out.recording = make_recording(out.history, *plan.machine, plan.cluster);
  return out;
}

Recording read_back(const RecordingSpec& spec, const std::shared_ptr<const sched::Machine>& machine) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("recording", write_recording(spec));
  std::optional<Recording> recording = read_recording(sources, file, diagnostics);
  EXPECT_TRUE(recording.has_value()) << render_all(diagnostics, sources, false);
  if (!recording) return {};
  EXPECT_EQ(place_incidents(*recording, machine), 0U);
  return *std::move(recording);
}

double share_off(std::int64_t measured, std::int64_t truth) {
  return static_cast<double>(measured - truth) / static_cast<double>(truth);
}

// What the journal knows is right: every attempt and interruption. The rest is off by the delay of reports.
TEST(JournalHistoryTest, AgreesWithTheTruthOfTheTwin) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    TwinPlan plan = busy_plan(seed);
    plan.options.repair = seed != 5;
    const Imported imported = import(plan);
    const RecordedOutcome truth = outcome_of(imported.truth);
    const RecordingSpec& spec = imported.recording.spec;
    ASSERT_EQ(spec.jobs.value.size(), plan.jobs.size());
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
      const RecordedJob& job = spec.jobs.value[j];
      const TwinWorld::JobAccount& account = imported.truth.jobs[j].account;
      EXPECT_EQ(job.attempts.value, account.attempts) << seed << " " << j;
      EXPECT_EQ(job.interruptions.value, account.interruptions) << seed << " " << j;
      EXPECT_EQ(job.ended.has_value(), account.done) << seed << " " << j;
      if (account.done) {
        EXPECT_NEAR(sched::seconds_of(job.work.value), sched::seconds_of(plan.jobs[j].work), 60) << seed << " " << j;
      }
      EXPECT_NEAR(sched::seconds_of(job.load.value), sched::seconds_of(plan.jobs[j].load), 2) << seed << " " << j;
      EXPECT_NEAR(sched::seconds_of(job.stall.value), sched::seconds_of(plan.jobs[j].stall), 0) << seed << " " << j;
      EXPECT_NEAR(sched::seconds_of(job.step.value), 1, 0.01) << seed << " " << j;
    }
    EXPECT_EQ(spec.outcome.value.interruptions.value, truth.interruptions.value) << seed;
    EXPECT_EQ(spec.outcome.value.all.value, truth.all.value) << seed;
    EXPECT_NEAR(share_off(spec.outcome.value.productive.value, truth.productive.value), 0, 0.003) << seed;
    EXPECT_NEAR(share_off(spec.outcome.value.held.value, truth.held.value), 0, 0.001) << seed;
  }
}

// People's repairs of the truth are in the recording, as long as they took. Without a session, when people began is not
// in the journal: those of the twin look every ten minutes when nothing else happens.
TEST(JournalHistoryTest, RepairTimesAreThoseOfTheTruth) {
  std::size_t exact = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    TwinPlan plan = busy_plan(seed);
    plan.options.repair = seed % 3 != 0;
    const Imported imported = import(plan);
    const Recording recording = read_back(imported.recording.spec, plan.machine);
    for (const IncidentCourse& course : imported.truth.courses) {
      if (course.incident.fix != Fix::person || course.returned == sched::Moment()) continue;
      Duration off = sched::kUnlimited;
      for (const Incident& each : *recording.plan.incidents) {
        const Duration more = each.repair - course.incident.respond - course.incident.repair;
        if (each.node == course.incident.node && each.fix == Fix::person && more > sched::seconds(-2))
          off = std::min(off, more);
      }
      EXPECT_LT(off, plan.options.repair ? sched::seconds(15) : sched::seconds(660))
          << seed << " " << plan.machine->node(course.incident.node).name;
      exact += off < sched::seconds(15) ? 1U : 0U;  // the next turn of the controller: 10 s
    }
  }
  EXPECT_GE(exact, 4U);
}

TEST(JournalHistoryTest, ReplayedItIsCloseToTheTruth) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const TwinPlan plan = busy_plan(seed, 20);
    const Imported imported = import(plan);
    Recording recording = read_back(imported.recording.spec, plan.machine);
    const Result<TwinResult> again = play(recording.plan);
    ASSERT_TRUE(again.ok());
    EXPECT_NEAR(again->goodput(), imported.truth.goodput(), 0.01) << seed;
    EXPECT_NEAR(static_cast<double>(again->interruptions()), static_cast<double>(imported.truth.interruptions()), 2)
        << seed;
  }
}

// A process that fails by itself belongs to its job, wherever that runs.
TEST(JournalHistoryTest, ProcessesThatFailBelongToTheirJobs) {
  TwinPlan plan;
  plan.cluster = "test";
  plan.machine = machine_of(8);
  plan.faults = default_faults();
  plan.length = kDay;
  plan.jobs = {job_of("a", 4), job_of("a", 4)};
  plan.jobs[0].work = plan.jobs[1].work = sched::seconds(40'000);
  number_jobs(plan.jobs);
  std::vector<Incident> incidents;
  const auto software = std::find_if(plan.faults.causes.begin(), plan.faults.causes.end(),
                                     [](const Cause& each) { return each.name == "software"; });
  for (int i = 0; i < 6; ++i) {
    Incident incident;
    incident.at = sched::seconds(5000) * (i + 1);
    incident.node = sched::NodeId(7);
    incident.cause = static_cast<std::uint32_t>(software - plan.faults.causes.begin());
    incident.job = i % 2;
    incidents.push_back(incident);
  }
  // Two at once: the second waits until the job computes again.
  incidents.push_back(incidents.back());
  plan.incidents = incidents;
  const Imported imported = import(plan);
  EXPECT_EQ(imported.truth.interruptions(), 7U);
  EXPECT_EQ(imported.truth.jobs[0].account.interruptions, 3U);
  const RecordingSpec& spec = imported.recording.spec;
  ASSERT_EQ(spec.incidents.value.size(), 7U);
  EXPECT_EQ(spec.jobs.value[0].interruptions.value, 3);
  const Recording recording = read_back(spec, plan.machine);
  EXPECT_EQ(recording.plan.jobs[0].spec.shape.name, "a-1");
  EXPECT_EQ(recording.plan.jobs[1].spec.shape.name, "a-2");
  ASSERT_EQ(recording.plan.faults.causes.size(), 1U);
  EXPECT_EQ(recording.plan.faults.causes[0].name, "process-failed");
  const Result<TwinResult> again = play(recording.plan);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->interruptions(), 7U);
  for (std::size_t j = 0; j < 2; ++j) {
    ASSERT_TRUE(again->jobs[j].account.done);
    EXPECT_NEAR(again->jobs[j].account.ended.seconds(), imported.truth.jobs[j].account.ended.seconds(), 60);
  }
}

TEST(JournalHistoryTest, HeldJobsAreHeldInTheReplay) {
  TwinPlan plan = busy_plan(2, 100);
  for (TwinJob& job : plan.jobs) job.spec.restart.max_failures = 1;
  const Imported imported = import(plan);
  std::size_t held = 0;
  const Recording recording = read_back(imported.recording.spec, plan.machine);
  const Result<TwinResult> again = play(recording.plan);
  ASSERT_TRUE(again.ok());
  for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
    EXPECT_EQ(imported.history.jobs[j].held, imported.truth.jobs[j].held);
    EXPECT_EQ(again->jobs[j].held, imported.truth.jobs[j].held) << j;
    held += imported.truth.jobs[j].held ? 1U : 0U;
  }
  EXPECT_GE(held, 1U);
}

TEST(JournalHistoryTest, APartOfTheTime) {
  const TwinPlan plan = busy_plan(3);
  Imported imported = import(plan);
  History part = imported.history;
  clip_history(part, kTwinStart + kDay, kTwinStart + kDay * 3);
  const NotedRecording recording = make_recording(part, *plan.machine, "test");
  EXPECT_EQ(recording.spec.length.value, kDay * 2);
  const RecordedOutcome& outcome = recording.spec.outcome.value;
  EXPECT_EQ(outcome.all.value, std::int64_t{160} * 2 * 86'400);
  EXPECT_LE(outcome.productive.value, outcome.held.value);
  EXPECT_LE(outcome.held.value, outcome.all.value);
  EXPECT_LT(outcome.interruptions.value, imported.recording.spec.outcome.value.interruptions.value);
  EXPECT_GT(outcome.interruptions.value, 0);
  const Recording again = read_back(recording.spec, plan.machine);
  EXPECT_TRUE(play(again.plan).ok());
}

// A compacted journal begins with a snapshot.
TEST(JournalHistoryTest, BeginsWithASnapshot) {
  const TwinPlan plan = busy_plan(4);
  store::MemoryStore store;
  TwinHooks hooks;
  hooks.journal = &store;
  TwinPlan longer = plan;
  longer.length = kDay * 60;
  for (TwinJob& job : longer.jobs) {
    job.spec.checkpoint.interval = sched::seconds(120);
    job.stall = job.write = sched::seconds(1);
    job.work = sched::kUnlimited;
  }
  longer.jobs[1].work = sched::seconds(5000);
  const Result<TwinResult> truth = play(longer, hooks);
  ASSERT_TRUE(truth.ok());
  const Result<std::optional<store::Snapshot>> snapshot = store.load_snapshot();
  ASSERT_TRUE(snapshot.ok() && snapshot->has_value()) << "the run has too few records";
  const Result<History> history = read_journal(plan.machine, store, *snapshot);
  ASSERT_TRUE(history.ok()) << history.error().text();
  EXPECT_GT(history->from, kTwinStart);
  ASSERT_FALSE(history->notes.empty());
  EXPECT_THAT(history->notes.front(), HasSubstr("1 job"));
  EXPECT_EQ(history->jobs.size(), 2U);
  EXPECT_TRUE(history->jobs[0].attempts.empty() || history->jobs[0].attempts.front().cut ||
              history->jobs[0].attempts.front().start > history->from);
  const NotedRecording recording = make_recording(*history, *plan.machine, "test");
  EXPECT_TRUE(play(read_back(recording.spec, plan.machine).plan).ok());
}

TEST(JournalHistoryTest, DamagedJournalsAreErrors) {
  const auto machine = machine_of(2);
  store::MemoryStore store;
  EXPECT_FALSE(read_journal(machine, store, std::nullopt).ok());
  store.append(std::vector<std::string>{"nonsense"});
  ASSERT_TRUE(store.sync().ok());
  const Result<History> damaged = read_journal(machine, store, std::nullopt);
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(damaged.error().text(), HasSubstr("journal record 1"));
  store::MemoryStore newer;
  control::Record format;
  format.kind = control::RecordKind::format;
  format.at = sched::Moment(5);
  format.value = 99;
  newer.append(std::vector<std::string>{control::to_text(format)});
  ASSERT_TRUE(newer.sync().ok());
  const Result<History> refused = read_journal(machine, newer, std::nullopt);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("newer version"));
}

TEST(JournalHistoryTest, NamesOfCauses) {
  EXPECT_EQ(cause_name("Xid 79"), "xid-79");
  EXPECT_EQ(cause_name("link down (port 3)"), "link-down-port-3");
  EXPECT_EQ(cause_name("  "), "fault");
  EXPECT_EQ(cause_name("79"), "fault-79");
  EXPECT_LE(cause_name(std::string(200, 'x')).size(), 63U);
}

}  // namespace
}  // namespace weft::twin
