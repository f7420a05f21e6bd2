#include "serve/daemon/lease_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/host_range.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

using lease::LeaseOwner;

Error invalid(std::string_view option, std::string message) {
  return {ErrorCode::invalid_input, fmt::format("--{}: {}", option, message), {}};
}

struct EngineGroup {
  LeaseOwner engine = LeaseOwner::none;
  std::vector<sched::NodeId> nodes;
};

// "kubernetes:train" of the engines of this server.
Result<EngineGroup> parse_engine_group(std::string_view option, const std::string& text, const LeaseSettings& settings,
                                       const sched::Machine& machine) {
  const std::size_t colon = text.find(':');
  const std::optional<LeaseOwner> engine = lease::find_owner(std::string_view(text).substr(0, colon));
  const bool known =
      engine && std::find(settings.engines.begin(), settings.engines.end(), *engine) != settings.engines.end();
  if (!known)
    return invalid(option, fmt::format("{} is not an engine of this server", in_backticks(text.substr(0, colon))));
  const std::string group = colon == std::string::npos ? std::string() : text.substr(colon + 1);
  if (group.empty()) return invalid(option, fmt::format("{} names no pool or node", in_backticks(text)));
  Result<std::vector<sched::NodeId>> nodes = find_group(group, machine);
  if (!nodes.ok()) return invalid(option, nodes.error().message);
  return EngineGroup{*engine, std::move(*nodes)};
}

// Minutes since midnight of "HH:MM".
std::optional<std::uint32_t> parse_minute(std::string_view text) {
  std::uint32_t hours = 0;
  std::uint32_t minutes = 0;
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto read = [](std::string_view part, std::uint32_t& number) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    return error == std::errc() && end == part.data() + part.size();
  };
  if (!read(text.substr(0, 2), hours) || !read(text.substr(3), minutes) || hours > 23 || minutes > 59)
    return std::nullopt;
  return hours * 60 + minutes;
}

}  // namespace

Result<std::vector<sched::NodeId>> find_group(const std::string& group, const sched::Machine& machine) {
  std::vector<sched::NodeId> nodes;
  const auto pool = std::find(machine.pools.begin(), machine.pools.end(), group);
  for (std::uint32_t n = 0; n < machine.nodes().size(); ++n) {
    const bool in_pool = pool != machine.pools.end() && machine.nodes()[n].pool == pool - machine.pools.begin();
    if (group.empty() || in_pool) nodes.push_back(sched::NodeId{n});
  }
  if (group.empty() || pool != machine.pools.end()) return nodes;
  const Result<std::vector<std::string>> names = expand_hosts(group);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    const std::optional<sched::NodeId> node = machine.find(name);
    if (!node)
      return Error{ErrorCode::invalid_input, fmt::format("the cluster has no pool or node {}", in_backticks(name)), {}};
    nodes.push_back(*node);
  }
  return nodes;
}

Result<std::vector<LeaseOwner>> parse_first_owners(const LeaseSettings& settings, const sched::Machine& machine) {
  std::vector<LeaseOwner> owners(machine.nodes().size(), LeaseOwner::none);
  for (const std::string& word : settings.first_owners) {
    const Result<EngineGroup> group = parse_engine_group("first-owner", word, settings, machine);
    if (!group.ok()) return group.error();
    for (const sched::NodeId node : group->nodes) {
      LeaseOwner& owner = owners[sched::index_of(node)];
      if (owner != LeaseOwner::none && owner != group->engine)
        return invalid("first-owner", fmt::format("{} has two owners", machine.node(node).name));
      owner = group->engine;
    }
  }
  return owners;
}

Result<std::vector<control::ScheduledMove>> parse_schedule(const LeaseSettings& settings,
                                                           const sched::Machine& machine) {
  std::vector<control::ScheduledMove> schedule;
  std::map<sched::NodeId, std::map<std::uint32_t, LeaseOwner>> times;
  for (const std::string& word : settings.schedule) {
    const std::size_t equals = word.find('=');
    const std::optional<std::uint32_t> minute = parse_minute(std::string_view(word).substr(0, equals));
    if (equals == std::string::npos || !minute)
      return invalid("move-at", fmt::format("{} does not have the form HH:MM=ENGINE:GROUP", in_backticks(word)));
    Result<EngineGroup> group = parse_engine_group("move-at", word.substr(equals + 1), settings, machine);
    if (!group.ok()) return group.error();
    for (const sched::NodeId node : group->nodes) {
      if (!times[node].emplace(*minute, group->engine).second)
        return invalid("move-at", fmt::format("{} has two engines at {}", machine.node(node).name, word.substr(0, 5)));
    }
    schedule.push_back({*minute, group->engine, std::move(group->nodes), settings.preempt});
  }
  for (const auto& [node, engines] : times) {
    std::set<LeaseOwner> different;
    for (const auto& [minute, engine] : engines) different.insert(engine);
    if (different.size() < 2)
      return invalid("move-at",
                     fmt::format("{} has a time for one engine only and would never return", machine.node(node).name));
  }
  return schedule;
}

}  // namespace weft::serve
