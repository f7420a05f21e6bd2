// A folder of files that is written aside and takes its place in one step: readers see what was there before or all of
// the new, never a part. Nothing stays behind when it is given up.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"

namespace weft {

class FolderWriter {
 public:
  // Begins a folder beside `path`, in the same file system.
  [[nodiscard]] static Result<FolderWriter> begin(const std::string& path);
  FolderWriter(FolderWriter&& other) noexcept;
  FolderWriter& operator=(FolderWriter&&) = delete;
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;
  ~FolderWriter();  // gives up what was not committed

  // `relative` has '/' between, no "..", no empty parts; folders are made as needed. `mode`: permission bits.
  [[nodiscard]] Status add(std::string_view relative, std::string_view content, unsigned mode = 0644);
  // Everything to stable storage, then into place; what stood there before is removed.
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
