// Results of a sweep: one line of JSON per point, appended and synced when it is known, so an interrupted sweep can be
// resumed; and the table of them. Several processes may append to one file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "workload/result/life.h"
#include "workload/sweep/sweep.h"

namespace weft::workload {

struct SweepColumn {
  std::string_view key;  // in the file and for sorting: "step_s"
  std::string_view title;
  enum class Better { lower, higher } better = Better::lower;
};
[[nodiscard]] std::span<const SweepColumn> sweep_columns();

struct SweepRow {
  std::string id;
  std::uint64_t index = 0;
  SweepSettings settings;
  std::string error;            // why the simulation failed; empty on success
  std::vector<double> figures;  // of sweep_columns(), in their order; empty with an error
  std::string bound_by;
  bool fits = true;  // into the memory of a GPU
};

[[nodiscard]] SweepRow sweep_row(const SweepPoint& point, const Result<LifeResult>& outcome);
// Including its newline.
[[nodiscard]] std::string sweep_line(const SweepRow& row);

// A last line without its newline is a write that was cut off: it is ignored. If several lines have one id, the last
// one counts. Any other line that is not a row is an error with its location.
[[nodiscard]] Result<std::vector<SweepRow>> read_sweep_rows(const std::string& path, std::string_view text);
// The same from a file; empty if the file does not exist.
[[nodiscard]] Result<std::vector<SweepRow>> load_sweep_rows(const std::string& path);
// Locks the file, truncates a partial last line, appends, syncs. Callable from any thread or process.
[[nodiscard]] Status append_sweep_row(const std::string& path, const SweepRow& row);

// Points without a row, in order; with `again` also those that failed.
[[nodiscard]] std::vector<std::uint64_t> missing_points(const Sweep& sweep, const std::vector<SweepRow>& rows,
                                                        bool again = false);

// Sorted by a column of sweep_columns() or by a setting's key, best first, failures last; the best is marked. Points
// that do not fit into memory are never the best. Returns an error for an unknown column.
[[nodiscard]] Result<Document> sweep_document(std::vector<SweepRow> rows, std::string_view sort_by = "tokens_per_s");

}  // namespace weft::workload
