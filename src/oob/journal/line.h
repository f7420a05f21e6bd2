// One line of the journal: how an entry becomes bytes, and how bytes are held to being an entry. Keys stand in one
// order and blanks in one way, so that a line has one spelling; Python's json.dumps(entry, ensure_ascii=False) without
// the key "hash" gives the bytes that are hashed.
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

// What stands for the hash of the line before the first.
[[nodiscard]] const std::string& first_previous();

// The part that does not depend on the place in the chain: made by the thread that appends, outside any lock. Numbers
// that JSON cannot hold become null.
[[nodiscard]] std::string line_middle(const JournalEntry& entry);
// The whole line without its line end; `hash` becomes its hash.
[[nodiscard]] std::string make_line(std::uint64_t number, std::string_view time, std::string_view middle,
                                    std::string_view previous, std::string& hash);
// How every line with that number begins.
[[nodiscard]] std::string line_opening(std::uint64_t number);

struct JournalLine {
  JournalEntry entry;
  std::string previous;
};
// Refuses whatever make_line() could not have made. `line` is without its line end.
[[nodiscard]] Result<JournalLine> parse_line(std::string_view line);
// Whether it begins and ends like a line: if it is none, it was altered, not cut short. Gives the hash it claims.
[[nodiscard]] bool looks_whole(std::string_view line, std::string& claimed_hash);
[[nodiscard]] bool is_hash_text(std::string_view text);

}  // namespace weft::oob
