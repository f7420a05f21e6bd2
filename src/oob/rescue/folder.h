// Where a rescue keeps what it brought home: console captures, output of commands, configs it kept. One folder a
// rescue, only its owner may look in. Holding it open keeps a second process from following the same rescue.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace weft::oob {

class RescueFolder {
 public:
  // Makes the folder and takes its lock; conflict when another process holds it.
  [[nodiscard]] static Result<std::unique_ptr<RescueFolder>> open(const std::string& path);
  RescueFolder(const RescueFolder&) = delete;
  RescueFolder& operator=(const RescueFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Replaces the file, durably.
  [[nodiscard]] Status write(const std::string& name, std::string_view text) const;
  // Adds to the end of the file.
  [[nodiscard]] Status append(const std::string& name, std::string_view text) const;
  [[nodiscard]] Result<std::string> read(const std::string& name) const;

 private:
  RescueFolder(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  FileDescriptor lock_;
};

}  // namespace weft::oob
