// DIR/format: the file that says that a store was created here, in which format, and up to which record sync() has
// succeeded. It detects what SQLite cannot: a database that was deleted or replaced by an older one, and a damaged or
// deleted write-ahead log, whose last transactions SQLite drops without an error.
#pragma once

#include <cstddef>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "store/store.h"

namespace weft::store {

inline constexpr int kFormat = 1;

class Marker {
 public:
  Marker() = default;  // not open
  [[nodiscard]] static std::string path_in(const std::string& directory) { return directory + "/format"; }
  // Replaces the file atomically. Only for a store without records.
  [[nodiscard]] static Status create(const std::string& directory);
  // Refused if it was written by a newer version.
  [[nodiscard]] static Result<Marker> open(const std::string& directory);

  // Records up to this one were durable; more may be.
  [[nodiscard]] Sequence acknowledged() const { return acknowledged_; }
  // Without fsync(2), which would double the time of a commit: it survives the process, and usually a power loss after
  // half a minute. It is a lower limit, so an older value is only a weaker check.
  [[nodiscard]] Status write(Sequence acknowledged);
  [[nodiscard]] Status sync();

 private:
  std::string path_;
  FileDescriptor file_;
  Sequence acknowledged_ = 0;
  std::size_t slots_at_ = 0;   // offset of the first slot
  std::size_t next_slot_ = 0;  // alternates, so that a torn write leaves the value before it
};

}  // namespace weft::store
