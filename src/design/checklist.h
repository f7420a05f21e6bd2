// Checks a cluster file against the five-phase deployment plan (design, procurement, infrastructure, platform,
// observability): each item is done, not done, or cannot be determined from the file, with the reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "model/cluster.h"

namespace weft::design {

enum class ItemState { done, not_done, unknown };

struct ChecklistItem {
  std::string id;  // "design.backend-sized": its key under `checklist:`
  std::string phase;
  std::string text;
  ItemState state = ItemState::unknown;
  std::string why;
};

[[nodiscard]] std::vector<ChecklistItem> checklist(const model::Cluster& cluster);
// Ids allowed under `checklist:`.
[[nodiscard]] std::vector<std::string_view> checklist_ids();
[[nodiscard]] Document checklist_view(const model::Cluster& cluster);

}  // namespace weft::design
