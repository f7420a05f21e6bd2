// Audit log of the API: hash-chained and durable, kept in journals (oob/journal) of a folder. A request that changes
// something has an entry before it is carried out (`begin`) and one after (`finish`); one whose first entry cannot be
// made durable must be refused. A log whose end was cut off does not open: audit.head names its last entry.
//
// Thread-safe: entries of threads that append at the same time share one sync (queue.h makes use of it).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "access/audit/entry.h"
#include "access/audit/export.h"
#include "access/audit/head.h"
#include "access/audit/read.h"
#include "base/result.h"
#include "oob/durable/clock.h"
#include "oob/journal/journal.h"

namespace weft::access {

struct AuditOptions {
  std::string folder{};                                 // created, mode 0700
  std::string head_path{};                              // empty: FOLDER/audit.head; better: on another disk
  std::string server{};                                 // "weft@host": `who` of the entries
  std::uint64_t max_bytes = std::uint64_t{256} << 20U;  // of a file: then the next one begins
  std::optional<oob::SyslogTarget> syslog{};
  std::string syslog_ca{};  // PEM; empty: the system's
  // 16 hexadecimal digits that are in both entries of a request; empty: random.
  std::function<std::string()> make_id{};
};

// A request whose first entry is durable.
struct AuditTicket {
  std::string request{};
  AuditIntent intent{};  // without the body's members
};

class AuditLog {
 public:
  // Opens or creates the log. `conflict`, and what to do: another process has it, or it was cut, replaced or damaged.
  [[nodiscard]] static Result<std::unique_ptr<AuditLog>> open(AuditOptions options, oob::Clock& clock);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog();

  // Returns when the entry is on disk. After an error the request must be refused; the next call tries again, at once
  // if the disk was full, in a new file if it failed to sync.
  [[nodiscard]] Result<AuditTicket> begin(const AuditIntent& intent);
  // An error does not change what was done: an intent without an outcome is visible in the log.
  [[nodiscard]] Status finish(const AuditTicket& ticket, const AuditOutcome& outcome);
  [[nodiscard]] Status note(const AuditNote& note);

  [[nodiscard]] Result<AuditPage> read(const AuditFilter& filter) const { return read_audit(options_.folder, filter); }
  // For the status of the server.
  [[nodiscard]] AuditHead head() const;
  [[nodiscard]] std::string problem() const;         // of the last append; empty: it succeeded
  [[nodiscard]] std::string syslog_problem() const;  // empty: everything is at the log server, or there is none
  [[nodiscard]] const std::string& folder() const { return options_.folder; }
  [[nodiscard]] oob::Clock& clock() { return clock_; }

 private:
  AuditLog(AuditOptions options, oob::Clock& clock, FileDescriptor lock, HeadFile head);

  [[nodiscard]] Status check_head(const std::vector<AuditFile>& files) const;
  [[nodiscard]] Status open_file(std::uint64_t index);
  [[nodiscard]] Status start_file(std::uint64_t index, std::string_view why);
  [[nodiscard]] Status append(oob::JournalEntry entry);
  void rotate(std::uint64_t from, std::string_view why);
  void on_append(const oob::JournalEntry& entry, std::uint64_t file);

  AuditOptions options_;
  oob::Clock& clock_;
  FileDescriptor lock_;
  mutable std::shared_mutex file_mutex_;  // exclusive: while a file is replaced by the next
  std::unique_ptr<oob::Journal> journal_;
  std::uint64_t file_ = 0;
  Duration last_retry_{};
  bool has_retried_ = false;
  mutable std::mutex head_mutex_;
  HeadFile head_;
  std::string head_problem_;
  std::string problem_;
  std::unique_ptr<AuditExport> export_;
};

}  // namespace weft::access
