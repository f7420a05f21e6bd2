// Watch mode with a Slurm in memory that fails the test on every change that was not enabled.
#include "world/slurm/slurm_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "store/memory_store.h"
#include "world/core/control_loop.h"
#include "world/slurm/fake_slurm.h"

namespace weft::world {
namespace {

using control::Stage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Any change fails the test unless the test allows it.
class WatchedSlurm final : public SlurmClient {
 public:
  Result<std::vector<SlurmJob>> list_jobs(const std::string& comment) override { return fake.list_jobs(comment); }
  Result<std::vector<ObservedJob>> list_observed_jobs() override { return fake.list_observed_jobs(); }
  Result<std::vector<SlurmNode>> list_nodes() override { return fake.list_nodes(); }
  Result<std::vector<SlurmPartition>> list_partitions() override { return fake.list_partitions(); }
  Result<std::uint32_t> submit(const SlurmSubmission& job) override { return changed("submit " + job.name); }
  std::vector<Status> release(const std::vector<std::uint32_t>& jobs) override {
    return std::vector<Status>(jobs.size(), changed("release"));
  }
  Status cancel(std::uint32_t job) override { return changed("cancel " + std::to_string(job)); }
  Status signal(std::uint32_t job, int /*signal*/) override { return changed("signal " + std::to_string(job)); }
  Status drain(const std::string& node, const std::string& reason) override {
    if (!allowed) return changed("drain " + node);
    changes.push_back("drain " + node + " " + reason);
    return fake.drain(node, reason);
  }
  Status resume(const std::string& node) override {
    if (!allowed) return changed("resume " + node);
    changes.push_back("resume " + node);
    return fake.resume(node);
  }
  Status requeue(const std::string& job, const std::string& node) override {
    if (!allowed) return changed("requeue " + job);
    changes.push_back("requeue " + job);
    return fake.requeue(job, node);
  }
  void stop() override { fake.stop(); }

  FakeSlurm fake{4};
  bool allowed = false;
  std::vector<std::string> changes;

 private:
  static Error changed(const std::string& what) {
    ADD_FAILURE() << "a change was sent to Slurm: " << what;
    return {ErrorCode::invalid_input, what, {}};
  }
};

class SlurmWatchTest : public ::testing::Test {
 protected:
  SlurmWatchTest() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "weft watch " + std::to_string(::getpid()) + " " + test->name();
    std::filesystem::create_directories(root_);
    std::vector<sched::NodeShape> shapes;
    std::vector<sched::NodeLabels> labels;
    for (int i = 0; i < 4; ++i) {
      sched::NodeShape node;
      node.name = "n" + std::to_string(i);
      node.gpus = 8;
      node.cpu = 64'000;
      node.memory_mib = 1 << 20;
      node.model = 0;
      shapes.push_back(node);
      labels.push_back({{}, "r" + std::to_string(i), "l", "p"});
    }
    machine_ = std::make_shared<const sched::Machine>(*sched::Machine::build(shapes, labels, {"gpu"}, {"train"}));
    options_.state = root_ + "/state";
    options_.cluster = "lab";
    options_.nodes = shapes;
    options_.stages = control::StageSet::none(4);
    options_.threads = false;
    options_.log = [this](std::string_view text) { log_ += std::string(text) + "\n"; };
  }
  ~SlurmWatchTest() override {
    loop_.reset();
    world_.reset();
    std::filesystem::remove_all(root_);
  }

  void enable(std::initializer_list<Stage> stages, std::uint32_t node) {
    for (const Stage stage : stages) options_.stages.enable(stage, sched::NodeId{node});
    slurm_->allowed = true;
  }
  void open() {
    loop_.reset();
    world_.reset();
    Result<std::unique_ptr<SlurmWatch>> world = SlurmWatch::open(options_, slurm_);
    ASSERT_TRUE(world.ok()) << world.error().text();
    world_ = std::move(*world);
    control::ControllerOptions settings;
    settings.stages = options_.stages;
    auto loop = ControlLoop::open(machine_, settings, store_, *world_);
    ASSERT_TRUE(loop.ok()) << loop.error().text();
    loop_ = std::move(*loop);
    TurnResult result;
    ASSERT_TRUE(loop_->begin(now_, result).ok());
    turn(5);
  }
  void turn(int count) {
    for (; count > 0; --count) {
      now_ = now_ + sched::seconds(1);
      TurnResult result;
      ASSERT_TRUE(loop_->turn(now_, {}, true, result).ok());
    }
  }
  void set_down(const std::string& name, const std::string& reason) {
    SlurmNode& node = slurm_->fake.at(name);
    node.state = "down";
    node.flags = {"NOT_RESPONDING"};
    node.reason = reason;
    node.reason_user = "slurm";
  }
  [[nodiscard]] std::size_t records(control::RecordKind kind) {
    std::size_t count = 0;
    EXPECT_TRUE(store_
                    .read(1,
                          [&](const store::Entry& entry) -> Status {
                            const Result<control::Record> record = control::parse_record(entry.bytes);
                            count += record.ok() && record->kind == kind ? 1U : 0U;
                            return {};
                          })
                    .ok());
    return count;
  }
  [[nodiscard]] const control::Node& node(std::uint32_t id) const {
    return loop_->controller().state().node(sched::NodeId{id});
  }
  static ObservedJob running(const std::string& id, const std::string& nodes, bool can_requeue) {
    ObservedJob job;
    job.id = id;
    job.phase = ObservedPhase::running;
    job.state = "running";
    job.nodes = nodes;
    job.can_requeue = can_requeue;
    return job;
  }

  std::string root_;
  std::string log_;
  std::shared_ptr<const sched::Machine> machine_;
  std::shared_ptr<WatchedSlurm> slurm_ = std::make_shared<WatchedSlurm>();
  SlurmWatchOptions options_;
  store::MemoryStore store_;
  std::unique_ptr<SlurmWatch> world_;
  std::unique_ptr<ControlLoop> loop_;
  sched::Moment now_{1'000'000'000'000'000};
};

TEST_F(SlurmWatchTest, ChangesNothingAndProposesOnce) {
  slurm_->fake.observed = {running("17", "n[0-1]", true)};
  open();
  for (std::uint32_t n = 0; n < 4; ++n) EXPECT_TRUE(loop_->controller().is_usable(sched::NodeId{n})) << n;
  ASSERT_NE(world_->observation()->cluster, nullptr);
  EXPECT_NE(world_->observation()->cluster->find_job("17"), nullptr);
  set_down("n2", "Not responding");
  turn(300);
  ASSERT_TRUE(node(2).proposal.has_value());
  EXPECT_EQ(node(2).proposal->stage, Stage::quarantine);
  EXPECT_EQ(node(2).proposal->reason, "Slurm: down, not responding");
  EXPECT_EQ(records(control::RecordKind::stage_proposed), 1U);
  open();  // a restart
  turn(300);
  EXPECT_EQ(records(control::RecordKind::stage_proposed), 1U);
  EXPECT_EQ(records(control::RecordKind::session_opened), 0U);
  slurm_->fake.at("n2").state = "idle";
  slurm_->fake.at("n2").flags.clear();
  turn(30);
  EXPECT_FALSE(node(2).proposal.has_value());
}

TEST_F(SlurmWatchTest, WhatSomebodySetDownOrDrainedIsTheirs) {
  enable({Stage::quarantine, Stage::drain}, 1);
  enable({Stage::quarantine, Stage::drain}, 2);
  enable({Stage::quarantine, Stage::drain}, 3);
  set_down("n1", "replace GPU 3");
  set_down("n2", "Not responding");
  slurm_->fake.at("n2").flags = {"NOT_RESPONDING", "DRAIN"};
  slurm_->fake.at("n2").reason = "new firmware";
  slurm_->fake.at("n3").flags = {"DRAIN"};
  slurm_->fake.at("n3").reason = "NHC: check_hw_gpu";
  open();
  turn(300);
  EXPECT_THAT(slurm_->changes, ElementsAre());
  EXPECT_EQ(node(3).health, control::Health::fatal);
  EXPECT_THAT(loop_->controller().why_unusable(sched::NodeId{3}), HasSubstr("NHC: check_hw_gpu"));
  for (std::uint32_t n = 1; n < 4; ++n) EXPECT_FALSE(node(n).proposal.has_value()) << n;
}

TEST_F(SlurmWatchTest, QuarantineIsSentWhereItIsEnabledAndEndsWithTheFault) {
  enable({Stage::quarantine}, 2);
  open();
  set_down("n2", "Not responding");
  turn(30);
  ASSERT_EQ(slurm_->changes.size(), 1U);
  EXPECT_THAT(slurm_->changes[0], StartsWith("drain n2 weft:1:not-responding:lab-"));
  slurm_->fake.at("n2").state = "down";
  slurm_->fake.at("n2").flags = {"DRAIN", "NOT_RESPONDING"};
  turn(60);
  ASSERT_TRUE(node(2).proposal.has_value());
  EXPECT_EQ(node(2).proposal->stage, Stage::repair) << "the next stage is not enabled";
  EXPECT_EQ(slurm_->changes.size(), 1U);
  slurm_->fake.at("n2").state = "idle";
  slurm_->fake.at("n2").flags = {"DRAIN"};
  TurnResult result;
  control::Request resume;
  resume.kind = control::RequestKind::resume;
  resume.node = sched::NodeId{2};
  resume.user = "root";
  turn(30);
  ASSERT_TRUE(loop_->turn(now_, {resume}, true, result).ok());
  turn(30);
  ASSERT_EQ(slurm_->changes.size(), 2U);
  EXPECT_EQ(slurm_->changes[1], "resume n2");
  EXPECT_TRUE(loop_->controller().is_usable(sched::NodeId{2})) << loop_->controller().why_unusable(sched::NodeId{2});
}

TEST_F(SlurmWatchTest, DrainRequeuesWhatMayBeRequeued) {
  enable({Stage::quarantine, Stage::drain}, 2);
  open();
  slurm_->fake.observed = {running("17", "n[2-3]", true), running("18_4", "n2", false), running("19", "n0", true)};
  SlurmNode& broken = slurm_->fake.at("n2");
  broken.state = "down";
  broken.reason = "gres/gpu count reported lower than configured (7 < 8)";
  turn(100);
  ASSERT_EQ(slurm_->changes.size(), 2U) << "each is sent once";
  EXPECT_THAT(slurm_->changes[0], StartsWith("drain n2 weft:1:gpu-missing:lab-"));
  EXPECT_EQ(slurm_->changes[1], "requeue 17");
  EXPECT_THAT(log_, HasSubstr("job 18_4 on n2 may not be requeued"));
}

TEST_F(SlurmWatchTest, AnOutageOfSlurmProposesNothingAndKeepsTheJobs) {
  slurm_->fake.observed = {running("17", "n[0-1]", true)};
  open();
  slurm_->fake.down = true;
  const sched::Moment last = world_->observation()->cluster->observed;
  turn(600);
  EXPECT_EQ(world_->observation()->problem, "Slurm: Unspecified error");
  EXPECT_NE(world_->observation()->cluster->find_job("17"), nullptr);
  EXPECT_LE(world_->observation()->cluster->observed, last + sched::seconds(3));
  EXPECT_EQ(records(control::RecordKind::stage_proposed), 0U);
  EXPECT_EQ(records(control::RecordKind::session_opened), 0U);
  slurm_->fake.down = false;
  turn(10);
  EXPECT_EQ(world_->observation()->problem, "");
}

TEST_F(SlurmWatchTest, AListWithoutNodesIsNotUsed) {
  slurm_->fake.observed = {running("17", "n[0-1]", true)};
  open();
  slurm_->fake.nodes_down = true;
  slurm_->fake.observed.clear();
  turn(60);
  EXPECT_NE(world_->observation()->cluster->find_job("17"), nullptr);
}

TEST_F(SlurmWatchTest, CommandsForJobsAreRefusedAndNeverSent) {
  open();
  std::vector<control::Event> events;
  world_->send(control::StopAttempt{7, {1, 1}, {sched::NodeId{0}}, {}, false}, now_);
  world_->send(control::PowerCycle{8, 1, sched::NodeId{0}}, now_);
  world_->send(control::CordonNode{9, 1, sched::NodeId{0}, true, false}, now_);
  for (int i = 0; i < 3; ++i) world_->poll(now_ = now_ + sched::seconds(1), events);
  int refused = 0;
  for (const control::Event& event : events) {
    const auto* reply = std::get_if<control::CommandReply>(&event);
    if (reply == nullptr) continue;
    EXPECT_EQ(reply->kind, control::ReplyKind::permanent) << reply->text;
    ++refused;
  }
  EXPECT_EQ(refused, 3);
}

TEST_F(SlurmWatchTest, EveryNodeOfTheClusterFileMustBeThere) {
  slurm_->fake.nodes.pop_back();
  const auto opened = SlurmWatch::open(options_, slurm_);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text(), HasSubstr("Slurm has no node n3"));
}

}  // namespace
}  // namespace weft::world
