// The difference between two cluster files as a document, for people (folded host lists) or for programs (one row per
// device, port and cable).
#pragma once

#include <cstddef>
#include <vector>

#include "base/document.h"
#include "inspect/cluster_diff.h"
#include "inspect/spec_diff.h"

namespace weft::inspect {

struct DiffInput {
  const model::Cluster& before;
  const model::Cluster& after;
  const std::vector<SettingChange>& settings;
  const ClusterDiff& diff;
};

// Addresses that hosts and switches have in both clusters, and that are not the same: what needs a maintenance window.
[[nodiscard]] std::size_t renumbered(const ClusterDiff& diff);
[[nodiscard]] Document diff_document(const DiffInput& input, bool for_people);

}  // namespace weft::inspect
