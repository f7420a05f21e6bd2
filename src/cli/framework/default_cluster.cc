#include "cli/framework/default_cluster.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/utf8.h"

namespace weft::cli {
namespace {

constexpr std::string_view kCannotRead = "";

bool is_own(const struct stat& info) { return info.st_uid == ::geteuid() || info.st_uid == 0; }

bool is_own_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && is_own(info);
}

bool is_own_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && is_own(info);
}

std::string find_upward() {
  namespace fs = std::filesystem;
  std::error_code problem;
  fs::path folder = fs::current_path(problem);
  if (problem) return std::string(kCannotRead);
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (!is_own_folder(folder.string())) break;
    std::string path = (folder / kClusterFile).string();
    if (is_own_file(path)) return path;
  }
  return {};
}

}  // namespace

DefaultCluster find_default_cluster(const Io& io, const UserDefaults& defaults) {
  if (std::string given = io.environment("WEFT_CLUSTER"); !given.empty())
    return {std::move(given), "WEFT_CLUSTER", "the environment variable WEFT_CLUSTER"};
  std::error_code problem;
  if (std::filesystem::is_regular_file(kClusterFile, problem)) return {std::string(kClusterFile), "in this folder", {}};
  if (std::string above = find_upward(); !above.empty()) return {std::move(above), "in a folder above", {}};
  if (defaults.cluster.has_value()) {
    return {*defaults.cluster, "of the configuration file",
            fmt::format("`defaults: cluster:` of {}", printable(user_config_path(io)))};
  }
  return {};
}

bool names_cluster_file(std::string_view word) {
  if (word == "-" || word.ends_with(".yaml") || word.ends_with(".yml") || word.find('/') != std::string_view::npos)
    return true;
  std::error_code problem;
  return std::filesystem::is_regular_file(word, problem);
}

}  // namespace weft::cli
