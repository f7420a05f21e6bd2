// The order in which changes can be applied safely: out-of-band first, so that mistakes can be rolled back; then one
// switch at a time, spines before leaves, each drained before and returned to service after; then everything that runs
// on top. Lists the commands but does not run them.
#pragma once

#include <string>
#include <vector>

#include "render/core/compare.h"
#include "render/core/manifest.h"
#include "render/core/plan.h"

namespace weft::render {

struct RolloutStep {
  std::uint32_t number = 0;  // 1, 2, ...
  Stage stage = Stage::platform;
  std::string subject;  // a device, "pool train", or the target
  Risk risk = Risk::none;
  std::size_t changes = 0;
  std::vector<std::string> files;
  std::vector<std::string> before;  // drain; empty if no traffic is lost
  std::vector<std::string> apply;
  std::vector<std::string> after;  // check, then return to service
};

// The changes of one file, with the stage in which it is applied.
struct ChangedFile {
  FileChanges changes;
  Stage stage = Stage::platform;
};

[[nodiscard]] std::vector<RolloutStep> plan_rollout(const RenderPlan& plan, const std::vector<ChangedFile>& files);

}  // namespace weft::render
