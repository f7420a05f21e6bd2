// `weft diff` of two cluster files. The comparison with rendered files and running configs is in diff.cc.
#pragma once

#include <string>

#include "cli/framework/context.h"

namespace weft::cli {

// Whether an argument of `weft diff` is a cluster file, by its content: it has the key `weft`.
[[nodiscard]] bool is_cluster_file(const std::string& path);
[[nodiscard]] Exit run_diff_clusters(Context& context, const std::string& before, const std::string& after);

}  // namespace weft::cli
