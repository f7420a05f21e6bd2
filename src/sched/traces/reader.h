// Shared parts of the trace readers and of those of other tables (Slurm's accounting, incident lists): typed cells with
// their errors, a table with named columns, and the collection of jobs into a Workload. Internal to the readers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sched/traces/csv.h"
#include "sched/traces/workload.h"

namespace weft::sched {

// Times and durations beyond this are errors: a hundred years of 365.25 days.
inline constexpr std::int64_t kMaxSeconds = 3'155'760'000;
inline constexpr std::size_t kMaxJobs = 5'000'000;        // per trace; Helios, the largest published, has 3.4 million
inline constexpr std::size_t kMaxModels = 64;             // bits of Request::models and Request::pools
inline constexpr std::int64_t kMaxMilli = 2'147'483'647;  // maximum of a Milli or of a number of MiB

// A value with its location in the file, and its column or key.
struct Cell {
  std::string_view name;
  CsvField field;

  [[nodiscard]] bool empty() const { return field.text.empty(); }
  [[nodiscard]] std::string_view text() const { return field.text; }
};

// Parses cells; errors go to the diagnostics, and the value passed in stays unchanged.
class CellReader {
 public:
  explicit CellReader(Diagnostics& diagnostics) : diagnostics_(&diagnostics) {}

  // An integer; a fraction of zeros ("8.0", as spreadsheets write) is allowed.
  bool whole(const Cell& cell, std::int64_t least, std::int64_t most, std::int64_t& value);
  bool whole(const Cell& cell, std::int64_t least, std::int64_t most, std::int32_t& value);
  // A decimal number in thousandths, rounded down.
  bool milli(const Cell& cell, std::int64_t least, std::int64_t most, std::int32_t& value);
  // A non-negative number of seconds.
  bool seconds(const Cell& cell, Duration& value);
  // 2017-09-04 10:30:41, optionally with T instead of the space, a fraction, and Z or +08:00: nanoseconds since 1970,
  // UTC. A time without an offset is assumed to be UTC.
  bool time(const Cell& cell, std::int64_t& nanoseconds);
  void error(const Cell& cell, std::string message, std::string hint = {});

  // Whether there was an error since the last call.
  bool take_failure() { return std::exchange(failed_, false); }
  [[nodiscard]] Diagnostics& diagnostics() { return *diagnostics_; }

 private:
  Diagnostics* diagnostics_;
  bool failed_ = false;
};

// A decimal number as a count of 10^-digits, rounded down; none if it is invalid or too large for 18 digits.
[[nodiscard]] std::optional<std::int64_t> parse_decimal(std::string_view text, int digits);
// As CellReader::time.
[[nodiscard]] std::optional<std::int64_t> parse_time(std::string_view text);

// A CSV whose first row names the columns.
class TraceTable {
 public:
  TraceTable(FileId file, const Sources& sources, Diagnostics& diagnostics, char separator = ',')
      : csv_(file, sources.text(file), diagnostics, separator), diagnostics_(&diagnostics), file_(file) {}

  // Reads the header. False, with a diagnostic, if there is none or a column name is repeated.
  bool open();
  [[nodiscard]] const std::vector<CsvField>& header() const { return header_; }
  // The index of a column, or -1.
  [[nodiscard]] int find(std::string_view name) const;
  // The same; reports a missing column.
  [[nodiscard]] int need(std::string_view name);
  // The next row with as many fields as the header; others are reported and skipped.
  bool next();
  // A cell of the row; for column -1 an empty one at the start of the row.
  [[nodiscard]] Cell cell(int column) const;
  [[nodiscard]] const SourceLocation& start() const { return csv_.start(); }

 private:
  CsvReader csv_;
  Diagnostics* diagnostics_;
  std::vector<CsvField> header_;
  FileId file_;
};

// GPUs of a job as equal tasks of at most `node_gpus` each: one task if they fit on a server, else the largest divisor
// of `gpus` that fits (16 is 2 x 8, 12 is 2 x 6, 11 is 11 x 1).
struct Split {
  std::int32_t tasks = 1;
  std::int32_t gpus = 0;
};
[[nodiscard]] Split split_gpus(std::int32_t gpus, std::int32_t node_gpus);

// Collects the jobs of a trace.
class TraceBuilder {
 public:
  TraceBuilder(const TraceOptions& options, Diagnostics& diagnostics) : options_(&options), cells_(diagnostics) {}

  [[nodiscard]] CellReader& cells() { return cells_; }
  [[nodiscard]] const TraceOptions& options() const { return *options_; }
  Workload workload;

  // The bits of names such as "A|B"; 0 for "". New names are added.
  std::uint64_t bits(const Cell& cell, std::vector<std::string>& names);
  // A calendar time; finish() makes it relative to the first submission.
  void submitted_at(Job& job, std::int64_t nanoseconds);
  // Adds the job, unless its cells had errors or the job itself is invalid: counts, control characters in a name (they
  // would break tables that show it), too many jobs.
  void add(Job job, const SourceLocation& place);
  void skip(const char* why) { ++skipped_[why]; }
  void note(std::string text) { workload.notes.push_back(std::move(text)); }

  // Sorts by submission, makes names unique, sets limits, adds notes. None if there were errors.
  std::optional<Workload> finish(bool unique_names);

 private:
  void rebase();
  void order();
  void name_apart();
  void set_limits();

  const TraceOptions* options_;
  CellReader cells_;
  std::map<std::string, std::int64_t> skipped_;
  bool calendar_ = false;
  bool full_ = false;
};

// Input of the trace readers, one reader per format. The text is that of `file`.
struct TraceInput {
  FileId file;
  const Sources* sources;
};
std::optional<Workload> read_openb(const TraceInput& input, TraceBuilder& builder);
std::optional<Workload> read_philly(const TraceInput& input, TraceBuilder& builder);
std::optional<Workload> read_helios(const TraceInput& input, TraceBuilder& builder);
std::optional<Workload> read_acme(const TraceInput& input, TraceBuilder& builder);
std::optional<Workload> read_swf(const TraceInput& input, TraceBuilder& builder);
// A CSV with a header, or one JSON object per line.
std::optional<Workload> read_weft(const TraceInput& input, TraceBuilder& builder);

// Columns of weft's own format, in the order of its documentation.
[[nodiscard]] const std::vector<std::string_view>& weft_columns();
// Whether a line has the 18 numbers of a job in the Standard Workload Format.
[[nodiscard]] bool looks_like_swf(std::string_view line);

// The columns that the accounting data of Slurm clusters (Helios, Acme) have in common.
struct AccountingColumns {
  int name, user, gpus, cpus, nodes, submitted, started, ended, duration;
};
// None, with a diagnostic, if a required one is missing.
[[nodiscard]] std::optional<AccountingColumns> accounting_columns(TraceTable& table);
// Fills in the job of the row; false if the row is skipped, which is counted.
bool set_accounting(const TraceTable& table, const AccountingColumns& at, Job& job, TraceBuilder& builder);

// The shape of a MIG profile by its name, from the catalog GPUs that have it: those among `models` (GPU ids separated
// by |) if any do, else all. They must agree. The error's `where` is a hint.
[[nodiscard]] Result<MigShape> mig_named(std::string_view profile, std::string_view models);

}  // namespace weft::sched
