// For tests that users do not learn of other tenants: a control plane whose jobs run at once, with several tenants, and
// every view as one user gets it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "access/identity/access.h"
#include "serve/api/event_view.h"
#include "serve/api/views.h"
#include "store/memory_store.h"
#include "world/core/control_loop.h"

namespace weft::serve {

constexpr OutputFormat kFormats[] = {OutputFormat::table, OutputFormat::wide,   OutputFormat::json,
                                     OutputFormat::yaml,  OutputFormat::ndjson, OutputFormat::csv};

inline access::Access user_of(const std::string& tenant, const std::string& user) {
  return {user, {{access::Role::user, tenant}}};
}
inline access::Access administrator() { return {"root", {{access::Role::administer, {}}}}; }

// Every view that the API has of the control plane, under the name of its route. A new view belongs here.
inline std::vector<std::pair<std::string, Document>> all_views(const ViewContext& context) {
  std::vector<std::pair<std::string, Document>> views;
  const control::ControlState& state = context.controller.state();
  JobFilter ended;
  ended.ended = true;
  views.emplace_back("jobs", jobs_view(context, {}));
  views.emplace_back("jobs?all", jobs_view(context, ended));
  for (control::JobNumber number = 1; number <= state.last_job() + 1; ++number) {
    if (auto document = job_view(context, number)) views.emplace_back("job", std::move(*document));
    if (auto document = why_view(context, number)) views.emplace_back("why", std::move(*document));
  }
  views.emplace_back("nodes", nodes_view(context));
  views.emplace_back("reservations", reservations_view(context));
  for (std::uint32_t n = 0; n < state.node_count(); ++n) {
    views.emplace_back("node", node_view(context, sched::NodeId{n}));
    if (context.controller.uses_leases()) views.emplace_back("lease", lease_view(context, sched::NodeId{n}));
  }
  if (context.controller.uses_leases()) views.emplace_back("leases", leases_view(context));
  views.emplace_back("queue", queue_view(context, 20));
  views.emplace_back("queue?limit=1", queue_view(context, 1));
  ServerFacts facts;
  views.emplace_back("server", server_view(context, facts));
  return views;
}

// Nodes are healthy unless told otherwise, and start and stop what they are told to.
class EagerWorld final : public world::World {
 public:
  explicit EagerWorld(std::uint32_t nodes) : health(nodes, control::Health::healthy) {}

  void send(const control::Command& command, sched::Moment now) override {
    if (const auto* query = std::get_if<control::QueryInventory>(&command)) term_ = query->term;
    if (const auto* start = std::get_if<control::StartAttempt>(&command)) {
      for (const sched::Slot& slot : start->slots) running[start->name].insert(slot.node);
      events_.emplace_back(control::CommandReply{start->operation, control::ReplyKind::accepted, {}});
      for (const sched::NodeId node : running[start->name]) report(start->name, node, control::PartPhase::running, now);
    }
    if (const auto* stop = std::get_if<control::StopAttempt>(&command)) {
      events_.emplace_back(control::CommandReply{stop->operation, control::ReplyKind::accepted, {}});
      for (const sched::NodeId node : stop->nodes) report(stop->name, node, control::PartPhase::exited, now);
      running.erase(stop->name);
    }
  }
  void poll(sched::Moment now, std::vector<control::Event>& events) override {
    control::Inventory inventory;
    inventory.observed = now;
    for (std::uint32_t n = 0; n < health.size(); ++n) {
      const std::string signal = health[n] == control::Health::healthy ? "" : "Xid 79";
      events.emplace_back(control::NodeReport{sched::NodeId{n}, 7, health[n], signal, now});
      control::NodeInventory node{sched::NodeId{n}, 7, {}, term_};
      for (const auto& [name, nodes] : running) {
        if (nodes.contains(node.node)) node.running.push_back(name);
      }
      inventory.nodes.push_back(std::move(node));
    }
    for (control::Event& event : events_) events.push_back(std::move(event));
    events_.clear();
    events.emplace_back(std::move(inventory));
  }
  void finish(control::AttemptName name, sched::Moment now) {
    for (const sched::NodeId node : running[name]) report(name, node, control::PartPhase::exited, now);
    running.erase(name);
  }

  std::vector<control::Health> health;
  std::map<control::AttemptName, std::set<sched::NodeId>> running;

 private:
  void report(control::AttemptName name, sched::NodeId node, control::PartPhase phase, sched::Moment now) {
    control::PartReport part;
    part.name = name;
    part.node = node;
    part.boot = 7;
    part.phase = phase;
    part.sealed = phase == control::PartPhase::exited;
    part.observed = now;
    events_.emplace_back(std::move(part));
  }
  std::vector<control::Event> events_;
  control::Term term_ = 0;
};

class TenantLab {
 public:
  static constexpr std::int32_t kGpus = 8;

  explicit TenantLab(std::uint32_t nodes, std::vector<sched::TenantPolicy> tenants) : world(nodes) {
    std::vector<sched::NodeShape> shapes;
    std::vector<sched::NodeLabels> labels;
    for (std::uint32_t n = 0; n < nodes; ++n) {
      sched::NodeShape& shape = shapes.emplace_back();
      shape.name = fmt::format("n{:02}", n);
      shape.cpu = 64'000;
      shape.memory_mib = 1 << 20;
      shape.gpus = kGpus;
      shape.model = 0;
      labels.push_back({{}, fmt::format("r{:02}", n / 4), "l1", "p1"});
    }
    machine =
        std::make_shared<const sched::Machine>(*sched::Machine::build(std::move(shapes), labels, {"h100"}, {"train"}));
    control::ControllerOptions options;
    options.tenants = std::move(tenants);
    options.breaker.total = options.breaker.pool = 0.6;
    auto opened = world::ControlLoop::open(machine, std::move(options), store, world);
    EXPECT_TRUE(opened.ok());
    loop = std::move(*opened);
    world::TurnResult result;
    EXPECT_TRUE(loop->begin(now(), result).ok());
    turn();
    turn();
  }

  [[nodiscard]] sched::Moment now() const { return sched::Moment(1'760'000'000'000'000'000) + sched::seconds(second); }
  [[nodiscard]] const control::ControlState& state() const { return loop->controller().state(); }
  [[nodiscard]] ViewContext view(const access::Access& access) const { return {loop->controller(), now(), access}; }

  std::vector<control::Answer> turn(std::vector<control::Request> requests = {}) {
    ++second;
    world::TurnResult result;
    EXPECT_TRUE(loop->turn(now(), std::move(requests), true, result).ok());
    return result.answers;
  }

  static control::Request submission(const std::string& tenant, const std::string& user, const std::string& name,
                                     std::int32_t tasks, std::int32_t gpus, Duration limit) {
    control::Request request;
    request.kind = control::RequestKind::submit;
    request.user = user;
    request.spec.command = {"/bin/true", name};
    sched::Job& shape = request.spec.shape;
    shape.tenant = tenant;
    shape.user = user;
    shape.name = name;
    shape.tasks = tasks;
    shape.task.gpus = gpus;
    shape.task.cpu = 1000;
    shape.limit = limit;
    return request;
  }

  // What `access` receives of the records since the last call with the same `sent`.
  std::string events(const access::Access& access, store::Sequence& sent) {
    std::string all;
    const Status status = store.read(sent + 1, [&](const store::Entry& entry) -> Status {
      sent = entry.sequence;
      const Result<control::Record> record = control::parse_record(entry.bytes);
      EXPECT_TRUE(record.ok());
      if (!may_see_event(*record, state(), access)) return {};
      all += write_json_line(event_value(reduce_record(*record, access), entry.sequence, *machine)) + "\n";
      return {};
    });
    EXPECT_TRUE(status.ok());
    return all;
  }

  std::int64_t second = 0;
  std::shared_ptr<const sched::Machine> machine;
  store::MemoryStore store;
  EagerWorld world;
  std::unique_ptr<world::ControlLoop> loop;
};

}  // namespace weft::serve
