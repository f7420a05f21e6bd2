// Reading the audit log: pages from the newest entry backwards, with filters, and verification of the whole chain. The
// files are searched by the numbers of their lines and read in chunks from the end, so a page costs the same at any
// length of the log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "access/audit/entry.h"
#include "base/result.h"

namespace weft::access {

struct AuditFilter {
  std::string actor{};  // "": all; likewise below
  std::string operation{};
  std::string object{};
  std::string since{};       // "2026-11-16T02:03:04.567Z": entries at or after this time
  std::uint64_t before = 0;  // entries before this number; 0: from the newest
  std::size_t limit = 100;
};

struct AuditPage {
  std::vector<AuditRecord> entries;  // the newest first
  // AuditFilter::before of the next page; 0: there is none. A page may be short, or empty, and have a next one: one
  // call looks at a bounded number of entries.
  std::uint64_t next = 0;
  std::uint64_t unreadable = 0;  // lines that are no entries: a write that a crash cut off, or damage (see verify)
};

// At most kMaxAuditPage entries; looks at most at kMaxAuditScan bytes.
inline constexpr std::size_t kMaxAuditPage = 1000;
inline constexpr std::uint64_t kMaxAuditScan = std::uint64_t{8} << 20U;
[[nodiscard]] Result<AuditPage> read_audit(const std::string& folder, const AuditFilter& filter);

struct AuditVerdict {
  std::uint64_t files = 0;
  std::uint64_t entries = 0;
  std::string head;                   // hash of the last entry
  std::vector<std::string> problems;  // "audit-000001.ndjson: line 17: ..."; empty: the chain is intact
  std::vector<std::string> notes;
};
// Every line of every file, how the files follow each other, and audit.head. Takes about 10 s per million entries: not
// on the thread of an event loop. `head_path` as in AuditOptions.
[[nodiscard]] Result<AuditVerdict> verify_audit(const std::string& folder, const std::string& head_path = {});

// The files of the log, oldest first. An error if one between them is missing; older ones may have been archived.
struct AuditFile {
  std::uint64_t index = 0;
  std::string path;
};
[[nodiscard]] std::string audit_file_path(const std::string& folder, std::uint64_t index);
[[nodiscard]] std::string audit_head_path(const std::string& folder, const std::string& head_path);
[[nodiscard]] Result<std::vector<AuditFile>> find_audit_files(const std::string& folder);

// What the first entry of a file says of the file before it.
struct AuditLink {
  std::uint64_t base = 0;    // entries before this file
  std::uint64_t number = 0;  // of the last entry that counts in the file before
  std::string hash;          // of that entry
};
// Of the first file: all zero. An error if its first line is not such an entry, and the file is not the first one.
[[nodiscard]] Result<AuditLink> read_audit_link(const AuditFile& file);

// The hash of the entry with this number in the file; "": it has none.
[[nodiscard]] Result<std::string> find_audit_hash(const AuditFile& file, std::uint64_t number);

}  // namespace weft::access
