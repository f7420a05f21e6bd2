// Compares two cluster files by meaning: the effective settings, defaults included, of each. Comments, the order of
// keys, layout and other ways to write a value (400G, 0.4T) are no differences. The consequences for devices, cables
// and addresses are in inspect/cluster_diff.h.
#pragma once

#include <string>
#include <vector>

#include "base/source.h"
#include "model/load.h"

namespace weft::inspect {

struct SettingSide {
  std::string value;   // as YAML on one line; "" if it has none
  std::string origin;  // "file", "default", "derived"; "" without a value
  std::string place;   // "cluster.yaml:12:5" of a value from the file; else ""

  friend bool operator==(const SettingSide&, const SettingSide&) = default;
};

struct SettingChange {
  std::string path;  // "pools[train].count", "fabrics.backend.leaf"; "pools" when only the order of entries differs
  bool order = false;
  SettingSide before;
  SettingSide after;
};

// Both must be compiled. In the order of the effective file.
[[nodiscard]] std::vector<SettingChange> compare_settings(const model::Loaded& before, const model::Loaded& after);

}  // namespace weft::inspect
