// What the state store and the console logs need beyond durable/file.h: folders that survive a power loss, an
// append-only line file with a lock, and a lock file that names its holder.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "oob/durable/file.h"

namespace weft::oob {

// Creates the folder and its parents, new ones with mode 0700, each synced in its parent.
[[nodiscard]] Status make_private_folder(const std::string& path);

// An append-only file of lines, mode 0600. The lock (flock) is held for the lifetime of the object.
class LineFile {
 public:
  [[nodiscard]] static Result<LineFile> open(const std::string& path);
  // Terminates a line truncated by a crash, appends this one, and syncs.
  [[nodiscard]] Status append(std::string_view line);

 private:
  LineFile(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  FileDescriptor file_;
};

// A lock file, held until closed. `conflict`, with the holder's note, if another process holds it.
[[nodiscard]] Result<FileDescriptor> lock_file(const std::string& path, std::string_view note);

}  // namespace weft::oob
