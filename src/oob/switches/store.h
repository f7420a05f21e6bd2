// Every configuration that a switch was ever seen with: STATE/switches/DEVICE holds each content once, named by its
// SHA-256, and an index of lines (NDJSON) that only grows: what was seen when, by whom, in which operation, and which
// version a person called good. A content is on disk before the index names it, so that a crash at any moment loses
// nothing that was acknowledged; what a crash left without a line is taken up at the next opening. All files are the
// owner's alone: configurations hold password hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/durable/clock.h"
#include "oob/durable/file.h"

namespace weft::oob {

struct ConfigVersion {
  std::string sha256{};      // of the content: its name
  std::int64_t time_ms = 0;  // milliseconds since 1970 UTC
  std::string who{};
  std::string operation{};  // of the journal; empty where there is none
  std::string cause{};      // "backup", "before restore", "after restore", "recovered"
  std::string digest{};     // SHA-256 of the content without noise: equal for texts that differ in clocks alone
  std::size_t bytes = 0;
};

enum class Kept : std::uint8_t { added, unchanged };
struct KeptVersion {
  Kept kept = Kept::added;
  ConfigVersion version{};
};

class ConfigStore {
 public:
  // `root`: STATE/switches. Makes folders (mode 0700) when something is kept, not before.
  ConfigStore(std::string root, std::string who, Clock& clock)
      : root_(std::move(root)), who_(std::move(who)), clock_(clock) {}

  // Keeps a content. Nothing new when the latest version has the same digest. Durable when it returns. Safe to call
  // from many threads and processes.
  [[nodiscard]] Result<KeptVersion> put(const std::string& device, std::string_view content, std::string_view digest,
                                        std::string_view cause, std::string_view operation = {});
  // Puts a text that cannot be a configuration beside the versions, for a person to look at. Gives its path.
  [[nodiscard]] Result<std::string> set_aside(const std::string& device, std::string_view content,
                                              std::string_view why);
  [[nodiscard]] Status mark_good(const std::string& device, const std::string& sha256);

  // Oldest first; empty when nothing was ever kept. Lines that a crash cut short are passed over.
  [[nodiscard]] Result<std::vector<ConfigVersion>> versions(const std::string& device) const;
  // "latest", "good", "before" (the latest but one), a time ("2026-11-16T02:03:04Z": what was known then), or the first
  // digits of a name, at least 6. not_found when there is none.
  [[nodiscard]] Result<ConfigVersion> find(const std::string& device, std::string_view which) const;
  // The content of a version, checked against its name.
  [[nodiscard]] Result<std::string> read(const std::string& device, const std::string& sha256) const;

  [[nodiscard]] std::string path_of(const std::string& device, const std::string& sha256) const;
  [[nodiscard]] const std::string& root() const { return root_; }

  // Held while a device is changed: a second one is refused (conflict). Released when it goes, and by any death.
  using Hold = FileDescriptor;
  [[nodiscard]] Result<Hold> hold(const std::string& device) const;

 private:
  std::string root_;
  std::string who_;
  Clock& clock_;
};

// "2026-11-16T02:03:04Z" or with milliseconds, or a date alone (its beginning); UTC.
[[nodiscard]] std::optional<std::int64_t> parse_date(std::string_view text);

}  // namespace weft::oob
