#include "pipeline/pipeline.h"

#include <algorithm>
#include <array>

namespace weft::pipeline {
namespace {

constexpr std::array<std::string_view, 3> kEngines = {"kubernetes", "slurm", "local"};

}  // namespace

std::string_view to_text(StepEngine engine) { return kEngines[static_cast<std::size_t>(engine)]; }

std::optional<StepEngine> find_engine(std::string_view name) {
  const auto found = std::find(kEngines.begin(), kEngines.end(), name);
  if (found == kEngines.end()) return std::nullopt;
  return static_cast<StepEngine>(found - kEngines.begin());
}

const Step* Pipeline::find(std::string_view step) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const Step& each) { return each.name == step; });
  return found == steps.end() ? nullptr : &*found;
}

}  // namespace weft::pipeline
