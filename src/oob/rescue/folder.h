// Folder for the files of a rescue: console captures, command output, stored configs. One folder per rescue, accessible
// only by its owner. While it is open, a second process cannot run the same rescue.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace weft::oob {

class RescueFolder {
 public:
  // Creates the folder and acquires its lock; conflict if another process holds it.
  [[nodiscard]] static Result<std::unique_ptr<RescueFolder>> open(const std::string& path);
  RescueFolder(const RescueFolder&) = delete;
  RescueFolder& operator=(const RescueFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Replaces the file durably.
  [[nodiscard]] Status write(const std::string& name, std::string_view text) const;
  // Appends to the file.
  [[nodiscard]] Status append(const std::string& name, std::string_view text) const;
  [[nodiscard]] Result<std::string> read(const std::string& name) const;

 private:
  RescueFolder(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  FileDescriptor lock_;
};

}  // namespace weft::oob
