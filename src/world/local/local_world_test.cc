#include "world/local/local_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "world/local/local_test_support.h"
#include "world/local/process_table.h"

namespace weft::world {
namespace {

using control::PartPhase;
using control::PartReport;
using control::ReplyKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool is_alive(pid_t pid) {
  const std::optional<ProcessStat> process = read_process(pid);
  return process && process->state != 'Z';
}

std::map<std::string, std::string> variables_of(const std::string& text) {
  std::map<std::string, std::string> variables;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) variables[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return variables;
}

TEST_F(LocalWorldTest, ReportsNodesAtOnceAndEveryTenSeconds) {
  open();
  world_->poll(sched::Moment(1'000'000'000), events_);
  ASSERT_THAT(find<control::NodeReport>(), SizeIs(4));
  EXPECT_EQ(find<control::NodeReport>()[2].node, sched::NodeId{2});
  EXPECT_EQ(find<control::NodeReport>()[2].health, control::Health::healthy);
  EXPECT_NE(find<control::NodeReport>()[2].boot, 0U);
  world_->poll(sched::Moment(10'000'000'000), events_);
  EXPECT_THAT(find<control::NodeReport>(), SizeIs(4));
  world_->poll(sched::Moment(11'000'000'000), events_);
  EXPECT_THAT(find<control::NodeReport>(), SizeIs(8));
}

TEST_F(LocalWorldTest, GangOfFourRunsAndExits) {
  open();
  const control::StartAttempt start =
      make_start(7, make_shell_spec("echo out $RANK; echo err $RANK >&2"), {0, 1, 2, 3});
  send(start);
  EXPECT_EQ(reply_to(start.operation).kind, ReplyKind::accepted);
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 4));
  for (const PartReport& report : reports(PartPhase::exited)) {
    EXPECT_EQ(report.code, 0);
    EXPECT_EQ(report.text, "");
    EXPECT_TRUE(report.sealed);
    EXPECT_EQ(report.boot, world_->boot());
  }
  EXPECT_EQ(contents(options_.state + "/logs/7.1.2.log"), "out 2\nerr 2\n");
}

TEST_F(LocalWorldTest, EnvironmentIsThatOfTorchrun) {
  open();
  auto spec = make_spec({"/usr/bin/env"});
  spec->environment = {{"RANK", "99"}, {"DATA", "a b"}, {"LANG", "en_US.UTF-8"}};
  spec->checkpoint.volumes = {path("vol a"), path("vol b")};
  control::StartAttempt start = make_start(3, spec, {2, 0, 2});
  start.slots[2].gpus = 0b1001;
  start.checkpoint_path = "/some/where";
  start.checkpoint_interval = milliseconds(1500);
  send(start);
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2));
  auto variables = variables_of(contents(options_.state + "/logs/3.1.2.log"));
  const std::map<std::string, std::string> expected{{"MASTER_ADDR", "127.0.0.1"},
                                                    {"RANK", "2"},
                                                    {"LOCAL_RANK", "1"},
                                                    {"WORLD_SIZE", "3"},
                                                    {"LOCAL_WORLD_SIZE", "2"},
                                                    {"NODE_RANK", "0"},
                                                    {"GROUP_WORLD_SIZE", "2"},
                                                    {"DATA", "a b"},
                                                    {"LANG", "en_US.UTF-8"},
                                                    {"WEFT_JOB_ID", "3"},
                                                    {"WEFT_ATTEMPT", "1"},
                                                    {"WEFT_NODE", "n2"},
                                                    {"WEFT_NODELIST", "n2,n0"},
                                                    {"WEFT_RESTORE", "/some/where"},
                                                    {"WEFT_CHECKPOINT_INTERVAL", "1.5"},
                                                    {"CUDA_VISIBLE_DEVICES", "0,3"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(variables[name], value) << name;
  EXPECT_EQ(variables["WEFT_CHECKPOINT_DIRS"], path("vol a/job-3") + ":" + path("vol b/job-3"));
  EXPECT_TRUE(std::filesystem::is_directory(path("vol a/job-3")));
  EXPECT_GE(std::stoi(variables["MASTER_PORT"]), 20'000);
  EXPECT_LT(std::stoi(variables["MASTER_PORT"]), 32'768);
  EXPECT_NE(variables["HOME"], "");
  auto other = variables_of(contents(options_.state + "/logs/3.1.1.log"));
  EXPECT_EQ(other["NODE_RANK"], "1");
  EXPECT_EQ(other["CUDA_VISIBLE_DEVICES"], "");
  EXPECT_EQ(other["MASTER_PORT"], variables["MASTER_PORT"]);
  EXPECT_NE(other["WEFT_PART"], variables["WEFT_PART"]);
}

TEST_F(LocalWorldTest, KilledRankStopsTheOthersOfItsNode) {
  open();
  send(make_start(1, make_shell_spec("echo $$ >> pids; exec sleep 1000"), {0, 0, 0}));
  ASSERT_TRUE(wait_for_file(path("pids"), 3));
  std::vector<pid_t> pids;
  for (const std::string& line : lines_of(path("pids"))) pids.push_back(std::stoi(line));
  ::kill(pids[1], SIGKILL);
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(reports(PartPhase::exited)[0].code, 137);
  EXPECT_THAT(reports(PartPhase::exited)[0].text, HasSubstr("killed by signal 9 (SIGKILL)"));
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid));
}

TEST_F(LocalWorldTest, FailuresSayWhatHappened) {
  open();
  send(make_start(1, make_shell_spec("exit 3")));
  send(make_start(2, make_spec({"no-such-program"})));
  auto lost = make_shell_spec("true");
  lost->directory = "/no/such/directory";
  send(make_start(3, lost));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 3));
  EXPECT_EQ(reports(PartPhase::exited, 1)[0].code, 3);
  EXPECT_THAT(reports(PartPhase::exited, 1)[0].text, HasSubstr("exit status 3"));
  EXPECT_EQ(reports(PartPhase::exited, 2)[0].code, 127);
  EXPECT_THAT(reports(PartPhase::exited, 2)[0].text,
              HasSubstr("cannot execute no-such-program: No such file or directory"));
  EXPECT_THAT(reports(PartPhase::exited, 3)[0].text, HasSubstr("cannot enter the directory /no/such/directory"));
}

TEST_F(LocalWorldTest, CommandsThatCannotWorkAreRefused) {
  open();
  control::StartAttempt rebooted = make_start(1, make_shell_spec("true"));
  rebooted.boots[0] += 1;
  send(rebooted);
  EXPECT_EQ(reply_to(rebooted.operation).kind, ReplyKind::permanent);
  EXPECT_THAT(reply_to(rebooted.operation).text, HasSubstr("rebooted"));
  const control::StartAttempt elsewhere = make_start(2, make_shell_spec("true"), {9});
  send(elsewhere);
  EXPECT_EQ(reply_to(elsewhere.operation).kind, ReplyKind::permanent);
  auto relative = make_shell_spec("true");
  relative->checkpoint.volumes = {"here"};
  const control::StartAttempt volumes = make_start(3, relative);
  send(volumes);
  EXPECT_EQ(reply_to(volumes.operation).kind, ReplyKind::permanent);
  send(control::PowerCycle{900, 1, sched::NodeId{0}});
  EXPECT_EQ(reply_to(900).kind, ReplyKind::permanent);
  EXPECT_EQ(reply_to(900).text, "engine local has no BMC");
  EXPECT_THAT(find<PartReport>(), IsEmpty());
}

TEST_F(LocalWorldTest, CordonMarksBelongToTheirSession) {
  open();
  send(control::CordonNode{1, 5, sched::NodeId{1}, true});
  send(control::CordonNode{2, 6, sched::NodeId{1}, false});
  open();
  send(control::CordonNode{3, 6, sched::NodeId{1}, true});
  send(control::CordonNode{4, 5, sched::NodeId{1}, false});
  send(control::ValidateNode{5, 5, sched::NodeId{1}});
  poll();
  ASSERT_THAT(find<control::CordonReport>(), SizeIs(2));
  EXPECT_EQ(find<control::CordonReport>()[0].owner, "weft:5");
  EXPECT_FALSE(find<control::CordonReport>()[1].cordoned);
  ASSERT_THAT(find<control::ValidationReport>(), SizeIs(1));
  EXPECT_TRUE(find<control::ValidationReport>()[0].passed);
}

TEST_F(LocalWorldTest, StopTerminatesWithGrace) {
  open();
  send(make_start(1, make_shell_spec("trap 'echo bye; exit 0' TERM; echo up > up; while :; do sleep 0.02; done")));
  ASSERT_TRUE(wait_for_file(path("up")));
  send(make_stop(1, {0}, sched::seconds(60)));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(reports(PartPhase::exited)[0].code, 0);
  EXPECT_EQ(reports(PartPhase::exited)[0].text, "stopped");
  EXPECT_THAT(contents(options_.state + "/logs/1.1.0.log"), HasSubstr("bye\n"));
}

TEST_F(LocalWorldTest, StopEscalatesToKill) {
  open();
  send(make_start(1, make_shell_spec("trap '' TERM; echo $$ > up; while :; do sleep 0.02; done")));
  ASSERT_TRUE(wait_for_file(path("up")));
  const pid_t pid = std::stoi(contents(path("up")));
  const control::StopAttempt stop = make_stop(1, {0}, milliseconds(200));
  send(stop);
  send(stop);  // a repetition neither extends the grace period nor fails
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(reports(PartPhase::exited)[0].code, 137);
  EXPECT_THAT(reports(PartPhase::exited)[0].text, HasSubstr("stopped"));
  EXPECT_FALSE(is_alive(pid));
}

TEST_F(LocalWorldTest, StartedOnceHoweverOftenItIsSent) {
  open();
  const control::StartAttempt start = make_start(1, make_shell_spec("echo x >> runs; sleep 0.1"));
  send(start);
  send(start);
  control::StartAttempt again = start;
  again.operation = 77;
  send(again);
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  events_.clear();
  send(start);
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));  // reported again, not started again
  EXPECT_THAT(lines_of(path("runs")), SizeIs(1));
}

TEST_F(LocalWorldTest, StopBeforeStartSealsTheAttempt) {
  open();
  send(make_stop(1, {0, 1}, Duration(0)));
  ASSERT_TRUE(wait_for_parts(PartPhase::absent, 2));
  EXPECT_TRUE(reports(PartPhase::absent)[0].sealed);
  open();
  const control::StartAttempt late = make_start(1, make_shell_spec("echo x >> runs"), {0, 1, 2});
  send(late);
  EXPECT_EQ(reply_to(late.operation).kind, ReplyKind::permanent);
  EXPECT_THAT(reply_to(late.operation).text, HasSubstr("sealed"));
  send(control::QueryInventory{});
  ASSERT_TRUE(wait_for([&] { return !find<control::Inventory>().empty(); }));
  const control::Inventory inventory = find<control::Inventory>()[0];
  for (const control::NodeInventory& node : inventory.nodes) EXPECT_THAT(node.running, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path("runs")));
}

TEST_F(LocalWorldTest, RestartFindsItsProcessesAgain) {
  open();
  send(make_start(1, make_shell_spec("echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done; exit 4"), {0, 1}));
  ASSERT_TRUE(wait_for_file(path("pids"), 2));
  open();
  ASSERT_TRUE(wait_for_parts(PartPhase::running, 2));
  send(control::QueryInventory{});
  ASSERT_TRUE(wait_for([&] { return !find<control::Inventory>().empty(); }));
  EXPECT_THAT(find<control::Inventory>()[0].nodes[1].running, ElementsAre(control::AttemptName{1, 1}));
  EXPECT_THAT(find<control::Inventory>()[0].nodes[2].running, IsEmpty());
  send(make_start(1, make_shell_spec("echo again >> pids"), {0, 1}));
  std::ofstream(path("go")) << "x";
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2));
  EXPECT_EQ(reports(PartPhase::exited)[0].code, 4);
  EXPECT_THAT(lines_of(path("pids")), SizeIs(2));
  open();
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2));  // known after the next restart too
}

TEST_F(LocalWorldTest, OnlyOneEnginePerStateDirectory) {
  open();
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<std::unique_ptr<LocalWorld>> second = LocalWorld::open(options_);
    ::_exit(!second.ok() && second.error().code == ErrorCode::conflict ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(LocalWorldTest, LogsRotate) {
  options_.log_bytes = 10'000;
  options_.log_files = 3;
  open();
  send(make_start(1, make_shell_spec("i=0; while [ $i -lt 5000 ]; do echo line number $i; i=$((i+1)); done")));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  const std::string log = options_.state + "/logs/1.1.0.log";
  EXPECT_LE(std::filesystem::file_size(log), 10'000U);
  EXPECT_EQ(std::filesystem::file_size(log + ".1"), 10'000U);
  EXPECT_EQ(std::filesystem::file_size(log + ".2"), 10'000U);
  EXPECT_FALSE(std::filesystem::exists(log + ".3"));
  EXPECT_TRUE(contents(log).ends_with("line number 4999\n"));
}

TEST_F(LocalWorldTest, OutputGoesWhereTheJobWantsIt) {
  open();
  auto spec = make_shell_spec("echo hello");
  spec->output = "my %j-%a-%t%%.out";  // relative to the directory of the job
  send(make_start(12, spec, {1, 2}));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2));
  EXPECT_EQ(contents(path("my 12-1-1%.out")), "hello\n");
}

TEST_F(LocalWorldTest, RecordsOfOldAttemptsAreRemoved) {
  open();
  send(make_start(1, make_shell_spec("true")));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  options_.keep_ended = sched::seconds(-2);
  open();
  poll();
  EXPECT_THAT(find<PartReport>(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(options_.state + "/attempts/1.1"));
}

TEST_F(LocalWorldTest, RunsAsTheSubmitter) {
  WEFT_NEEDS_ROOT();
  open();
  std::filesystem::permissions(root_, std::filesystem::perms::all);
  auto spec = make_shell_spec("id -u; id -g; touch mine; test -w vol/job-1 && echo writable");
  spec->uid = 12345;
  spec->gid = 23456;
  spec->checkpoint.volumes = {path("vol")};
  send(make_start(1, spec));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(contents(options_.state + "/logs/1.1.0.log"), "12345\n23456\nwritable\n");
}

// A small file system that is full must lead to a clear answer, and to no attempt that may or may not run.
class LocalWorldDiskTest : public LocalWorldTest {
 protected:
  void SetUp() override {
    WEFT_NEEDS_ROOT();
    std::filesystem::create_directories(options_.state);
    mounted_ = ::mount("weft-test", options_.state.c_str(), "tmpfs", 0, "size=512k") == 0;
    WEFT_NEEDS(mounted_, "mounts");
    open();
  }
  void TearDown() override {
    if (!mounted_) return;
    std::filesystem::remove(options_.state + "/ballast");
    if (world_ != nullptr) stop_all();
    world_.reset();
    ::umount2(options_.state.c_str(), MNT_DETACH);
    options_.state = root_ + "/other";
  }
  void fill() const {
    std::ofstream out(options_.state + "/ballast", std::ios::binary | std::ios::app);
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  bool mounted_ = false;
};

TEST_F(LocalWorldDiskTest, FullDiskIsATransientAnswerAndStartsNothing) {
  fill();
  const control::StartAttempt start = make_start(1, make_shell_spec("echo x >> runs"), {0, 1});
  send(start);
  EXPECT_EQ(reply_to(start.operation).kind, ReplyKind::transient);
  EXPECT_THAT(reply_to(start.operation).text, HasSubstr("disk full"));
  EXPECT_FALSE(std::filesystem::exists(options_.state + "/attempts/1.1"));
  std::filesystem::remove(options_.state + "/ballast");
  events_.clear();
  send(start);
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2));
  EXPECT_THAT(lines_of(path("runs")), SizeIs(2));
}

TEST_F(LocalWorldDiskTest, RunningJobSurvivesAFullDisk) {
  send(make_start(1, make_shell_spec("echo up > up; while [ ! -e go ]; do echo noise; sleep 0.01; done; exit 5")));
  send(make_start(2, make_shell_spec("echo up > up2; exec sleep 1000"), {1}));
  ASSERT_TRUE(wait_for_file(path("up")) && wait_for_file(path("up2")));
  fill();
  send(make_stop(2, {1}, milliseconds(100)));
  std::ofstream(path("go")) << "x";
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2));
  EXPECT_EQ(reports(PartPhase::exited, 1)[0].code, 5);
  EXPECT_EQ(reports(PartPhase::exited, 2)[0].code, 143);
}

TEST_F(LocalWorldTest, LowDiskSpaceIsReported) {
  options_.min_free_bytes = std::int64_t{1} << 60;
  open();
  const control::StartAttempt start = make_start(1, make_shell_spec("true"));
  send(start);
  EXPECT_EQ(reply_to(start.operation).kind, ReplyKind::transient);
  EXPECT_EQ(find<control::NodeReport>()[0].health, control::Health::degraded);
  EXPECT_THAT(find<control::NodeReport>()[0].signal, HasSubstr("disk full"));
}

}  // namespace
}  // namespace weft::world
