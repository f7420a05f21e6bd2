// Results of a sweep: a line of JSON for each point, appended and synced when it is known, so that a sweep that was
// stopped goes on where it was; and the table of them. Several processes may append to one file.
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
  std::string error;            // why it could not be played; empty where it was
  std::vector<double> figures;  // of sweep_columns(), in their order; empty with an error
  std::string bound_by;
  bool fits = true;  // into the memory of a GPU
};

[[nodiscard]] SweepRow sweep_row(const SweepPoint& point, const Result<LifeResult>& outcome);
// With its newline.
[[nodiscard]] std::string sweep_line(const SweepRow& row);

// A last line without its newline was being written when the writer died: it is passed over. Of several lines with one
// id the last counts. Any other line that is not a row is an error with its place.
[[nodiscard]] Result<std::vector<SweepRow>> read_sweep_rows(const std::string& path, std::string_view text);
// The same of a file; none when there is no such file.
[[nodiscard]] Result<std::vector<SweepRow>> load_sweep_rows(const std::string& path);
// Locks the file, cuts a half-written last line, appends, syncs. From any thread or process.
[[nodiscard]] Status append_sweep_row(const std::string& path, const SweepRow& row);

// Points that have no row yet, in order; with `again` also those that failed.
[[nodiscard]] std::vector<std::uint64_t> missing_points(const Sweep& sweep, const std::vector<SweepRow>& rows,
                                                        bool again = false);

// Sorted by a column of sweep_columns() or by a setting's key, best first, failures last; the best is marked. Points
// that do not fit into memory are never the best. An error for an unknown column.
[[nodiscard]] Result<Document> sweep_document(std::vector<SweepRow> rows, std::string_view sort_by = "tokens_per_s");

}  // namespace weft::workload
