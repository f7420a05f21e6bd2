// A second record of where a journal ends: number and hash of its last entry, in a file outside the journal's folder.
// It makes a journal that was cut at the end of a line detectable, which the hash chain alone does not.
//
// The journal is synced first and the anchor is written after it, without a sync: after a crash the anchor may lag
// behind the journal, but never lead it. A point that the journal does not have therefore means that it was cut,
// replaced or restored from an older copy. A user who may write to both files can change both; the log server's copy is
// out of that user's reach.
//
// Two lines of fixed length, `weft-anchor NUMBER HASH CHECK`; the older one is overwritten, so that a crash in the
// middle of a write leaves the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oob/durable/file.h"

namespace weft::oob {

struct AnchorPoint {
  std::uint64_t number = 0;
  std::string hash;
};

// The later of the two points; none if neither line is whole.
[[nodiscard]] std::optional<AnchorPoint> parse_anchor(std::string_view text);
// As above; none if the file does not exist.
[[nodiscard]] Result<std::optional<AnchorPoint>> read_anchor(const std::string& path);

// Not thread-safe, and used under the journal's lock: other processes write to the same file.
class JournalAnchor {
 public:
  // Opens or creates the file (mode 0600).
  [[nodiscard]] static Result<JournalAnchor> open(const std::string& path);
  JournalAnchor(JournalAnchor&&) = default;
  JournalAnchor& operator=(JournalAnchor&&) = default;
  ~JournalAnchor();  // syncs what was written

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Result<std::optional<AnchorPoint>> point() const;
  [[nodiscard]] Status write(const AnchorPoint& point);

 private:
  JournalAnchor(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  FileDescriptor file_;
  bool written_ = false;
};

}  // namespace weft::oob
