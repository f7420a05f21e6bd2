// Bytes as a journal: once as they are, and once with every line added to the hash chain, so that the fuzzer gets past
// the hashes. Any input must yield a verdict; a valid chain stays valid with one more entry, and becomes invalid when a
// byte changes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "oob/journal/journal.h"
#include "oob/journal/line.h"
#include "oob/journal/scan.h"

namespace weft::oob {
namespace {

void verify(const std::string& text) {
  const JournalVerdict verdict = verify_journal_text(text);
  for (const std::string& problem : verdict.problems) CHECK(!problem.empty(), "a problem is said");
  // The result is the same when read in small chunks.
  JournalScan scan;
  for (std::size_t at = 0; at < text.size(); at += 7) scan.feed(std::string_view(text).substr(at, 7));
  scan.finish();
  CHECK(scan.entries() == verdict.entries && scan.problems() == verdict.problems && scan.place().hash == verdict.head &&
            scan.torn().size() == verdict.torn,
        "a journal means the same in pieces");
  if (!verdict.problems.empty() || verdict.torn > 0) return;
  JournalEntry entry;
  entry.verb = "fuzz";
  std::string hash;
  const std::string line =
      make_line(verdict.entries + 1, "2026-01-01T00:00:00.000Z", line_middle(entry), verdict.head, hash);
  const std::string longer = text + line + "\n";
  const JournalVerdict after = verify_journal_text(longer, hash);
  CHECK(after.problems.empty() && after.entries == verdict.entries + 1, "a chain that holds can be continued");
  std::string changed = longer;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  CHECK(!verify_journal_text(changed, hash).problems.empty(), "a change is found");
}

// Each line of the input is the middle part of a journal line.
std::string chained(std::string_view text) {
  std::string out;
  std::string previous = first_previous();
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string hash;
    out += make_line(number, "2026-01-01T00:00:00.000Z", text.substr(0, end), previous, hash) + "\n";
    previous = hash;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::oob::verify(text);
  weft::oob::verify(weft::oob::chained(text));
  return 0;
}
