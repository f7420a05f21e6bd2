// Head of the audit log: the last entry that is on disk, kept in a file of its own, so that a log whose end was cut off
// is found when it is opened. Written in place after each entry, alternating between two slots, so that a crash in the
// middle of a write leaves the one before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace weft::access {

struct AuditHead {
  std::uint64_t file = 1;    // of audit-000001.ndjson
  std::uint64_t base = 0;    // entries in the files before it
  std::uint64_t number = 0;  // of the last entry in this file; 0: none
  std::string hash{};        // of its line
  friend bool operator==(const AuditHead&, const AuditHead&) = default;
};

// One slot, with a checksum: kHeadSlot bytes.
inline constexpr std::size_t kHeadSlot = 512;
[[nodiscard]] std::string format_head_slot(const AuditHead& head, std::uint64_t turn);
// The newest valid slot of the file's text, and its turn; nullopt: none is valid.
struct HeadSlot {
  AuditHead head;
  std::uint64_t turn = 0;
};
[[nodiscard]] std::optional<HeadSlot> parse_head(std::string_view text);

class HeadFile {
 public:
  // Opens the file, mode 0600; `create`: it must not exist, and is on disk afterwards.
  [[nodiscard]] static Result<HeadFile> open(const std::string& path, bool create);
  [[nodiscard]] const AuditHead& head() const { return head_; }
  // Not synced: the log itself is, and a head that is behind it loses nothing but the end of what it protects.
  [[nodiscard]] Status write(const AuditHead& head);
  [[nodiscard]] Status sync();

 private:
  HeadFile(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  FileDescriptor file_;
  AuditHead head_;
  std::uint64_t turn_ = 0;
};

}  // namespace weft::access
