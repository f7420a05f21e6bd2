#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "oob/journal/journal.h"
#include "oob/journal/scan.h"

namespace weft::oob {
namespace {

// Builds the verdict from the scan. `found`: the anchor is in the chain.
JournalVerdict verdict_of(const JournalScan& scan, std::string_view expected_head, bool found) {
  JournalVerdict verdict;
  verdict.entries = scan.entries();
  verdict.head = scan.place().hash;
  verdict.torn = scan.torn().size();
  verdict.problems = scan.problems();
  verdict.notes = scan.notes();
  if (!expected_head.empty() && !found) {
    verdict.problems.push_back(
        is_hash_text(expected_head)
            ? fmt::format("no entry has the hash {}: the journal was cut, replaced or rewritten", expected_head)
            : fmt::format("{} is not a hash: 64 hexadecimal digits were expected", in_backticks(expected_head)));
  }
  return verdict;
}

}  // namespace

JournalVerdict verify_journal_text(std::string_view text, std::string_view expected_head) {
  bool found = expected_head == first_previous();
  JournalScan scan;
  scan.on_entry = [&](JournalLine&& line) { found = found || line.entry.hash == expected_head; };
  scan.feed(text);
  scan.finish();
  return verdict_of(scan, expected_head, found);
}

Result<JournalVerdict> verify_journal(const std::string& path, std::string_view expected_head) {
  const Result<FileDescriptor> file = open_file(path, O_RDONLY);
  if (!file.ok()) return file.error();
  const Result<std::uint64_t> size = settled_size(file.value(), path);
  if (!size.ok()) return size.error();
  bool found = expected_head == first_previous();
  JournalScan scan;
  scan.on_entry = [&](JournalLine&& line) { found = found || line.entry.hash == expected_head; };
  Status scanned = scan_file(file.value(), size.value(), path, scan);
  if (!scanned.ok()) return scanned.error();
  return verdict_of(scan, expected_head, found);
}

}  // namespace weft::oob
