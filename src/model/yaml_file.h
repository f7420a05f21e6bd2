// Reads a YAML file that people write: a cluster, a job, a catalog, credentials. Such a file has at most some hundred
// thousand lines; a larger one is refused by its size, before the seconds and the memory that parsing it would take.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace weft::model {

inline constexpr std::size_t kMaxYamlFile = std::size_t{16} << 20U;

// "-" is standard input.
[[nodiscard]] Result<std::string> read_yaml_file(const std::string& path);

}  // namespace weft::model
