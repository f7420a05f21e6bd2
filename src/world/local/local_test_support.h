// Fixture for the tests of engine `local`: a state directory, an engine, and waiting for reports with a deadline. For
// tests only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "world/local/local_world.h"

namespace weft::world {

// An empty folder for the current test, in memory if possible: the engine syncs a lot. Its name contains spaces.
inline std::string make_test_folder() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + " " + test->name();
  for (char& c : name) c = c == '/' ? ' ' : c;
  const std::string parent = ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm/" : testing::TempDir();
  std::string path = parent + "weft " + std::to_string(::getpid()) + " " + name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

class LocalWorldTest : public testing::Test {
 protected:
  LocalWorldTest() : root_(make_test_folder()) {
    options_.state = root_ + "/state";
    options_.nodes = {"n0", "n1", "n2", "n3"};
    options_.min_free_bytes = 0;
  }
  // Nothing that a test started may outlive it.
  ~LocalWorldTest() override {
    if (world_ == nullptr) open();
    stop_all();
    world_.reset();
    std::filesystem::remove_all(root_);
  }

  void stop_all() {
    send(control::QueryInventory{});
    if (!wait_for([&] { return !find<control::Inventory>().empty(); })) return;
    const control::Inventory inventory = find<control::Inventory>().back();
    for (const control::NodeInventory& node : inventory.nodes) {
      for (const control::AttemptName& name : node.running)
        send(control::StopAttempt{next_operation_++, name, {node.node}, Duration(0), false});
    }
    EXPECT_TRUE(wait_for([&] {
      events_.clear();
      send(control::QueryInventory{});
      poll();
      const control::Inventory left = find<control::Inventory>().back();
      for (const control::NodeInventory& node : left.nodes) {
        if (!node.running.empty()) return false;
      }
      return true;
    })) << "processes are left";
  }

  void open() {
    world_.reset();
    Result<std::unique_ptr<LocalWorld>> world = LocalWorld::open(options_);
    ASSERT_TRUE(world.ok()) << world.error().text();
    world_ = std::move(world).value();
    events_.clear();
  }

  static sched::Moment now() {
    return sched::Moment(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
  }
  void send(const control::Command& command) { world_->send(command, now()); }
  void poll() { world_->poll(now(), events_); }

  // Polls until the condition holds, for at most 60 s.
  bool wait_for(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      poll();
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  template <class T>
  std::vector<T> find() const {
    std::vector<T> found;
    for (const control::Event& event : events_) {
      if (const T* one = std::get_if<T>(&event)) found.push_back(*one);
    }
    return found;
  }
  std::vector<control::PartReport> reports(control::PartPhase phase, control::JobNumber job = 0) const {
    std::vector<control::PartReport> found;
    for (const control::PartReport& report : find<control::PartReport>()) {
      if (report.phase == phase && (job == 0 || report.name.job == job)) found.push_back(report);
    }
    return found;
  }
  bool wait_for_parts(control::PartPhase phase, std::size_t count, control::JobNumber job = 0) {
    return wait_for([&] { return reports(phase, job).size() >= count; });
  }
  control::CommandReply reply_to(control::OperationId operation) {
    control::CommandReply found;
    EXPECT_TRUE(wait_for([&] {
      for (const control::CommandReply& reply : find<control::CommandReply>()) {
        if (reply.operation == operation) found = reply;
      }
      return found.operation == operation;
    }));
    return found;
  }

  std::shared_ptr<control::JobSpec> make_spec(std::vector<std::string> command) const {
    auto spec = std::make_shared<control::JobSpec>();
    spec->shape.name = "test";
    spec->command = std::move(command);
    spec->directory = root_;
    spec->uid = ::geteuid();
    spec->gid = ::getegid();
    return spec;
  }
  std::shared_ptr<control::JobSpec> make_shell_spec(const std::string& script) const {
    return make_spec({"/bin/sh", "-c", script});
  }
  // One task on each of these nodes.
  control::StartAttempt make_start(control::JobNumber job, std::shared_ptr<const control::JobSpec> spec,
                                   const std::vector<std::uint32_t>& nodes = {0}) {
    control::StartAttempt command;
    command.operation = next_operation_++;
    command.name = {job, 1};
    command.spec = std::move(spec);
    for (const std::uint32_t node : nodes) {
      sched::Slot slot;
      slot.node = sched::NodeId{node};
      command.slots.push_back(slot);
      command.boots.push_back(world_->boot());
    }
    return command;
  }
  control::StopAttempt make_stop(control::JobNumber job, const std::vector<std::uint32_t>& nodes, Duration grace,
                                 bool checkpoint = false) {
    control::StopAttempt command{next_operation_++, {job, 1}, {}, grace, checkpoint};
    for (const std::uint32_t node : nodes) command.nodes.push_back(sched::NodeId{node});
    return command;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::vector<std::string> lines_of(const std::string& path) {
    std::vector<std::string> lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  bool wait_for_file(const std::string& path, std::size_t lines = 1) {
    return wait_for([&] { return lines_of(path).size() >= lines; });
  }

  std::string root_;
  LocalOptions options_;
  std::unique_ptr<LocalWorld> world_;
  std::vector<control::Event> events_;
  control::OperationId next_operation_ = 1;
};

}  // namespace weft::world
