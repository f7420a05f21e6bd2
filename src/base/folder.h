// A folder that is written under a temporary name and replaces the target atomically: readers see either all of the old
// files or all of the new ones. Without a commit, nothing is left behind.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"

namespace weft {

class FolderWriter {
 public:
  // Creates a temporary folder next to `path`, in the same file system.
  [[nodiscard]] static Result<FolderWriter> begin(const std::string& path);
  FolderWriter(FolderWriter&& other) noexcept;
  FolderWriter& operator=(FolderWriter&&) = delete;
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;
  ~FolderWriter();  // discards the folder unless it was committed

  // `relative` is separated by '/', without ".." or empty parts; missing folders are created. `mode`: permission bits.
  [[nodiscard]] Status add(std::string_view relative, std::string_view content, unsigned mode = 0644);
  // Syncs everything to stable storage, then moves it into place; the previous folder is removed.
  [[nodiscard]] Status commit();

 private:
  FolderWriter(std::string path, std::string aside) : path_(std::move(path)), aside_(std::move(aside)) {}

  std::string path_;
  std::string aside_;  // "" once committed
  std::unordered_set<std::string> made_;
};

// Whether `relative` may be joined to a folder: not absolute, no "." or "..", no empty part, no control characters.
[[nodiscard]] bool is_safe_relative_path(std::string_view relative);

}  // namespace weft
