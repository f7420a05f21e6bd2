// Write-ahead journal of out-of-band operations: what was done to which device, by whom and why. Append-only, each line
// chained to the previous one by SHA-256, synced before the step it announces is executed. It makes an interrupted
// command resumable and is the audit log. Many threads may append; many processes may share the file (flock). Lines are
// JSON (NDJSON).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "oob/durable/clock.h"
#include "oob/journal/anchor.h"

namespace weft::oob {

// The phase of an operation that an entry belongs to.
enum class Phase : std::uint8_t {
  begin,    // an operation begins: what, on which devices, why
  intent,   // the next step on one device is about to be sent
  seen,     // evidence on one device
  outcome,  // final state of one device: done, not done, unknown
  end,      // the operation has ended
  note      // anything else worth recording: access, a refusal
};

struct JournalEntry {
  std::uint64_t number = 0;  // 1, 2, 3, ...; set by the journal
  std::string time;          // set by the journal
  std::string who;           // "alice@jump1"; set by the journal
  std::string operation;     // 16 hexadecimal digits; the same in all entries of one operation
  Phase phase = Phase::note;
  std::string verb;    // "power.cycle", "rotate", "rescue.step", "console", ...
  std::string device;  // empty: the operation as a whole
  Value detail;        // a map; never contains a secret
  std::string hash;    // of this line; set by the journal
};

class Journal {
 public:
  virtual ~Journal() = default;
  // Returns when the entry is on disk. Entries of threads that wait at the same time share one sync.
  [[nodiscard]] virtual Status append(JournalEntry entry) = 0;
  // Every entry in the file so far, oldest first. Verifies the chain while reading.
  [[nodiscard]] virtual Result<std::vector<JournalEntry>> read() const = 0;
  [[nodiscard]] virtual const std::string& path() const = 0;
  // Hash of the last entry this process wrote or read.
  [[nodiscard]] virtual std::string head() const = 0;
  // Space on disk for the entries to come, so that an operation does not begin that cannot be recorded.
  [[nodiscard]] virtual Status reserve(std::uint64_t /*bytes*/) { return {}; }
};

// Opens or creates the file (mode 0600) and its folder. If a crash truncated the last line, an entry is appended that
// records this: nothing is ever removed. `on_append` is called for each line that is on disk (for syslog). `anchor`:
// path of a second record of its end (journal/anchor.h), or empty. `conflict` if the journal ends before the anchor;
// without an anchor that can be created or written, the journal is used alone.
[[nodiscard]] Result<std::unique_ptr<Journal>> open_journal(
    const std::string& path, std::string who, Clock& clock,
    std::function<void(const JournalEntry&)> on_append = nullptr, const std::string& anchor = {});
// For commands that only read, where the journal cannot be opened: what is in it, if it can be read; append() fails.
[[nodiscard]] std::unique_ptr<Journal> open_journal_read_only(const std::string& path);

struct JournalVerdict {
  std::uint64_t entries = 0;
  std::string head;
  std::size_t torn = 0;               // bytes of a last line without a line end
  std::vector<std::string> problems;  // "line 17: ..."; empty if the chain is intact
  std::vector<std::string> notes;     // noteworthy, but not a problem: a clock that went backwards
};
// Verifies without writing. `expected_head`: a hash that must be in the chain (kept elsewhere by the user), or empty.
// `anchor`: the point that was read from the journal's anchor before this call, or none.
[[nodiscard]] Result<JournalVerdict> verify_journal(const std::string& path, std::string_view expected_head = {},
                                                    const std::optional<AnchorPoint>& anchor = std::nullopt);
[[nodiscard]] JournalVerdict verify_journal_text(std::string_view text, std::string_view expected_head = {},
                                                 const std::optional<AnchorPoint>& anchor = std::nullopt);

// Operations that began and have not ended, oldest first, with their entries.
struct OpenOperation {
  std::string operation;
  std::string verb;
  std::vector<JournalEntry> entries;
};
[[nodiscard]] std::vector<OpenOperation> open_operations(const std::vector<JournalEntry>& entries);

// 16 hexadecimal digits from the system's random generator.
[[nodiscard]] std::string new_operation_id();
[[nodiscard]] std::string_view to_text(Phase phase);
[[nodiscard]] std::optional<Phase> phase_named(std::string_view text);

// In memory only, never fails: for dry runs and tests of other modules.
class MemoryJournal final : public Journal {
 public:
  [[nodiscard]] Status append(JournalEntry entry) override;
  [[nodiscard]] Result<std::vector<JournalEntry>> read() const override;
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::string head() const override { return {}; }

 private:
  mutable std::mutex mutex_;
  std::vector<JournalEntry> entries_;
  std::string path_;
};

}  // namespace weft::oob
