// Engine slurm on a Slurm in memory, with four nodes of eight GPUs. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "world/slurm/fake_slurm.h"
#include "world/slurm/slurm_world.h"

namespace weft::world {

using control::CommandReply;
using control::PartPhase;
using control::PartReport;

class SlurmWorldTest : public ::testing::Test {
 protected:
  SlurmWorldTest() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "weft slurm " + std::to_string(::getpid()) + " " + test->name();
    std::filesystem::create_directories(root_);
    options_.state = root_ + "/state";
    options_.cluster = "lab";
    options_.threads = false;
    options_.log = [this](std::string_view text) { log_ += std::string(text) + "\n"; };
    for (int i = 0; i < 4; ++i) {
      sched::NodeShape node;
      node.name = "n" + std::to_string(i);
      node.gpus = 8;
      options_.nodes.push_back(node);
    }
  }
  ~SlurmWorldTest() override {
    world_.reset();
    std::filesystem::remove_all(root_);
  }

  void open() {
    world_.reset();
    Result<std::unique_ptr<SlurmWorld>> world = SlurmWorld::open(options_, slurm_);
    ASSERT_TRUE(world.ok()) << world.error().text();
    world_ = std::move(world).value();
    term_ = term_ + 1;
    world_->send(control::QueryInventory{term_}, now_);
    turn(3);
    for (std::uint32_t node = 0; node < 4; ++node) {
      if (boots_[node] == 0) boots_[node] = boot(node);
    }
  }

  void turn(int count = 1) {
    for (; count > 0; --count) {
      now_ = now_ + sched::seconds(1);
      world_->poll(now_, events_);
    }
  }

  template <class Kind>
  std::vector<Kind> find() const {
    std::vector<Kind> found;
    for (const control::Event& event : events_) {
      if (const Kind* one = std::get_if<Kind>(&event)) found.push_back(*one);
    }
    return found;
  }
  std::vector<PartReport> parts(PartPhase phase) const {
    std::vector<PartReport> found = find<PartReport>();
    std::erase_if(found, [&](const PartReport& report) { return report.phase != phase; });
    return found;
  }
  std::optional<CommandReply> reply_to(control::OperationId operation) const {
    for (const CommandReply& reply : find<CommandReply>()) {
      if (reply.operation == operation) return reply;
    }
    return std::nullopt;
  }
  control::BootId boot(std::uint32_t node) const {
    control::BootId boot = 0;
    for (const auto& report : find<control::NodeReport>()) {
      if (report.node == sched::NodeId{node} && report.boot != 0) boot = report.boot;
    }
    return boot;
  }

  control::StartAttempt command(std::vector<std::uint32_t> nodes, control::AttemptNumber attempt = 1) {
    auto spec = std::make_shared<control::JobSpec>();
    spec->shape.name = "job";
    spec->shape.tasks = static_cast<std::int32_t>(nodes.size());
    spec->shape.task.gpus = 8;
    spec->command = {"/bin/true"};
    spec->uid = ::geteuid();
    spec->gid = ::getegid();
    spec->checkpoint.notice = control::CheckpointNotice::signal;
    control::StartAttempt start;
    start.operation = ++operation_;
    start.term = term_;
    start.name = {1, attempt};
    start.spec = spec;
    for (const std::uint32_t node : nodes) {
      start.slots.push_back({sched::NodeId{node}, 0xFF, {}});
      start.boots.push_back(boots_[node]);
    }
    return start;
  }
  control::StopAttempt stop(std::vector<std::uint32_t> nodes, control::AttemptNumber attempt = 1) {
    control::StopAttempt command;
    command.operation = ++operation_;
    command.name = {1, attempt};
    for (const std::uint32_t node : nodes) command.nodes.push_back(sched::NodeId{node});
    return command;
  }
  void start_running() {
    world_->send(command({2, 0}), now_);
    turn(5);
    ASSERT_EQ(parts(PartPhase::running).size(), 2U);
    events_.clear();
  }

  std::string root_;
  SlurmOptions options_;
  std::shared_ptr<FakeSlurm> slurm_ = std::make_shared<FakeSlurm>(4);
  std::unique_ptr<SlurmWorld> world_;
  std::vector<control::Event> events_;
  std::map<std::uint32_t, control::BootId> boots_;
  std::string log_;
  sched::Moment now_{1'800'000'000'000'000'000};
  control::OperationId operation_ = 0;
  control::Term term_ = 0;
};

}  // namespace weft::world
