#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "check/core/match.h"
#include "check/qos/class_trace.h"
#include "check/qos/intent_qos.h"
#include "check/qos/trace_ends.h"
#include "check/qos/trace_route.h"

namespace weft::check {

namespace {

constexpr std::size_t kMaxTraces = 2000;  // kept; more distinct faults than this need no longer list

bool has_maps(const config::PortQos& qos) {
  return std::any_of(qos.dscp_to_class.begin(), qos.dscp_to_class.end(),
                     [](const auto& s) { return s.given() || (s.known() && *s != 0); });
}

bool has_class_settings(const config::PortQos& qos) {
  const auto on = [](const config::Setting<bool>& s) { return s.known() && *s; };
  return has_maps(qos) || std::any_of(qos.pfc.begin(), qos.pfc.end(), on) ||
         std::any_of(qos.groups.begin(), qos.groups.end(), [&](const config::GroupQos& g) { return on(g.lossless); });
}

bool has_class_settings(const config::SwitchConfig& config) {
  return std::any_of(config.qos.begin(), config.qos.end(),
                     [](const config::PortQos& q) { return has_class_settings(q); });
}

const config::PortQos* qos_of(const config::SwitchConfig& config, const config::InterfaceConfig* interface) {
  if (interface != nullptr && interface->qos < config.qos.size()) return &config.qos[interface->qos];
  return config.qos.empty() ? nullptr : &config.qos[0];
}

bool some_have_maps(const config::SwitchConfig& config) {
  return std::any_of(config.qos.begin(), config.qos.end(), [](const config::PortQos& qos) { return has_maps(qos); });
}

// Turns routes of the model into plans: adds to each hop the port settings from its file or the cluster file.
class Planner {
 public:
  Planner(const model::Cluster& cluster, const config::ConfigSet& config) : cluster_(cluster) {
    for (const config::SwitchConfig& one : config.switches) {
      for (const model::DeviceId device : devices_of(cluster, config, one)) files_.emplace(device, &one);
    }
  }

  [[nodiscard]] const std::map<model::DeviceId, const config::SwitchConfig*>& files() const { return files_; }

  [[nodiscard]] const config::PortQos* qos_at(model::DeviceId device, model::PortId port,
                                              const config::SwitchConfig& file) const {
    return qos_of(file, interface_of(cluster_, device, file, port));
  }
  [[nodiscard]] SourceLocation place_at(model::DeviceId device, model::PortId port,
                                        const config::SwitchConfig& file) const {
    const config::InterfaceConfig* interface = interface_of(cluster_, device, file, port);
    return interface != nullptr ? interface->place : SourceLocation{file.file, 1, 1};
  }

  std::vector<TraceHop> hops(const Route& route) {
    std::vector<TraceHop> out;
    for (const RouteHop& hop : route.hops) {
      const model::DeviceId device = cluster_.port(hop.in).device;
      TraceHop one;
      one.device = cluster_.name_of(device);
      one.in = cluster_.full_port_name(hop.in);
      one.out = cluster_.full_port_name(hop.out);
      const auto file = files_.find(device);
      one.intent = file == files_.end();
      if (one.intent) {
        one.in_qos = &intents_.emplace_back(intent_port_qos(cluster_, hop.in));
        one.out_qos = &intents_.emplace_back(intent_port_qos(cluster_, hop.out));
      } else {
        one.in_qos = qos_at(device, hop.in, *file->second);
        one.out_qos = qos_at(device, hop.out, *file->second);
        one.in_place = place_at(device, hop.in, *file->second);
        one.out_place = place_at(device, hop.out, *file->second);
        one.others_have_maps = some_have_maps(*file->second);
      }
      out.push_back(std::move(one));
    }
    return out;
  }
  void forget_intents() { intents_.clear(); }

 private:
  const model::Cluster& cluster_;
  std::map<model::DeviceId, const config::SwitchConfig*> files_;
  std::deque<config::PortQos> intents_;  // of the current route
};

// Uses a server on another leaf if there is one, so the route crosses every tier.
std::optional<Route> widest_route(const model::Cluster& cluster, model::FabricKind fabric) {
  model::PortId first = model::kNone<model::PortId>;
  std::optional<Route> same_leaf;
  for (std::uint32_t i = 0; i < cluster.ports().size(); ++i) {
    const auto id = static_cast<model::PortId>(i);
    const model::Port& port = cluster.port(id);
    const model::DeviceGroup& group = cluster.group_of(port.device);
    if (port.fabric != fabric || group.kind != model::DeviceKind::server || group.manager) continue;
    if (first == model::kNone<model::PortId>) {
      first = id;
      continue;
    }
    const bool same = cluster.port(cluster.peer_of(id)).device == cluster.port(cluster.peer_of(first)).device;
    if (same && same_leaf) continue;
    if (port.device == cluster.port(first).device) continue;
    auto route = route_between(cluster, first, id);
    if (!route) continue;
    if (!same) return route;
    same_leaf = route;
  }
  return same_leaf;
}

// Applies the endpoints to a plan.
struct Ends {
  std::vector<TraceMarking> markings;
  std::vector<const config::NicConfig*> nics;
  config::NicConfig intent;
  bool nic_intent = false;
};

Ends ends_of(const model::Cluster* cluster, const config::ConfigSet& config, Flow flow) {
  Ends ends;
  ends.markings = markings_of(cluster, config, flow);
  ends.nics = nics_of(config, fabric_of(flow));
  if (cluster != nullptr) ends.intent = intent_nic(*cluster, fabric_of(flow));
  ends.nic_intent = ends.nics.empty() && cluster != nullptr;
  if (ends.markings.empty()) ends.markings.emplace_back();
  return ends;
}

TraceEnd make_end(std::string name, const TraceMarking& marking, const config::NicConfig* nic, bool intent) {
  return {std::move(name), marking, nic, intent};
}

// Key that is equal for traces with the same wrong lines and causes.
std::string signature(const Trace& trace) {
  std::string out = fmt::format("{}/{}", static_cast<int>(trace.flow), static_cast<int>(trace.fabric));
  for (const TraceLeg& leg : trace.legs) {
    for (const TraceStep& step : leg.steps) {
      if (step.cause == Cause::none && step.verdict != StepVerdict::unknown) continue;
      // A default has no line; the device distinguishes them.
      const std::string where = step.place.known()
                                    ? fmt::format("{}:{}:{}", step.place.file, step.place.line, step.place.column)
                                : step.said_by == SaidBy::intent ? step.path
                                                                 : step.device;
      out += fmt::format("|{} {} {} {}", static_cast<int>(step.cause), step.what, where, leg.notice ? 1 : 0);
    }
  }
  return out;
}

class Collector {
 public:
  explicit Collector(std::vector<Trace>& out) : out_(out) {}
  void add(Trace trace) {
    if (out_.size() < kMaxTraces && seen_.insert(signature(trace)).second) out_.push_back(std::move(trace));
  }

 private:
  std::vector<Trace>& out_;
  std::set<std::string> seen_;
};

Trace make_trace(Flow flow, bool has_fabric, const TracePlan& plan) {
  Trace trace;
  trace.flow = flow;
  trace.fabric = fabric_of(flow);
  trace.has_fabric = has_fabric;
  trace.from = plan.from.name;
  trace.to = plan.to.name;
  trace.legs = walk_legs(plan);
  return trace;
}

void trace_ends(const model::Cluster& cluster, const Route& route, Planner& planner, const Ends& ends, Flow flow,
                Collector& out) {
  TracePlan plan;
  plan.hops = planner.hops(route);
  std::vector<const config::NicConfig*> nics = ends.nics;
  if (ends.nic_intent) nics.push_back(&ends.intent);
  for (const TraceMarking& marking : ends.markings) {
    for (const config::NicConfig* nic : nics) {
      plan.from = make_end(cluster.full_port_name(route.from), marking, nic, ends.nic_intent);
      plan.to = make_end(cluster.full_port_name(route.to), marking, nic, ends.nic_intent);
      out.add(make_trace(flow, true, plan));
    }
  }
  planner.forget_intents();
}

// One route through every kind of port of every device with a file, using the intended marking: the actual marking of
// the ends is checked once, on the widest route.
void trace_files(const model::Cluster& cluster, Planner& planner, const Ends& ends, Flow flow, Collector& out) {
  TraceMarking meant;
  meant.name = to_text(flow);
  meant.intent = true;
  std::set<std::pair<const config::PortQos*, model::Tier>>
      seen;  // a file shared by many devices is traced once per tier
  for (const auto& [device, file] : planner.files()) {
    if (cluster.group_of(device).fabric != fabric_of(flow)) continue;
    const model::Tier tier = cluster.group_of(device).tier;
    for (const model::PortId port : cluster.ports_of(device)) {
      if (cluster.port(port).fabric != fabric_of(flow)) continue;
      if (!seen.insert({planner.qos_at(device, port, *file), tier}).second) continue;
      const auto route = route_through(cluster, port);
      if (!route) continue;
      TracePlan plan;
      plan.hops = planner.hops(*route);
      plan.from = make_end(cluster.full_port_name(route->from), meant, &ends.intent, true);
      plan.to = make_end(cluster.full_port_name(route->to), meant, &ends.intent, true);
      out.add(make_trace(flow, true, plan));
      planner.forget_intents();
    }
  }
}

std::vector<Flow> flows_of(const config::ConfigSet& config) {
  std::vector<Flow> flows = {Flow::nccl, Flow::nvmeof};
  const bool ucx = std::any_of(config.apps.begin(), config.apps.end(), [](const config::AppConfig& app) {
    return app.variable("UCX_IB_TRAFFIC_CLASS") != nullptr;
  });
  if (ucx) flows.push_back(Flow::ucx);
  return flows;
}

// The ports used for a switch if no cluster file describes its neighbors: the first two with classes.
TraceHop hop_without_cluster(const config::SwitchConfig& config) {
  TraceHop hop;
  hop.device = config.hostname.known() ? *config.hostname : "switch";
  const config::InterfaceConfig* in = nullptr;
  const config::InterfaceConfig* out = nullptr;
  for (const config::InterfaceConfig& interface : config.interfaces) {
    if (interface.kind != config::InterfaceConfig::Kind::front_panel) continue;
    const config::PortQos* qos = qos_of(config, &interface);
    if (qos == nullptr || !has_class_settings(*qos)) continue;
    (in == nullptr ? in : out) = &interface;
    if (out != nullptr) break;
  }
  if (out == nullptr) out = in;
  hop.in_qos = qos_of(config, in);
  hop.out_qos = qos_of(config, out);
  hop.in_place = in != nullptr ? in->place : SourceLocation{config.file, 1, 1};
  hop.out_place = out != nullptr ? out->place : SourceLocation{config.file, 1, 1};
  hop.in = hop.device + (in != nullptr ? ":" + in->name : "");
  hop.out = hop.device + (out != nullptr ? ":" + out->name : "");
  return hop;
}

TracePlan plan_without_cluster(std::vector<TraceHop> hops, const TraceMarking& marking, const config::NicConfig* nic) {
  TracePlan plan;
  plan.hops = std::move(hops);
  const std::string name = nic == nullptr ? "NIC" : nic->name.empty() ? "NIC" : nic->name;
  plan.from = make_end(name, marking, nic, false);
  plan.to = make_end(name, marking, nic, false);
  return plan;
}

void trace_without_cluster(const config::ConfigSet& config, Collector& out) {
  for (const Flow flow : flows_of(config)) {
    Ends ends = ends_of(nullptr, config, flow);
    if (ends.nics.empty()) ends.nics.push_back(nullptr);
    for (const config::SwitchConfig& file : config.switches) {
      if (!has_class_settings(file)) continue;
      for (const TraceMarking& marking : ends.markings) {
        if (flow == Flow::nvmeof && !marking.traffic_class.known()) continue;  // no file configures storage
        for (const config::NicConfig* nic : ends.nics) {
          if (nic == nullptr && !marking.traffic_class.known()) continue;
          out.add(make_trace(flow, false, plan_without_cluster({hop_without_cluster(file)}, marking, nic)));
        }
      }
    }
  }
}

Error refuse(ErrorCode code, std::string message) { return Error{code, std::move(message), {}}; }

// A server's name, or a port's ("train001:be2").
Result<model::PortId> end_port(const model::Cluster& cluster, const std::string& name, model::FabricKind fabric,
                               int rail) {
  const bool with_port = name.find(':') != std::string::npos;
  model::PortId port = with_port ? cluster.find_port(name) : model::kNone<model::PortId>;
  const model::DeviceId device = with_port ? model::kNone<model::DeviceId> : cluster.find_device(name);
  if (!with_port && device == model::kNone<model::DeviceId>)
    return refuse(ErrorCode::not_found, fmt::format("no device `{}`", name));
  if (!with_port) port = fabric_port(cluster, device, fabric, rail);
  if (port == model::kNone<model::PortId> && rail >= 0 && !with_port) port = fabric_port(cluster, device, fabric, -1);
  if (port == model::kNone<model::PortId> || cluster.port(port).fabric != fabric) {
    return refuse(ErrorCode::not_found, fmt::format("`{}` has no port on the {} fabric", name, model::to_text(fabric)));
  }
  if (cluster.group_of(cluster.port(port).device).kind != model::DeviceKind::server) {
    return refuse(ErrorCode::invalid_input, fmt::format("`{}` is not a server", name));
  }
  return port;
}

Result<Route> requested_route(const model::Cluster& cluster, const TraceRequest& request) {
  const model::FabricKind fabric = fabric_of(request.flow);
  if (!cluster.fabric(fabric).present) {
    return refuse(ErrorCode::not_found, fmt::format("the cluster has no {} fabric", model::to_text(fabric)));
  }
  if (cluster.fabric(fabric).network != model::NetworkKind::ethernet) {
    return refuse(ErrorCode::invalid_input,
                  fmt::format("the {} fabric is InfiniBand: credits make it lossless, there is no DSCP to trace",
                              model::to_text(fabric)));
  }
  const auto widest = widest_route(cluster, fabric);
  if (!widest)
    return refuse(ErrorCode::not_found,
                  fmt::format("no two servers are connected to the {} fabric", model::to_text(fabric)));
  if (request.from.empty() && request.to.empty() && request.rail == 0) return *widest;
  const std::string from = request.from.empty() ? cluster.name_of(cluster.port(widest->from).device) : request.from;
  const std::string to = request.to.empty() ? cluster.name_of(cluster.port(widest->to).device) : request.to;
  const auto a = end_port(cluster, from, fabric, request.rail - 1);
  if (!a) return a.error();
  const auto b = end_port(cluster, to, fabric, cluster.port(*a).rail);
  if (!b) return b.error();
  if (auto route = route_between(cluster, *a, *b)) return *route;
  return refuse(ErrorCode::not_found, fmt::format("the {} fabric does not connect {} and {}", model::to_text(fabric),
                                                  cluster.full_port_name(*a), cluster.full_port_name(*b)));
}

Result<Trace> trace_chain(const config::ConfigSet& config, const TraceRequest& request) {
  if (config.switches.empty()) {
    return refuse(ErrorCode::invalid_input, "neither a cluster file nor a switch configuration to trace");
  }
  const Ends ends = ends_of(nullptr, config, request.flow);
  std::vector<TraceHop> hops;
  for (const config::SwitchConfig& file : config.switches) hops.push_back(hop_without_cluster(file));
  TracePlan plan = plan_without_cluster(std::move(hops), ends.markings[0], ends.nics.empty() ? nullptr : ends.nics[0]);
  plan.dscp = request.dscp;
  return make_trace(request.flow, false, plan);
}

}  // namespace

Result<Trace> trace_class(const model::Cluster* cluster, const config::ConfigSet& config, const Sources&,
                          const TraceRequest& request) {
  if (request.dscp >= config::kDscps || request.rail < 0) {
    return refuse(ErrorCode::invalid_input, "a DSCP is between 0 and 63, rails are numbered from 1");
  }
  if (cluster == nullptr) return trace_chain(config, request);
  const auto route = requested_route(*cluster, request);
  if (!route) return route.error();
  Planner planner(*cluster, config);
  const Ends ends = ends_of(cluster, config, request.flow);
  const config::NicConfig* nic = ends.nic_intent || ends.nics.empty() ? &ends.intent : ends.nics[0];
  TracePlan plan;
  plan.hops = planner.hops(*route);
  plan.from = make_end(cluster->full_port_name(route->from), ends.markings[0], nic, ends.nic_intent);
  plan.to = make_end(cluster->full_port_name(route->to), ends.markings[0], nic, ends.nic_intent);
  plan.dscp = request.dscp;
  return make_trace(request.flow, true, plan);
}

ClassTraces::ClassTraces(const model::Cluster* cluster, const config::ConfigSet& config, const Sources&) {
  Collector out(traces_);
  if (cluster == nullptr) {
    trace_without_cluster(config, out);
    return;
  }
  Planner planner(*cluster, config);
  for (const Flow flow : flows_of(config)) {
    if (!has_lossless_class(*cluster, fabric_of(flow))) continue;
    const Ends ends = ends_of(cluster, config, flow);
    const auto route = widest_route(*cluster, fabric_of(flow));
    if (route) trace_ends(*cluster, *route, planner, ends, flow, out);
    trace_files(*cluster, planner, ends, flow, out);
  }
}

}  // namespace weft::check
