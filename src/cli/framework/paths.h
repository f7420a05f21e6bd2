// Paths of the command line as absolute ones, for what outlives the working directory: daemons, files of other
// programs.
#pragma once

#include <filesystem>
#include <string>

namespace weft::cli {

inline std::string absolute_path(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path full = std::filesystem::absolute(path, problem);
  return problem ? path : full.lexically_normal().string();
}

}  // namespace weft::cli
