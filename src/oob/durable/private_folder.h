// What the store and the console logs need beyond durable/file.h: folders that survive a power cut, a file of lines
// that is locked while it grows, and a lock that says who holds it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "oob/durable/file.h"

namespace weft::oob {

// Folder and its parents, mode 0700 for those that are new, each synced in the one above.
[[nodiscard]] Status make_private_folder(const std::string& path);

// A file of lines that only grows, mode 0600. The lock (flock) is held as long as the object lives.
class LineFile {
 public:
  [[nodiscard]] static Result<LineFile> open(const std::string& path);
  // Closes a line that a crash cut short, adds this one, and syncs.
  [[nodiscard]] Status append(std::string_view line);

 private:
  LineFile(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  FileDescriptor file_;
};

// A lock file, held until it is closed. conflict, with the holder's note, when someone else holds it.
[[nodiscard]] Result<FileDescriptor> lock_file(const std::string& path, std::string_view note);

}  // namespace weft::oob
