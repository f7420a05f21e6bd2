#include "serve/daemon/stage_options.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "serve/daemon/lease_options.h"

namespace weft::serve {
namespace {

Error invalid_stage(std::string message) { return {ErrorCode::invalid_input, "--enable: " + std::move(message), {}}; }

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
    const Result<std::vector<sched::NodeId>> nodes = find_group(group, machine);
    if (!nodes.ok()) return invalid_stage(nodes.error().message);
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
