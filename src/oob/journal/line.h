// One line of the journal: how an entry is serialized, and strict parsing of it. Keys have a fixed order and spaces are
// fixed, so each entry has exactly one serialization; Python's json.dumps(entry, ensure_ascii=False) without the key
// "hash" yields the bytes that are hashed.
//   {"number": 1, "time": "...", "who": "...", "operation": "...", "phase": "intent", "verb": "...", "device": "...",
//    "detail": {...}, "previous": "64 hexadecimal digits", "hash": "64 hexadecimal digits"}
// hash = SHA-256(previous + the line without `, "hash": "..."`), previous = hash of the line before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oob/journal/journal.h"

namespace weft::oob {

inline constexpr std::size_t kMaxJournalLine = 1U << 20U;  // bytes; an entry is a few hundred
inline constexpr std::string_view kTornVerb = "journal.torn";

// The `previous` value of the first line.
[[nodiscard]] const std::string& first_previous();

// The part that does not depend on the position in the chain: built by the appending thread, outside any lock. Numbers
// that JSON cannot represent become null.
[[nodiscard]] std::string line_middle(const JournalEntry& entry);
// The whole line without its line end; `hash` is set to its hash.
[[nodiscard]] std::string make_line(std::uint64_t number, std::string_view time, std::string_view middle,
                                    std::string_view previous, std::string& hash);
// The prefix of every line with that number.
[[nodiscard]] std::string line_opening(std::uint64_t number);

struct JournalLine {
  JournalEntry entry;
  std::string previous;
};
// Rejects anything that make_line() could not have produced. `line` is without its line end.
[[nodiscard]] Result<JournalLine> parse_line(std::string_view line);
// Whether it has the prefix and suffix of a journal line: if invalid, it was altered, not truncated. Sets the hash.
[[nodiscard]] bool looks_whole(std::string_view line, std::string& claimed_hash);
[[nodiscard]] bool is_hash_text(std::string_view text);

}  // namespace weft::oob
