#include "serve/daemon/stage_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

Error invalid_stage(std::string message) { return {ErrorCode::invalid_input, "--enable: " + std::move(message), {}}; }

Result<std::vector<sched::NodeId>> nodes_in(const std::string& group, const sched::Machine& machine) {
  std::vector<sched::NodeId> nodes;
  const auto pool = std::find(machine.pools.begin(), machine.pools.end(), group);
  for (std::uint32_t n = 0; n < machine.nodes().size(); ++n) {
    const bool in_pool = pool != machine.pools.end() && machine.nodes()[n].pool == pool - machine.pools.begin();
    if (group.empty() || in_pool) nodes.push_back(sched::NodeId{n});
  }
  if (group.empty() || pool != machine.pools.end()) return nodes;
  const Result<std::vector<std::string>> names = expand_hosts(group);
  if (!names.ok()) return invalid_stage(names.error().message);
  for (const std::string& name : *names) {
    const std::optional<sched::NodeId> node = machine.find(name);
    if (!node) return invalid_stage(fmt::format("the cluster has no pool or node {}", in_backticks(name)));
    nodes.push_back(*node);
  }
  return nodes;
}

}  // namespace

Result<control::StageSet> parse_stages(const std::vector<std::string>& words, const sched::Machine& machine) {
  control::StageSet stages = control::StageSet::none(machine.nodes().size());
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    const std::optional<control::Stage> stage = control::find_stage(word.substr(0, colon));
    if (!stage)
      return invalid_stage(
          fmt::format("{} is not a stage; known: quarantine, drain, repair", in_backticks(word.substr(0, colon))));
    const std::string group = colon == std::string::npos ? std::string() : word.substr(colon + 1);
    if (colon != std::string::npos && group.empty())
      return invalid_stage(fmt::format("{} names no pool or node", in_backticks(word)));
    const Result<std::vector<sched::NodeId>> nodes = nodes_in(group, machine);
    if (!nodes.ok()) return nodes.error();
    for (const sched::NodeId node : *nodes) stages.enable(*stage, node);
  }
  for (const control::Stage stage : {control::Stage::drain, control::Stage::repair}) {
    const auto before = static_cast<control::Stage>(static_cast<std::uint8_t>(stage) - 1);
    for (std::uint32_t n = 0; n < machine.nodes().size(); ++n) {
      const sched::NodeId node{n};
      if (!stages.allows(stage, node) || stages.allows(before, node)) continue;
      return invalid_stage(fmt::format("{} is enabled for {} and {} is not, which comes before it", to_text(stage),
                                       machine.node(node).name, to_text(before)));
    }
  }
  return stages;
}

}  // namespace weft::serve
