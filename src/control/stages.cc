#include "control/stages.h"

#include "base/enum_names.h"

namespace weft::control {
namespace {

constexpr std::array<std::string_view, kStages> kNames = {"quarantine", "drain", "repair"};
constexpr std::array<std::string_view, kStages> kVerbs = {"quarantine", "drain", "power cycle"};

}  // namespace

std::string_view to_text(Stage stage) { return kNames[static_cast<std::size_t>(stage)]; }
std::optional<Stage> find_stage(std::string_view name) { return find_enum<Stage>(kNames, name); }
std::string_view verb_of(Stage stage) { return kVerbs[static_cast<std::size_t>(stage)]; }

StageSet StageSet::none(std::size_t nodes) {
  StageSet set;
  set.all_ = false;
  for (std::vector<bool>& stage : set.enabled_) stage.assign(nodes, false);
  return set;
}

}  // namespace weft::control
