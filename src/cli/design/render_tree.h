// Rendered trees on disk, for weft render and weft diff.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "render/core/manifest.h"
#include "render/core/target.h"

namespace weft::cli {

struct RenderRequest {
  std::vector<const render::RenderTarget*> targets;
  std::vector<std::pair<std::string, std::string>> jobs{};  // name and text of the job files, to be kept in the tree
  std::string folder;
  bool force = false;  // replace a folder even if something in it would be lost
  std::function<void(const render::RenderTarget&)> progress{};  // called before each target
};

// Renders into the folder, in one step. Nothing is left behind when it fails.
[[nodiscard]] Result<render::Manifest> render_tree(const render::RenderInput& input, const RenderRequest& request);

// What would be lost if `folder` were replaced: files that its manifest does not know or that were changed since.
// Empty when there is no such folder, it is empty, or it is as weft left it.
[[nodiscard]] Result<std::vector<std::string>> own_changes(const std::string& folder);

}  // namespace weft::cli
