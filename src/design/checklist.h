// The five-phase plan (design, procurement, infrastructure, platform, observability) held against a cluster file: each
// item is done, not done, or cannot be known from the file, and says why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "model/cluster.h"

namespace weft::design {

enum class ItemState { done, not_done, unknown };

struct ChecklistItem {
  std::string id;  // "design.backend-sized": the key to use under `checklist:`
  std::string phase;
  std::string text;
  ItemState state = ItemState::unknown;
  std::string why;
};

[[nodiscard]] std::vector<ChecklistItem> checklist(const model::Cluster& cluster);
// Ids a file may state under `checklist:`.
[[nodiscard]] std::vector<std::string_view> checklist_ids();
[[nodiscard]] Document checklist_view(const model::Cluster& cluster);

}  // namespace weft::design
