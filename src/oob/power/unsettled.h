// Operations of the journal that began and have not ended, and the machines that they have not settled: power and
// firmware operations must not run on one machine at the same time. Locks beside the journal distinguish an operation
// that still runs from one whose process died.
#pragma once

#include <string>
#include <vector>

#include "oob/journal/journal.h"
#include "oob/power/lock.h"

namespace weft::oob {

// The lock of one operation, or of starting operations if `operation` is empty. A journal in memory has none.
[[nodiscard]] Result<FileLock> lock_operation(const Journal& journal, const std::string& operation, bool wait);
[[nodiscard]] bool is_operation_running(const Journal& journal, const std::string& operation);

// The machines of an open operation that have no outcome; empty if its first entry is invalid.
[[nodiscard]] std::vector<std::string> unsettled_of(const OpenOperation& operation);
// refused: a power or firmware operation has not settled one of the machines. `verb`: the start of the verbs that
// count, such as "firmware."; empty: both.
[[nodiscard]] Status check_unsettled(const Journal& journal, const std::vector<std::string>& machines,
                                     const std::string& verb = {});

}  // namespace weft::oob
