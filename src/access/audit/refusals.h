// Failed authentications and refused requests in the audit log, limited per minute: an attacker must not fill the disk,
// nor make the server sync all day. What exceeds the limit is counted, and one entry at the end of the minute has the
// counts by address.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "access/audit/log.h"

namespace weft::access {

class RefusalLog {
 public:
  // `write` adds an entry to the log.
  RefusalLog(std::function<Status(AuditNote)> write, oob::Clock& clock, std::uint32_t per_minute)
      : write_(std::move(write)), clock_(clock), per_minute_(per_minute) {}
  // The same, and returns when the entry is on disk.
  RefusalLog(AuditLog& log, std::uint32_t per_minute)
      : RefusalLog([&log](const AuditNote& note) { return log.note(note); }, log.clock(), per_minute) {}
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;
  ~RefusalLog();

  // Writes an entry, or counts it. An error only if an entry was to be written and could not.
  [[nodiscard]] Status record(AuditNote note);
  // Writes the counts when the minute is over: call it every few seconds.
  [[nodiscard]] Status tick();

  static constexpr std::size_t kMaxAddresses = 32;  // with a count of their own; the others are counted together

 private:
  [[nodiscard]] Status flush();

  std::function<Status(AuditNote)> write_;
  oob::Clock& clock_;
  std::uint32_t per_minute_;
  bool is_open_ = false;  // a minute has begun
  Duration begun_{};
  std::uint32_t written_ = 0;
  std::uint64_t more_ = 0;
  std::uint64_t elsewhere_ = 0;
  std::map<std::string, std::uint64_t> by_address_;
};

}  // namespace weft::access
