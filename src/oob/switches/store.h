// Version store of switch configs: STATE/switches/DEVICE holds each content once, named by its SHA-256, and an
// append-only NDJSON index: when each version was seen, by whom, in which operation, and which version was marked good.
// A content is on disk before the index names it, so a crash at any moment loses nothing that was acknowledged;
// contents without an index line after a crash are recovered at the next open. All files are readable by their owner
// only: configs contain password hashes.
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
  std::string operation{};  // in the journal; empty if there is none
  std::string cause{};      // "backup", "before restore", "after restore", "recovered"
  std::string digest{};     // SHA-256 of the content without noise: equal for texts that differ only in timestamps
  std::size_t bytes = 0;
};

enum class Kept : std::uint8_t { added, unchanged };
struct KeptVersion {
  Kept kept = Kept::added;
  ConfigVersion version{};
};

class ConfigStore {
 public:
  // `root`: STATE/switches. Creates folders (mode 0700) only when something is stored.
  ConfigStore(std::string root, std::string who, Clock& clock)
      : root_(std::move(root)), who_(std::move(who)), clock_(clock) {}

  // Stores a content. Adds no version if the latest has the same digest. Durable when it returns. Safe to call from
  // many threads and processes.
  [[nodiscard]] Result<KeptVersion> put(const std::string& device, std::string_view content, std::string_view digest,
                                        std::string_view cause, std::string_view operation = {});
  // Stores a text that cannot be a config next to the versions, for inspection. Returns its path.
  [[nodiscard]] Result<std::string> set_aside(const std::string& device, std::string_view content,
                                              std::string_view why);
  [[nodiscard]] Status mark_good(const std::string& device, const std::string& sha256);

  // Oldest first; empty if nothing was stored. Lines truncated by a crash are skipped.
  [[nodiscard]] Result<std::vector<ConfigVersion>> versions(const std::string& device) const;
  // "latest", "good", "before" (the latest but one), a time ("2026-11-16T02:03:04Z": the version at that time), or the
  // first digits of a name, at least 6. not_found if there is none.
  [[nodiscard]] Result<ConfigVersion> find(const std::string& device, std::string_view which) const;
  // The content of a version, verified against its name.
  [[nodiscard]] Result<std::string> read(const std::string& device, const std::string& sha256) const;

  [[nodiscard]] std::string path_of(const std::string& device, const std::string& sha256) const;
  [[nodiscard]] const std::string& root() const { return root_; }

  // Held while a device is changed: a second holder is refused (conflict). Released on destruction and when the process
  // dies.
  using Hold = FileDescriptor;
  [[nodiscard]] Result<Hold> hold(const std::string& device) const;

 private:
  std::string root_;
  std::string who_;
  Clock& clock_;
};

// "2026-11-16T02:03:04Z" or with milliseconds, or a date alone (its start); UTC.
[[nodiscard]] std::optional<std::int64_t> parse_date(std::string_view text);

}  // namespace weft::oob
