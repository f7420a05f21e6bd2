// Entries of `journalctl -o json`: one object per line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sched/machine/moment.h"

namespace weft::health {

struct JournalRecord {
  std::string host;
  std::string program;  // SYSLOG_IDENTIFIER, or "kernel" by _TRANSPORT; "": the entry does not say
  std::string message;
  sched::Moment at{};
};

// Whether the line has the form of an entry, without parsing it.
[[nodiscard]] bool is_journal_entry(std::string_view line);
// Its MESSAGE as in the line, escapes included, for a look before parsing; nullopt: it has to be parsed
// first.
[[nodiscard]] std::optional<std::string_view> find_raw_message(std::string_view line);
// nullopt: not JSON, or without a message.
[[nodiscard]] std::optional<JournalRecord> read_journal_entry(std::string_view line);

}  // namespace weft::health
