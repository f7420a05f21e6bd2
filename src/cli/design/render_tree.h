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
  std::vector<std::pair<std::string, std::string>> jobs{};  // name and text of the job files, to be stored in the tree
  std::string folder;
  bool force = false;                                           // replace a folder even if files in it would be lost
  std::function<void(const render::RenderTarget&)> progress{};  // called before each target
};

// Renders into the folder atomically. Leaves nothing behind on failure.
[[nodiscard]] Result<render::Manifest> render_tree(const render::RenderInput& input, const RenderRequest& request);

// Files that would be lost if `folder` were replaced: not in its manifest, or changed since. Empty if the folder does
// not exist, is empty, or is unchanged.
[[nodiscard]] Result<std::vector<std::string>> own_changes(const std::string& folder);

}  // namespace weft::cli
