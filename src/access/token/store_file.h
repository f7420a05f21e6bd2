// The file behind a token store: private to its owner, locked by one process for its lifetime, and replaced as a whole,
// so that it is never half-written. Also the checks that the readers of these files share. Private to token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "base/yaml.h"

namespace weft::access {

class StoreFile {
 public:
  // Creates missing folders (mode 0700) and the lock file PATH.lock. `conflict` if another process holds the lock.
  [[nodiscard]] static Result<StoreFile> open(std::string path);
  // Nullopt: the file does not exist yet.
  [[nodiscard]] Result<std::optional<std::string>> read() const;
  [[nodiscard]] Status write(std::string_view content) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  StoreFile(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  FileDescriptor lock_;
};

// Parses JSON; duplicate keys are errors. Nullopt after an error.
[[nodiscard]] std::optional<YamlNode> parse_store_json(const Sources& sources, FileId file, Diagnostics& diagnostics);
// The first error with its place, and how many more there are.
[[nodiscard]] Error store_error(const Diagnostics& diagnostics, const Sources& sources, const std::string& path);

// Milliseconds since 1970 that a store accepts; up to the year 9999, so that sums cannot overflow.
inline constexpr std::int64_t kMaxWallMs = 253'402'300'799'000;
[[nodiscard]] constexpr bool is_wall_time(std::int64_t ms) { return ms >= 0 && ms <= kMaxWallMs; }
// Not empty, at most `max` bytes, UTF-8 and printable.
[[nodiscard]] bool is_plain_name(std::string_view text, std::size_t max = 256);

}  // namespace weft::access
