// Bytes as what the audit log reads back: audit.head, and entries whose detail anything may have written. Also as texts
// that are cleaned of tokens: what is left has none, and cleaning it again changes nothing.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "access/audit/entry.h"
#include "access/audit/head.h"
#include "base/check.h"
#include "oob/journal/line.h"

namespace weft::access {
namespace {

void check_head(const std::string& text) {
  const auto slot = parse_head(text);
  if (!slot) return;
  const auto again = parse_head(format_head_slot(slot->head, slot->turn));
  CHECK(again && again->head == slot->head && again->turn == slot->turn, "a head that was read can be written");
}

void check_text(const std::string& text) {
  const std::string cleaned = remove_tokens(text);
  CHECK(remove_tokens(cleaned) == cleaned, "nothing is left to remove");
  // A token in the middle of any text is found, where no letter or digit comes before it.
  constexpr std::string_view kSecret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";
  const std::string with = remove_tokens(text + " weft_t_4k2j8x0qa1zz_" + std::string(kSecret) + " " + text);
  CHECK(text.find(kSecret) != std::string::npos || with.find(kSecret) == std::string::npos, "a token is removed");
}

void check_entry(const std::string& text) {
  std::string hash;
  const std::string line = oob::make_line(
      1, "2026-01-01T00:00:00.000Z",
      R"("who": "", "operation": "", "phase": "note", "verb": "", "device": "", "detail": {)" + text + "}",
      oob::first_previous(), hash);
  const Result<oob::JournalLine> read = oob::parse_line(line);
  if (!read.ok()) return;
  const AuditRecord record = audit_record(read->entry, 7);
  CHECK(record.number == 8 && record.hash == hash, "an entry keeps its number and its hash");
}

}  // namespace
}  // namespace weft::access

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::access::check_head(text);
  weft::access::check_text(text);
  weft::access::check_entry(text);
  return 0;
}
