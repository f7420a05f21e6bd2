// Fixture for tests of the controller: eight nodes that reported healthy, a user, and what the engine would report.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"

namespace weft::control {

inline sched::Moment at(std::int64_t seconds) { return sched::Moment(seconds * 1'000'000'000); }

inline std::shared_ptr<const sched::Machine> machine_of(std::uint32_t count) {
  std::vector<sched::NodeShape> nodes;
  std::vector<sched::NodeLabels> labels;
  for (std::uint32_t n = 0; n < count; ++n) {
    sched::NodeShape shape;
    shape.name = "n" + std::to_string(n);
    shape.cpu = 64'000;
    shape.memory_mib = 1 << 20;
    shape.gpus = 8;
    shape.model = 0;
    nodes.push_back(shape);
    labels.push_back({{}, "r" + std::to_string(n / 4), "l", "p"});
  }
  return std::make_shared<const sched::Machine>(*sched::Machine::build(nodes, labels, {"gpu"}, {"pool"}));
}

class ControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controller = std::make_unique<Controller>(machine_of(8), options);
    controller->begin(at(1000), step);
    report_nodes(1000);
  }

  void send(const Event& event, std::int64_t seconds) {
    controller->handle(event, at(seconds), step);
    controller->decide(at(seconds), step);
    ASSERT_EQ(controller->error(), "");
  }
  void report_nodes(std::int64_t seconds) {
    Inventory inventory;
    for (std::uint32_t n = 0; n < 8; ++n) {
      const auto node = static_cast<sched::NodeId>(n);
      inventory.nodes.push_back({node, 100 + n, {}, term()});
      send(NodeReport{node, 100 + n, Health::healthy, {}, at(seconds)}, seconds);
    }
    if (seconds == 1000) send(inventory, seconds);
  }
  Term term() {
    for (const Command& command : step.commands) {
      if (const auto* query = std::get_if<QueryInventory>(&command)) last_term = query->term;
    }
    return last_term;
  }
  static Request request_of(std::int32_t tasks) {
    Request request;
    request.user = "alice";
    request.spec.shape.name = "job";
    request.spec.shape.tasks = tasks;
    request.spec.shape.task.gpus = 8;
    request.spec.shape.grace = sched::seconds(30);
    request.spec.command = {"/bin/true"};
    request.spec.restart.max_failures = 1;
    return request;
  }
  JobNumber submit(std::int32_t tasks, std::int64_t seconds, std::string key = {}) {
    Request request = request_of(tasks);
    request.key = std::move(key);
    return submit(request, seconds);
  }
  JobNumber submit(const Request& request, std::int64_t seconds) {
    send(request, seconds);
    EXPECT_TRUE(step.answers.back().ok) << step.answers.back().text;
    return step.answers.back().job;
  }
  // Ticks every ten seconds, with a report of every node.
  void pass_time(std::int64_t from, std::int64_t until) {
    for (std::int64_t t = from; t <= until; t += 10) {
      for (std::uint32_t n = 0; n < 8; ++n) {
        const auto node = static_cast<sched::NodeId>(n);
        send(NodeReport{node, controller->state().node(node).boot, Health::healthy, {}, at(t)}, t);
      }
      send(Tick{}, t);
    }
  }
  const Answer& ask(RequestKind kind, JobNumber number, std::int64_t seconds) {
    Request request;
    request.kind = kind;
    request.user = "alice";
    request.job = number;
    send(request, seconds);
    return step.answers.back();
  }
  template <class T>
  const T* last() const {
    for (auto command = step.commands.rbegin(); command != step.commands.rend(); ++command) {
      if (const T* found = std::get_if<T>(&*command)) return found;
    }
    return nullptr;
  }
  template <class T>
  [[nodiscard]] std::size_t count() const {
    std::size_t found = 0;
    for (const Command& command : step.commands) found += std::holds_alternative<T>(command) ? 1U : 0U;
    return found;
  }
  void report_parts(PartPhase phase, std::int32_t code, std::int64_t seconds) {
    const StartAttempt start = *last<StartAttempt>();
    for (std::size_t i = 0; i < start.slots.size(); ++i) {
      send(PartReport{start.name, start.slots[i].node, start.boots[i], phase, phase != PartPhase::running, code, "",
                      at(seconds)},
           seconds);
    }
  }
  [[nodiscard]] const Job& job(JobNumber number) const { return *controller->state().find_job(number); }

  ControllerOptions options;
  std::unique_ptr<Controller> controller;
  Step step;
  Term last_term = 0;
};

}  // namespace weft::control
