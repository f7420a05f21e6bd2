// The order in which changes are safe: out-of-band first, so that a mistake can be undone; then one switch at a time,
// spines before leaves, each drained before and put back after; then what runs on top. Says what to run, runs nothing.
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
  std::vector<std::string> before;  // drain; empty where nothing is lost
  std::vector<std::string> apply;
  std::vector<std::string> after;  // check, then put back
};

// What a changed file belongs to, beside its changes.
struct ChangedFile {
  FileChanges changes;
  Stage stage = Stage::platform;
};

[[nodiscard]] std::vector<RolloutStep> plan_rollout(const RenderPlan& plan, const std::vector<ChangedFile>& files);

}  // namespace weft::render
