// The cluster file of commands that are not given one: WEFT_CLUSTER, else weft.yaml of this folder or of the nearest
// one above it, else `defaults: cluster:` of the configuration file. So that it need not be typed each time.
#pragma once

#include <string>
#include <string_view>

#include "cli/framework/io.h"
#include "cli/framework/user_config.h"

namespace weft::cli {

struct DefaultCluster {
  std::string path;     // "" if there is none
  std::string origin;   // "WEFT_CLUSTER", "in a folder above", ...
  std::string setting;  // where the name was set, with the place to correct it; "" for a file that was found
};

inline constexpr std::string_view kClusterFile = "weft.yaml";
inline constexpr std::string_view kClusterHint =
    "or name the file weft.yaml, or set WEFT_CLUSTER: see `weft help cluster-file`";

// Folders above count only while they belong to this user or to root, as their files do: a stranger's /tmp/weft.yaml is
// not this user's cluster.
[[nodiscard]] DefaultCluster find_default_cluster(const Io& io, const UserDefaults& defaults);

// Whether a word of the command line is meant as a cluster file: `-`, a path, *.yaml, or the name of a file.
[[nodiscard]] bool names_cluster_file(std::string_view word);

}  // namespace weft::cli
