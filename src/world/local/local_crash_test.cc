#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "base/random.h"
#include "base/test_prerequisites.h"
#include "world/local/helper_process.h"
#include "world/local/local_test_support.h"
#include "world/local/part_folder.h"
#include "world/local/process_table.h"

namespace weft::world {
namespace {

using control::PartPhase;
using control::PartReport;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A daemon that leaves its session and its parents, and optionally its environment, as far as a program can.
std::string daemon_script(bool hidden) {
  return std::string("setsid ") + (hidden ? "env -i " : "") + "/bin/sh -c '/bin/sh daemon.sh & exit 0'; ";
}

bool is_alive(pid_t pid) {
  const std::optional<ProcessStat> process = read_process(pid);
  return process && process->state != 'Z';
}

// How the engine contains the processes of a job, and how it starts its supervisors.
enum class EngineMode : std::uint8_t {
  sessions,
  cgroups,
  executed  // cgroups, and supervisors that are programs of their own
};

constexpr char kHelperCommand[] = "--run-weft-helper";

// This test program is also the helper of the engine under test, as weft is of itself: before main(), which would take
// the arguments for its own.
const bool kIsHelper = [] {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  if (words.size() < 2 || words[1] != kHelperCommand) return false;
  in.close();
  ::_exit(run_helper({words.begin() + 2, words.end()}));
}();

class LocalCrashTest : public LocalWorldTest, public testing::WithParamInterface<EngineMode> {
 protected:
  void SetUp() override {
    options_.cgroups = GetParam() != EngineMode::sessions;
    if (GetParam() == EngineMode::executed) options_.helper = {"/proc/self/exe", kHelperCommand};
    std::ofstream(path("daemon.sh")) << "trap '' TERM HUP; echo $$ >> daemons; while :; do sleep 0.05; done";
    open();
    WEFT_NEEDS(!options_.cgroups || world_->uses_cgroups(), "writable cgroups");
  }
  [[nodiscard]] ProcessId supervisor_of(control::JobNumber job, const std::string& node) const {
    const PartFolder folder(options_.state + "/attempts/" + std::to_string(job) + ".1/" + node);
    return folder.read_supervisor().value_or(ProcessId{});
  }
  [[nodiscard]] std::vector<pid_t> pids_in(const std::string& file) const {
    std::vector<pid_t> pids;
    for (const std::string& line : lines_of(path(file))) pids.push_back(std::stoi(line));
    return pids;
  }
};

TEST_P(LocalCrashTest, DaemonsAreKilledWhenTheRanksEnd) {
  send(make_start(1, make_shell_spec(daemon_script(true) + "while [ ! -s daemons ]; do sleep 0.01; done; exit 0")));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(reports(PartPhase::exited)[0].code, 0);
  ASSERT_THAT(pids_in("daemons"), SizeIs(1));
  EXPECT_FALSE(is_alive(pids_in("daemons")[0]));
}

TEST_P(LocalCrashTest, DaemonsAreKilledByAStop) {
  send(make_start(1, make_shell_spec(daemon_script(true) + "exec sleep 1000")));
  ASSERT_TRUE(wait_for_file(path("daemons")));
  send(make_stop(1, {0}, milliseconds(100)));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_FALSE(is_alive(pids_in("daemons")[0]));
}

TEST_P(LocalCrashTest, WhatADeadSupervisorLeavesIsKilled) {
  // Without cgroups a daemon is found by its environment.
  send(make_start(1, make_shell_spec(daemon_script(world_->uses_cgroups()) + "echo $$ >> pids; exec sleep 1000"),
                  {0, 1}));
  ASSERT_TRUE(wait_for_file(path("pids"), 2) && wait_for_file(path("daemons"), 2));
  ASSERT_TRUE(send_signal(supervisor_of(1, "n1"), SIGKILL));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  const PartReport report = reports(PartPhase::exited)[0];
  EXPECT_EQ(report.node, sched::NodeId{1});
  EXPECT_EQ(report.code, kPartLost);
  EXPECT_THAT(report.text, HasSubstr("supervisor"));
  // Those of the other node are not touched.
  std::vector<pid_t> pids = pids_in("pids");
  EXPECT_EQ(std::count_if(pids.begin(), pids.end(), is_alive), 1);
  pids = pids_in("daemons");
  EXPECT_EQ(std::count_if(pids.begin(), pids.end(), is_alive), 1);
  open();
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(reports(PartPhase::exited)[0].code, kPartLost);
}

TEST_P(LocalCrashTest, SupervisorThatDiesWhileTheEngineIsDown) {
  send(make_start(1, make_shell_spec("echo $$ >> pids; exec sleep 1000")));
  ASSERT_TRUE(wait_for_file(path("pids")));
  const ProcessId supervisor = supervisor_of(1, "n0");
  world_.reset();
  ASSERT_TRUE(send_signal(supervisor, SIGKILL));
  while (is_alive(supervisor.pid)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  open();
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_FALSE(is_alive(pids_in("pids")[0]));
  EXPECT_THAT(reports(PartPhase::running), IsEmpty());
}

TEST_P(LocalCrashTest, RebootIsNoticed) {
  send(make_start(1, make_shell_spec("true")));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  // As after a reboot: started in another boot, never ended.
  const PartFolder folder(options_.state + "/attempts/1.1/n0");
  Result<PartPlan> plan = folder.read_plan();
  ASSERT_TRUE(plan.ok());
  plan->boot += 1;
  {
    const Result<FileDescriptor> lock = folder.lock();
    ASSERT_TRUE(lock.ok() && folder.prepare(*plan).ok());
  }
  std::filesystem::remove(folder.path() + "/exit");
  open();
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(reports(PartPhase::exited)[0].text, "the machine was rebooted");
}

// An engine that is killed at a random moment while it starts and stops parts. Whatever the next one finds, each
// attempt has run at most once, and a repeated command completes it.
TEST_P(LocalCrashTest, EngineKilledAtRandomMomentsStartsNothingTwice) {
  constexpr int kParts = 20;
  const char* asked = std::getenv("WEFT_KILL_ROUNDS");         // NOLINT(concurrency-mt-unsafe): before any thread
  const int rounds = asked == nullptr ? 2 : std::atoi(asked);  // NOLINT(cert-err34-c)
  RandomStream random(17, "kill");
  const auto spec = make_shell_spec("echo $RANK >> runs-$WEFT_JOB_ID");
  for (int round = 0; round < rounds; ++round) {
    const control::JobNumber first = 1 + static_cast<control::JobNumber>(round * kParts);
    world_.reset();
    const pid_t engine = ::fork();
    if (engine == 0) {
      Result<std::unique_ptr<LocalWorld>> world = LocalWorld::open(options_);
      if (!world.ok()) ::_exit(1);
      world_ = std::move(world).value();
      for (int i = 0; i < kParts; ++i) {
        send(make_start(first + static_cast<control::JobNumber>(i), spec, {static_cast<std::uint32_t>(i % 4)}));
        poll();
      }
      for (;;) poll();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(30'000)));
    ::kill(engine, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(engine, &status, 0), engine);
    ASSERT_TRUE(WIFSIGNALED(status));
    open();
    // Some are stopped, the others started again: both as a controller does that does not know what was done.
    for (int i = 0; i < kParts; ++i) {
      const auto job = first + static_cast<control::JobNumber>(i);
      const std::vector<std::uint32_t> nodes{static_cast<std::uint32_t>(i % 4)};
      if (i % 3 == 0) {
        send(make_stop(job, nodes, sched::seconds(60)));
      } else {
        send(make_start(job, spec, nodes));
      }
    }
    std::map<control::JobNumber, PartReport> last;
    ASSERT_TRUE(wait_for([&] {
      for (const PartReport& report : find<PartReport>()) {
        if (report.name.job >= first && report.sealed) last[report.name.job] = report;
      }
      return last.size() == kParts;
    })) << last.size();
    for (const auto& [job, report] : last) {
      const std::size_t runs = lines_of(path("runs-" + std::to_string(job))).size();
      const bool stopped = (job - first) % 3 == 0;
      EXPECT_LE(runs, 1U) << job;
      EXPECT_GE(runs, stopped ? 0U : 1U) << job << " " << report.text;
      EXPECT_TRUE(runs == 0 || report.phase == PartPhase::exited) << job;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(With, LocalCrashTest,
                         testing::Values(EngineMode::sessions, EngineMode::cgroups, EngineMode::executed),
                         [](const auto& test) {
                           return test.param == EngineMode::sessions  ? "Sessions"
                                  : test.param == EngineMode::cgroups ? "Cgroups"
                                                                      : "Executed";
                         });

TEST(ProcessTable, ProgramNamesMayContainAnything) {
  const std::optional<ProcessStat> process = parse_process_stat(
      "42 (a) R 1 (b) S 7 42 40 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 123456 4218880 200 18446744073709551615 1 1\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->id, (ProcessId{42, 123456}));
  EXPECT_EQ(process->parent, 7);
  EXPECT_EQ(process->group, 42);
  EXPECT_EQ(process->session, 40);
  EXPECT_EQ(process->state, 'S');
  EXPECT_FALSE(parse_process_stat("42 (a) S 7"));
  EXPECT_FALSE(parse_process_stat(""));
}

TEST(ProcessTable, SignalsReachOnlyTheProcessMeant) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const std::optional<ProcessStat> process = read_process(child);
  ASSERT_TRUE(process);
  EXPECT_FALSE(send_signal({child, process->id.start + 1}, SIGKILL));  // a reused pid
  EXPECT_TRUE(send_signal(process->id, SIGKILL));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_FALSE(send_signal(process->id, SIGKILL));
}

TEST(PartFolderTest, ExactlyOneDecisionIsMade) {
  const std::string path = make_test_folder();
  const PartFolder folder(path);
  PartPlan plan;
  plan.name = {1, 2};
  plan.command = {"a", "", "b\nc"};
  plan.ranks = {{0, {"A=b"}, "log"}};
  ASSERT_TRUE(folder.prepare(plan).ok());
  EXPECT_EQ(folder.read_plan()->command, plan.command);
  EXPECT_EQ(folder.read_decision().value(), PartDecision::none);
  EXPECT_EQ(folder.decide_sealed().value(), PartDecision::sealed);
  EXPECT_EQ(folder.decide_start().value(), PartDecision::sealed);
  EXPECT_FALSE(folder.is_locked().value());
  {
    const Result<FileDescriptor> lock = folder.lock();
    ASSERT_TRUE(lock.ok());
    EXPECT_TRUE(folder.is_locked().value());
    EXPECT_EQ(folder.lock().error().code, ErrorCode::conflict);
  }
  EXPECT_FALSE(folder.is_locked().value());
  std::filesystem::remove_all(path);
}

TEST(PartPlanTest, DamagedPlansAreRejected) {
  PartPlan plan;
  plan.command = {"program", "argument"};
  plan.ranks = {{0, {"A=b"}, "log"}};
  const std::string text = encode_plan(plan);
  ASSERT_TRUE(parse_plan(text).ok());
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(parse_plan(text.substr(0, size)).ok()) << size;
  EXPECT_FALSE(parse_plan(text + "x").ok());
}

}  // namespace
}  // namespace weft::world
