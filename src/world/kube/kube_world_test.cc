#include "world/kube/kube_world.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/random.h"
#include "world/kube/fake_api_server.h"

namespace weft::world {
namespace {

using control::CommandReply;
using control::PartPhase;
using control::PartReport;
using control::ReplyKind;

class KubeWorldUnit : public ::testing::Test {
 protected:
  void start(std::size_t nodes, std::function<bool()> leads = nullptr) {
    KubeOptions options;
    options.pods = {"lab", "a", {}, "image"};
    for (std::size_t i = 0; i < nodes; ++i) {
      options.pods.nodes.push_back("n" + std::to_string(i));
      server_.put_node(options.pods.nodes.back(), "boot");
    }
    options.orphan_margin = milliseconds(50);
    options.leads = std::move(leads);
    world_ = std::make_unique<KubeWorld>(client_, options);
  }
  static control::StartAttempt make_start(control::JobNumber job, std::uint32_t node) {
    auto spec = std::make_shared<control::JobSpec>();
    spec->command = {"train"};
    control::StartAttempt start;
    start.operation = job;
    start.name = {job, 1};
    start.spec = spec;
    start.slots = {{sched::NodeId{node}, 0, {}}};
    start.boots = {std::max<control::BootId>(hash64("boot"), 1)};
    return start;
  }
  // Rounds until a reply to the operation.
  std::optional<CommandReply> wait_reply(control::OperationId operation) {
    for (int i = 0; i < 20; ++i) {
      round();
      for (const control::Event& event : events_) {
        const auto* reply = std::get_if<CommandReply>(&event);
        if (reply != nullptr && reply->operation == operation) return *reply;
      }
    }
    return std::nullopt;
  }
  void round() {
    clock_.sleep(milliseconds(100));
    world_->work(Duration(0));
    world_->poll(sched::Moment(clock_.now().count()), events_);
  }
  [[nodiscard]] int count_running() const {
    int count = 0;
    for (const control::Event& event : events_) {
      const auto* part = std::get_if<PartReport>(&event);
      if (part != nullptr && part->phase == PartPhase::running) ++count;
    }
    return count;
  }

  oob::ManualClock clock_;
  FakeApiServer server_;
  kube::Client client_{server_, clock_, RandomStream(1), {.requests_per_second = 1e6, .burst = 1e6}};
  std::unique_ptr<KubeWorld> world_;
  std::vector<control::Event> events_;
};

TEST_F(KubeWorldUnit, StartsAndReportsOnce) {
  start(2);
  world_->send(make_start(1, 0), sched::Moment(0));
  const std::optional<CommandReply> reply = wait_reply(1);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->kind, ReplyKind::accepted) << reply->text;
  for (int i = 0; i < 10; ++i) round();
  EXPECT_EQ(count_running(), 1);
}

// Two wefts with journals of their own: the one without the lease executes nothing and says nothing of the other's
// pods.
TEST_F(KubeWorldUnit, WithoutTheLeaseItDoesNothing) {
  bool leads = true;
  start(2, [&] { return leads; });
  world_->send(make_start(1, 0), sched::Moment(0));
  ASSERT_TRUE(wait_reply(1).has_value());
  for (int i = 0; i < 5; ++i) round();
  leads = false;
  events_.clear();
  world_->send(make_start(2, 1), sched::Moment(0));
  world_->send(control::StopAttempt{3, {1, 1}, {sched::NodeId{0}}, {}, false}, sched::Moment(0));
  const std::size_t before = server_.requests();
  const std::optional<CommandReply> refused = wait_reply(2);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->kind, ReplyKind::transient);
  EXPECT_NE(refused->text.find("lease"), std::string::npos);
  for (int i = 0; i < 200; ++i) round();
  EXPECT_EQ(server_.requests(), before);  // not even a report of nodes, which begins with a request
  for (const control::Event& event : events_) EXPECT_NE(std::get_if<CommandReply>(&event), nullptr);
  leads = true;
  world_->send(control::StopAttempt{4, {1, 1}, {sched::NodeId{0}}, {}, false}, sched::Moment(0));
  const std::optional<CommandReply> stopped = wait_reply(4);
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->kind, ReplyKind::accepted);
}

// A server that is gone is asked now and then; the rounds wait in between, and nothing is reported.
TEST_F(KubeWorldUnit, AServerThatIsGoneCostsLittle) {
  start(2);
  for (int i = 0; i < 10; ++i) round();
  server_.set_down(true);
  round();
  events_.clear();
  const Duration before = clock_.now();
  const std::size_t requests = server_.requests();
  for (int i = 0; i < 100; ++i) {
    world_->work(milliseconds(200));
    world_->poll(sched::Moment(clock_.now().count()), events_);
  }
  EXPECT_TRUE(events_.empty());
  EXPECT_FALSE(world_->problem().empty());
  const Duration passed = clock_.now() - before;
  EXPECT_GT(passed, sched::seconds(10)) << "the rounds do not wait";
  EXPECT_LT(server_.requests() - requests, 100U);
  server_.set_down(false);
  clock_.sleep(sched::seconds(120));
  for (int i = 0; i < 20; ++i) round();
  EXPECT_EQ(world_->problem(), "");
  EXPECT_FALSE(events_.empty());
}

// A volume that this machine does not have is named, and nothing is created.
TEST_F(KubeWorldUnit, AVolumeThatIsNotMountedIsNamed) {
  start(2);
  control::StartAttempt command = make_start(1, 0);
  auto spec = std::make_shared<control::JobSpec>(*command.spec);
  spec->checkpoint.volumes = {"/nonexistent/volume"};
  spec->uid = ::getuid();
  spec->gid = ::getgid();
  command.spec = spec;
  world_->send(command, sched::Moment(0));
  std::optional<CommandReply> reply;
  for (int i = 0; i < 600 && !reply; ++i) {
    reply = wait_reply(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->kind, ReplyKind::transient);
  EXPECT_NE(reply->text.find("/nonexistent/volume is not mounted"), std::string::npos) << reply->text;
}

// send() and poll() of the control loop beside the thread that makes the requests.
TEST_F(KubeWorldUnit, ConcurrentSendPollAndWork) {
  start(8);
  constexpr control::JobNumber kJobs = 40;
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) {
      world_->work(Duration(0));
      clock_.sleep(milliseconds(1));
      std::this_thread::yield();
    }
  });
  std::map<control::OperationId, ReplyKind> replies;
  std::set<control::JobNumber> running;
  std::set<control::JobNumber> sealed;
  control::JobNumber sent = 0;
  for (int turn = 0; turn < 1'000'000 && sealed.size() < kJobs; ++turn) {
    const sched::Moment now(clock_.now().count());
    if (sent < kJobs && turn % 3 == 0) {
      ++sent;
      world_->send(make_start(sent, static_cast<std::uint32_t>(sent % 8)), now);
    }
    std::vector<control::Event> events;
    world_->poll(now, events);
    (void)world_->problem();
    for (const control::Event& event : events) {
      if (const auto* reply = std::get_if<CommandReply>(&event)) replies[reply->operation] = reply->kind;
      const auto* part = std::get_if<PartReport>(&event);
      if (part == nullptr) continue;
      if (part->sealed) sealed.insert(part->name.job);
      if (part->phase != PartPhase::running || !running.insert(part->name.job).second) continue;
      world_->send(control::StopAttempt{1000 + part->name.job, part->name, {part->node}, {}, false}, now);
    }
    std::this_thread::yield();
  }
  stop = true;
  worker.join();
  EXPECT_EQ(running.size(), kJobs);
  EXPECT_EQ(sealed.size(), kJobs);
  EXPECT_EQ(replies.size(), 2 * kJobs);
  for (const auto& [operation, kind] : replies) EXPECT_EQ(kind, ReplyKind::accepted) << operation;
}

}  // namespace
}  // namespace weft::world
