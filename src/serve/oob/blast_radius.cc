#include "serve/oob/blast_radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "oob/power/plan.h"
#include "oob/rescue/plan.h"
#include "oob/rescue/runbook_store.h"

namespace weft::serve {
namespace {

// Servers with a cable to one of the switches.
std::vector<std::uint32_t> servers_behind(const model::Cluster& cluster, const oob::Inventory& inventory,
                                          const std::vector<std::uint32_t>& targets) {
  std::set<std::uint32_t> servers;
  for (const std::uint32_t i : targets) {
    const oob::Target& target = inventory.targets()[i];
    if (target.role != oob::Role::network_switch) continue;
    for (const model::PortId port : cluster.ports_of(target.device)) {
      const model::PortId peer = cluster.peer_of(port);
      if (peer == model::kNone<model::PortId>) continue;
      const model::DeviceId other = cluster.port(peer).device;
      if (cluster.group_of(other).kind != model::DeviceKind::server) continue;
      if (const auto found = inventory.find(cluster.name_of(other))) servers.insert(*found);
    }
  }
  return {servers.begin(), servers.end()};
}

Status add_power(const OobCall& call, const oob::Inventory& inventory, BlastRadius& radius) {
  const auto action = call.values.find("action");
  if (action == call.values.end()) return {};
  const std::optional<oob::PowerVerb> verb = oob::power_verb_named(action->second);
  CHECK(verb.has_value(), "the table allows power verbs only");
  radius.interrupts = *verb != oob::PowerVerb::on;
  const oob::PowerStates unknown(inventory.targets().size(), oob::PowerState::unknown);
  Result<oob::PowerPlan> plan = oob::plan_power(inventory, *verb, radius.targets, unknown);
  if (!plan.ok()) return plan.error();
  radius.dependents = std::move(plan->dependents);
  return {};
}

Status add_runbook(const OobCall& call, const model::Cluster& cluster, const oob::Inventory& inventory,
                   BlastRadius& radius) {
  std::map<std::string, std::string> settings;
  if (const auto given = call.values.find("parameters"); given != call.values.end()) {
    for (const std::string_view line : split_lines(given->second)) {
      const std::size_t equals = line.find('=');
      settings[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
  }
  Sources sources;
  Diagnostics diagnostics;
  const Result<oob::Runbook> book = oob::open_runbook(call.values.at("runbook"), sources, diagnostics);
  if (!book.ok()) return book.error();
  const oob::RescueHosts hosts(cluster, inventory);
  const std::optional<oob::RescuePlan> plan = oob::make_rescue_plan(*book, hosts, settings, diagnostics);
  if (!plan) return Error{ErrorCode::invalid_input, render_all(diagnostics, sources, false), "parameters"};
  radius.targets = plan->hit;
  radius.behind = plan->felt;
  radius.interrupts = plan->dangerous();
  return {};
}

Value devices_value(const std::vector<std::uint32_t>& devices, const oob::Inventory& inventory) {
  return Value::map().set("devices", devices.size()).set("hosts", inventory.fold(devices));
}

}  // namespace

Result<BlastRadius> find_blast_radius(const OobCall& call, const model::Cluster& cluster,
                                      const oob::Inventory& inventory) {
  const OobVerb& verb = *call.verb;
  BlastRadius radius;
  radius.targets = call.targets;
  switch (verb.reach) {
    case OobReach::devices:
      break;
    case OobReach::power:
      if (Status added = add_power(call, inventory, radius); !added.ok()) return added.error();
      if (radius.interrupts) radius.behind = servers_behind(cluster, inventory, radius.targets);
      break;
    case OobReach::config:
      radius.behind = servers_behind(cluster, inventory, radius.targets);
      radius.interrupts = true;
      break;
    case OobReach::runbook:
      // A resumed rescue has the parameters that it began with.
      if (verb.planning == OobPlanning::none) break;
      if (Status added = add_runbook(call, cluster, inventory, radius); !added.ok()) return added.error();
      break;
  }
  // Powering on interrupts nothing and has no limit.
  const bool limited = verb.limit > 0 && (verb.reach != OobReach::power || radius.interrupts);
  const auto given = call.values.find("limit");
  const std::uint64_t limit =
      given == call.values.end() ? verb.limit : std::strtoull(given->second.c_str(), nullptr, 10);
  const std::size_t count = radius.targets.size() + radius.dependents.size();
  if (limited && count > limit) {
    radius.refusal = fmt::format("{} devices exceed the limit of {}; allow it with \"limit\": {}", count, limit, count);
  }
  return radius;
}

std::vector<std::string> affected_devices(const BlastRadius& radius, const oob::Inventory& inventory) {
  std::set<std::uint32_t> all;
  for (const auto* part : {&radius.targets, &radius.dependents, &radius.behind}) all.insert(part->begin(), part->end());
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const std::uint32_t i : all) names.push_back(inventory.targets()[i].name);
  return names;
}

Value blast_radius_value(const BlastRadius& radius, const oob::Inventory& inventory, const OobJobsOn& jobs_on) {
  std::set<std::string> racks;
  for (const std::uint32_t i : radius.targets) racks.insert(inventory.targets()[i].rack);
  racks.erase("");
  Value value = devices_value(radius.targets, inventory);
  value.set("racks", racks.size()).set("interrupts", radius.interrupts);
  value.set("dependents", devices_value(radius.dependents, inventory));
  value.set("servers_behind", devices_value(radius.behind, inventory));
  if (radius.interrupts && jobs_on) value.set("running", jobs_on(affected_devices(radius, inventory)));
  return value;
}

}  // namespace weft::serve
