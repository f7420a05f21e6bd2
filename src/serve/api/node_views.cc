#include <fmt/format.h>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "sched/explain/view.h"
#include "serve/api/observed_views.h"
#include "serve/api/views.h"

namespace weft::serve {

using sched::Moment;
using sched::NodeId;

namespace {

constexpr Column::Align kRight = Column::Align::right;

std::vector<const control::Job*> visible_jobs(const ViewContext& context, NodeId id) {
  std::vector<const control::Job*> jobs;
  const control::ControlState& state = context.controller.state();
  for (const control::JobNumber number : state.jobs_on(id)) {
    const control::Job* job = state.find_job(number);
    if (is_visible(*job, context.access)) jobs.push_back(job);
  }
  return jobs;
}

control::Reader reader_of(const ViewContext& context) {
  return context.access.sees_everything() ? control::Reader::operators : control::Reader::users;
}

std::string shown_state(const ViewContext& context, NodeId id) {
  const control::Node& node = context.controller.state().node(id);
  if (node.session) return fmt::format("repair ({})", to_text(node.session->step));
  if (node.drained) return visible_jobs(context, id).empty() ? "drained" : "draining";
  if (!context.controller.is_usable(id)) return "out of service";
  return context.controller.scheduler().kept_aside(id) ? "spare" : "in service";
}

std::string jobs_text(const ViewContext& context, NodeId id) {
  if (const auto* seen = find_observed_node(context, context.controller.state().machine().node(id).name))
    return observed_jobs_text(context, *seen);
  std::vector<std::string> jobs;
  for (const control::Job* job : visible_jobs(context, id)) jobs.push_back(std::to_string(job->number));
  return join(jobs, ", ");
}

// Of visible jobs: the use of one node is not a total of the cluster.
std::int64_t used_gpu_milli(const ViewContext& context, NodeId id) {
  const control::ControlState& state = context.controller.state();
  if (const auto* seen = find_observed_node(context, state.machine().node(id).name))
    return std::int64_t{observed_gpus_used(context, *seen)} * sched::kWholeGpu;
  if (!context.access.sees_everything()) {
    std::int64_t used = 0;
    for (const control::Job* job : visible_jobs(context, id)) {
      if (!job->current) continue;
      for (const sched::Slot& slot : job->current->slots) {
        if (slot.node == id) used += job->spec->shape.task.gpu_total();
      }
    }
    return used;
  }
  return std::int64_t{state.machine().node(id).gpus} * sched::kWholeGpu - state.unclaimed(id).gpu_total();
}

std::vector<Cell> node_row(const ViewContext& context, NodeId id) {
  const control::ControlState& state = context.controller.state();
  const sched::NodeShape& shape = state.machine().node(id);
  const control::Node& node = state.node(id);
  const std::int64_t used = used_gpu_milli(context, id);
  return {shape.name,
          shown_state(context, id),
          to_text(node.health),
          shape.model >= 0 ? Cell(state.machine().models[static_cast<std::size_t>(shape.model)]) : Cell(),
          shape.gpus,
          Cell(static_cast<double>(used) / 1000.0, sched::text_of_gpus(used)),
          jobs_text(context, id),
          context.controller.why_unusable(id, reader_of(context))};
}

}  // namespace

Document nodes_view(const ViewContext& context) {
  Document document;
  document.kind = "nodes";
  TableSection table{"nodes", "", {}, {}};
  table.columns = {{"node", "Node"},       {"state", "State"},       {"health", "Health"},
                   {"model", "GPU model"}, {"gpus", "GPUs", kRight}, {"used_gpus", "Used", kRight},
                   {"jobs", "Jobs"},       {"note", "Note"}};
  for (std::uint32_t i = 0; i < context.controller.state().node_count(); ++i) {
    table.rows.push_back(node_row(context, NodeId{i}));
  }
  document.sections.emplace_back(std::move(table));
  if (context.controller.state().tripped()) {
    document.notes.push_back(context.access.sees_everything()
                                 ? "Automatic repair is paused: " + context.controller.state().trip_reason()
                                 : "Automatic repair is paused.");
  }
  return document;
}

Document node_view(const ViewContext& context, NodeId id) {
  const control::ControlState& state = context.controller.state();
  const sched::NodeShape& shape = state.machine().node(id);
  const control::Node& node = state.node(id);
  const bool all = context.access.sees_everything();
  Document document;
  document.kind = "node";
  FactsSection facts{"node", "Node " + shape.name, {}};
  const auto domain = [&](sched::Level level) {
    return Cell(state.machine().domains(level)[state.machine().domain_of(level, id)].name);
  };
  facts.facts = {{"node", "Node", shape.name},
                 {"state", "State", shown_state(context, id)},
                 {"note", "Note", context.controller.why_unusable(id, reader_of(context))},
                 {"rack", "Rack", domain(sched::Level::rack)},
                 {"pool", "Pool", state.machine().pools[static_cast<std::size_t>(shape.pool)]},
                 {"gpus", "GPUs", shape.gpus},
                 {"used_gpus", "GPUs used", static_cast<double>(used_gpu_milli(context, id)) / 1000.0},
                 {"jobs", "Jobs", jobs_text(context, id)},
                 {"health", "Health", to_text(node.health)},
                 {"signal", "Signal", all ? Cell(node.signal) : Cell()},
                 {"observed", "Observed", node.observed == Moment() ? Cell() : time_cell(node.observed, context.now)},
                 {"boot", "Boot id", fmt::format("{:016x}", node.boot)},
                 {"sessions", "Repair sessions", node.sessions}};
  // What people, engines and devices wrote may name anyone's work.
  if (node.drained && all) {
    facts.facts.push_back({"drained_by", "Drained by", node.drained_by});
    facts.facts.push_back({"drained_at", "Drained", time_cell(node.drained_at, context.now)});
    facts.facts.push_back({"drain_reason", "Drain reason", node.drain_reason});
  }
  if (node.cordoned && all) facts.facts.push_back({"cordon", "Cordoned by", node.cordon_owner});
  if (node.session) {
    facts.facts.push_back({"session", "Session", node.session->id});
    facts.facts.push_back({"session_step", "Step", to_text(node.session->step)});
    if (all) facts.facts.push_back({"session_cause", "Cause", node.session->cause});
    facts.facts.push_back({"session_since", "Since", time_cell(node.session->since, context.now)});
  }
  if (const auto* seen = find_observed_node(context, shape.name); seen != nullptr && all)
    facts.facts.push_back({"engine_state", "State in the engine", seen->state});
  add_proposal_facts(context, id, facts);
  document.sections.emplace_back(std::move(facts));
  return document;
}

Document reservations_view(const ViewContext& context) {
  Document document;
  document.kind = "reservations";
  TableSection table{"reservations", "", {}, {}};
  table.columns = {{"name", "Name"},   {"state", "State"}, {"from", "From"},    {"until", "Until"},
                   {"nodes", "Nodes"}, {"user", "User"},   {"reason", "Reason"}};
  const sched::Machine& machine = context.controller.state().machine();
  const bool all = context.access.sees_everything();
  for (const auto& [name, each] : context.controller.state().reservations()) {
    std::vector<std::string> nodes;
    for (const NodeId node : each.nodes) nodes.push_back(machine.node(node).name);
    table.rows.push_back({name, each.is_active(context.now) ? "active" : "planned", utc_text(each.from),
                          utc_text(each.until), fold_hosts(std::move(nodes)), all ? Cell(each.user) : Cell(),
                          all ? Cell(each.reason) : Cell()});
  }
  if (table.rows.empty()) document.notes.push_back("No reservations.");
  document.sections.emplace_back(std::move(table));
  return document;
}

Document queue_view(const ViewContext& context, std::size_t limit) {
  const sched::Scheduler& scheduler = context.controller.scheduler();
  sched::StatusOptions options;
  options.most_queue = limit;
  options.audience = audience_of(context.access);
  Document document =
      sched::status_view(scheduler, sched::cluster_status(scheduler, context.now, options), sched::TimeOrigin::epoch);
  document.kind = "queue";
  return document;
}

Document server_view(const ViewContext& context, const ServerFacts& server) {
  const control::ControlState& state = context.controller.state();
  const bool all = context.access.sees_everything();
  std::size_t usable = 0;
  for (std::uint32_t i = 0; i < state.node_count(); ++i) {
    if (context.controller.is_usable(NodeId{i})) ++usable;
  }
  Document document;
  document.kind = "server";
  FactsSection facts{"server", "", {}};
  facts.facts = {{"cluster", "Cluster", server.cluster},
                 {"version", "Version", server.version},
                 {"engine", "Engine", server.engine},
                 {"state_directory", "State", server.state_directory},
                 {"started", "Started", time_cell(server.started, context.now)},
                 {"sequence", "Journal records", server.sequence},
                 {"store", "Journal", server.store_problem.empty() ? "durable" : server.store_problem},
                 {"nodes", "Nodes",
                  Cell(static_cast<std::int64_t>(state.node_count()),
                       fmt::format("{}, {} in service", state.node_count(), usable))},
                 {"usable_nodes", "Nodes in service", usable},
                 {"jobs", "Jobs", state.jobs().size()},
                 {"ended_jobs", "Jobs that ended", state.ended().size()},
                 {"sessions", "Repair sessions", state.open_sessions()},
                 {"breaker", "Automatic repair",
                  !state.tripped() ? "on"
                  : all            ? "paused: " + state.trip_reason()
                                   : "paused"},
                 {"connections", "Connections", server.http.connections},
                 {"requests", "Requests", server.http.requests}};
  if (!server.role.empty()) {
    facts.facts.push_back({"role", "Role", server.role});
    facts.facts.push_back({"leader", "Leader", server.leader.empty() ? Cell() : Cell(server.leader)});
  }
  if (server.role == kFollowerRole) facts.facts.push_back({"stale", "State is older by at most", server.stale});
  add_watch_facts(context, server, facts);
  document.sections.emplace_back(std::move(facts));
  add_proposals(context, document);
  return document;
}

}  // namespace weft::serve
