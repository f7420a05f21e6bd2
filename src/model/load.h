// Loads and compiles a cluster file in one call, keeping the sources and diagnostics that a caller prints.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"
#include "base/source.h"
#include "model/cluster.h"

namespace weft::model {

struct Loaded {
  Sources sources;
  Diagnostics diagnostics;                 // of the catalog files, then of the cluster file
  std::shared_ptr<const Catalog> catalog;  // null when a catalog file is broken
  std::optional<Spec> spec;                // resolved; empty when the file has errors
  std::shared_ptr<const Cluster> cluster;  // null when it could not be compiled
  std::optional<Error> read_error;         // a file could not be read at all
};

// The built-in catalog plus `catalog_files` only.
[[nodiscard]] std::unique_ptr<Loaded> load_catalog(const std::vector<std::string>& catalog_files);
// Reads, resolves and compiles a cluster file ("-" for standard input).
[[nodiscard]] std::unique_ptr<Loaded> load_cluster(const std::string& path,
                                                   const std::vector<std::string>& catalog_files);
// The same for a text in memory; diagnostics show `shown_path`.
[[nodiscard]] std::unique_ptr<Loaded> load_cluster_text(std::string shown_path, std::string text,
                                                        const std::vector<std::string>& catalog_files = {});

}  // namespace weft::model
