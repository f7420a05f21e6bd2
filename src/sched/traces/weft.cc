#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kGib = 1 << 30;
constexpr std::int64_t kMaxPriority = 1'000'000'000;

// A row being parsed into a job: what can be resolved only after all its cells are read.
struct WeftRow {
  Job job;
  TraceBuilder* builder = nullptr;
  Cell submit;
  Cell mig;
  std::string models;
  bool gpus_given = false;
  bool preemptible_given = false;
};

CellReader& cells_of(WeftRow& row) { return row.builder->cells(); }

void read_text(const Cell& cell, std::string& value) { value = cell.field.str(); }

void read_bool(WeftRow& row, const Cell& cell, bool& value) {
  const std::string_view text = cell.text();
  const bool yes = text == "true" || text == "yes" || text == "1" || text == "TRUE";
  const bool no = text == "false" || text == "no" || text == "0" || text == "FALSE";
  if (yes || no) {
    value = yes;
  } else {
    cells_of(row).error(cell, fmt::format("`{}` must be true or false", cell.name));
  }
}

// Seconds, or a number with a unit.
void read_duration(WeftRow& row, const Cell& cell, Duration& value) {
  const char last = cell.text().back();
  if ((last >= '0' && last <= '9') || last == '.' || cell.text().front() == '-') {
    cells_of(row).seconds(cell, value);
    return;
  }
  if (cell.text() == "unlimited") {
    value = kUnlimited;
    return;
  }
  const Result<Duration> duration = parse_duration(cell.text());
  if (!duration.ok()) {
    cells_of(row).error(cell, duration.error().message, "a number without a unit is in seconds");
  } else if (duration->count() > kMaxSeconds * 1'000'000'000) {
    cells_of(row).error(cell, fmt::format("`{}` is more than 100 years", cell.name));
  } else {
    value = *duration;
  }
}

// In units of `unit` bytes, rounded up. A bare number would be bytes, which is never intended.
void read_bytes(WeftRow& row, const Cell& cell, std::int64_t unit, std::int32_t& value) {
  const Result<Bytes> bytes = parse_bytes(cell.text());
  if (!bytes.ok()) return cells_of(row).error(cell, bytes.error().message);
  const char last = cell.text().back();
  if (last >= '0' && last <= '9' && bytes->count() != 0) {
    return cells_of(row).error(cell, fmt::format("`{}` has no unit", cell.name), "write it as 64GiB");
  }
  const std::int64_t count = bytes->count() / unit + (bytes->count() % unit != 0 ? 1 : 0);
  if (count > kMaxMilli) return cells_of(row).error(cell, fmt::format("`{}` is more than any server has", cell.name));
  value = static_cast<std::int32_t>(count);
}

void read_level(WeftRow& row, const Cell& cell, Level& value) {
  if (const std::optional<Level> level = level_named(cell.text())) {
    value = *level;
    return;
  }
  std::vector<std::string_view> names;
  names.reserve(kLevels);
  for (int level = 0; level < kLevels; ++level) names.push_back(to_text(static_cast<Level>(level)));
  std::string hint = did_you_mean(cell.text(), names);
  if (hint.empty()) hint = "one of node, nvlink, rack, leaf, pod, cluster";
  cells_of(row).error(cell, fmt::format("`{}` is not a level of the network", cell.name), std::move(hint));
}

void read_starts(WeftRow& row, const Cell& cell) {
  const std::string_view text = cell.text();
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const bool slice = text[i] >= '0' && text[i] < '0' + kMigSlices && (i + 1 == text.size() || text[i + 1] == '|');
    if (!slice || i + 2 == text.size()) {
      return cells_of(row).error(cell, "`mig_starts` is not a list of memory slices from 0 to 7", "write it as 0|2|4");
    }
    std::uint8_t& starts = row.job.task.mig.starts;
    starts = static_cast<std::uint8_t>(starts | (1U << static_cast<unsigned>(text[i] - '0')));
  }
}

struct Column {
  std::string_view name;
  void (*read)(WeftRow&, const Cell&);
};

// `cell` is never empty: an empty one keeps the job's default.
constexpr Column kColumns[] = {
    {"name", [](WeftRow& row, const Cell& cell) { read_text(cell, row.job.name); }},
    {"tenant", [](WeftRow& row, const Cell& cell) { read_text(cell, row.job.tenant); }},
    {"user", [](WeftRow& row, const Cell& cell) { read_text(cell, row.job.user); }},
    {"priority",
     [](WeftRow& row, const Cell& cell) { cells_of(row).whole(cell, -kMaxPriority, kMaxPriority, row.job.priority); }},
    {"submit", [](WeftRow& row, const Cell& cell) { row.submit = cell; }},
    {"tasks", [](WeftRow& row, const Cell& cell) { cells_of(row).whole(cell, 1, kMaxTasks, row.job.tasks); }},
    {"min_tasks", [](WeftRow& row, const Cell& cell) { cells_of(row).whole(cell, 0, kMaxTasks, row.job.min_tasks); }},
    {"gpus",
     [](WeftRow& row, const Cell& cell) {
       row.gpus_given = true;
       cells_of(row).whole(cell, 0, kMaxGpus * kMigSlices, row.job.task.gpus);
     }},
    {"gpu_milli",
     [](WeftRow& row, const Cell& cell) { cells_of(row).whole(cell, 1, kWholeGpu, row.job.task.gpu_milli); }},
    {"mig", [](WeftRow& row, const Cell& cell) { row.mig = cell; }},
    {"mig_slices",
     [](WeftRow& row, const Cell& cell) {
       std::int32_t slices = 0;
       if (cells_of(row).whole(cell, 1, kMigSlices, slices)) {
         row.job.task.mig.slices = static_cast<std::uint8_t>(slices);
       }
     }},
    {"mig_starts", read_starts},
    {"cpus", [](WeftRow& row, const Cell& cell) { cells_of(row).milli(cell, 0, kMaxMilli, row.job.task.cpu); }},
    {"memory", [](WeftRow& row, const Cell& cell) { read_bytes(row, cell, kMib, row.job.task.memory_mib); }},
    {"functions",
     [](WeftRow& row, const Cell& cell) { cells_of(row).whole(cell, 0, kMaxTasks, row.job.task.functions); }},
    {"scratch", [](WeftRow& row, const Cell& cell) { read_bytes(row, cell, kGib, row.job.task.scratch_gib); }},
    {"models",
     [](WeftRow& row, const Cell& cell) {
       read_text(cell, row.models);
       row.job.task.models = row.builder->bits(cell, row.builder->workload.models);
     }},
    {"pools",
     [](WeftRow& row, const Cell& cell) { row.job.task.pools = row.builder->bits(cell, row.builder->workload.pools); }},
    {"required", [](WeftRow& row, const Cell& cell) { read_level(row, cell, row.job.required); }},
    {"preferred", [](WeftRow& row, const Cell& cell) { read_level(row, cell, row.job.preferred); }},
    {"preference_wait", [](WeftRow& row, const Cell& cell) { read_duration(row, cell, row.job.preference_wait); }},
    {"segment", [](WeftRow& row, const Cell& cell) { cells_of(row).whole(cell, 0, kMaxTasks, row.job.segment); }},
    {"segment_level", [](WeftRow& row, const Cell& cell) { read_level(row, cell, row.job.segment_level); }},
    {"run_time", [](WeftRow& row, const Cell& cell) { read_duration(row, cell, row.job.run_time); }},
    {"limit", [](WeftRow& row, const Cell& cell) { read_duration(row, cell, row.job.limit); }},
    {"preemptible",
     [](WeftRow& row, const Cell& cell) {
       row.preemptible_given = true;
       read_bool(row, cell, row.job.preemptible);
     }},
    {"inference", [](WeftRow& row, const Cell& cell) { read_bool(row, cell, row.job.inference); }},
    {"grace", [](WeftRow& row, const Cell& cell) { read_duration(row, cell, row.job.grace); }},
    {"checkpoint_interval",
     [](WeftRow& row, const Cell& cell) { read_duration(row, cell, row.job.checkpoint_interval); }},
    {"restart_cost", [](WeftRow& row, const Cell& cell) { read_duration(row, cell, row.job.restart_cost); }},
    {"job_file", [](WeftRow& row, const Cell& cell) { read_text(cell, row.job.job_file); }},
};

const Column* column_named(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kColumns), std::end(kColumns), [&](const Column& column) { return column.name == name; });
  return found == std::end(kColumns) ? nullptr : found;
}

void unknown(const CsvField& field, const char* what, CellReader& cells) {
  std::string hint = did_you_mean(field.text, weft_columns());
  if (hint.empty()) hint = "docs/traces.md lists the columns";
  cells.error({{}, field}, fmt::format("unknown {} `{}`", what, field.text.substr(0, 40)), std::move(hint));
}

class WeftReader {
 public:
  explicit WeftReader(TraceBuilder& builder) : builder_(&builder) {}

  [[nodiscard]] WeftRow start() const {
    WeftRow row;
    row.builder = builder_;
    return row;
  }

  void finish_row(WeftRow& row, const SourceLocation& place) {
    ++rows_;
    Job& job = row.job;
    if (job.name.empty()) job.name = fmt::format("job-{}", rows_);
    set_submission(row, place);
    if (!row.mig.empty()) set_mig(row);
    const bool asks_for_one = job.task.mig.slices > 0 || job.task.gpu_milli != kWholeGpu;
    if (asks_for_one && !row.gpus_given) job.task.gpus = 1;
    if (job.inference && !row.preemptible_given) job.preemptible = false;
    builder_->add(std::move(job), place);
  }

 private:
  // Seconds from the start of the trace, or a calendar time; the same kind in all rows.
  void set_submission(WeftRow& row, const SourceLocation& place) {
    CellReader& cells = builder_->cells();
    const bool calendar = row.submit.text().find_first_of("-T", 1) != std::string_view::npos;
    if (rows_ == 1) calendar_ = calendar;
    if (calendar != calendar_) {
      const Cell cell = row.submit.empty() ? Cell{"submit", {{}, place, false}} : row.submit;
      return cells.error(cell, calendar ? "this is a date, but the first row has seconds"
                                        : "this is not a date, but the first row has one");
    }
    if (row.submit.empty()) return;
    std::int64_t time = 0;
    Duration seconds{};
    if (calendar) {
      if (cells.time(row.submit, time)) builder_->submitted_at(row.job, time);
    } else if (cells.seconds(row.submit, seconds)) {
      row.job.submitted = Moment(seconds.count());
    }
  }

  void set_mig(WeftRow& row) {
    CellReader& cells = builder_->cells();
    if (row.job.task.mig.slices != 0 || row.job.task.mig.starts != 0) {
      return cells.error(row.mig, "a MIG profile is given both by name and by slices");
    }
    const Result<MigShape> shape = mig_named(row.mig.text(), row.models);
    if (!shape.ok()) return cells.error(row.mig, shape.error().message, shape.error().where);
    row.job.task.mig = *shape;
  }

  TraceBuilder* builder_;
  std::int64_t rows_ = 0;
  bool calendar_ = false;
};

std::optional<Workload> read_csv(const TraceInput& input, TraceBuilder& builder) {
  TraceTable table(input.file, *input.sources, builder.cells().diagnostics());
  if (!table.open()) return std::nullopt;
  std::vector<const Column*> columns;
  for (const CsvField& field : table.header()) {
    columns.push_back(column_named(field.text));
    if (columns.back() == nullptr) unknown(field, "column", builder.cells());
  }
  if (builder.cells().take_failure()) return std::nullopt;
  WeftReader reader(builder);
  while (table.next()) {
    WeftRow row = reader.start();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Cell cell = table.cell(static_cast<int>(i));
      if (!cell.empty()) columns[i]->read(row, cell);
    }
    reader.finish_row(row, table.start());
  }
  return builder.finish(false);
}

// One line of JSON lines. Parsed as a separate file; diagnostics are moved to the position of the line.
class JsonLine {
 public:
  JsonLine(FileId file, std::uint32_t line, std::string_view text, Diagnostics& diagnostics)
      : file_(file), line_(line) {
    Sources sources;
    Diagnostics own;
    const YamlLimits limits = {1U << 20U, 1000, 4};  // an object of texts and numbers
    root_ = parse_json(sources, sources.add({}, std::string(text)), own, limits);
    for (Diagnostic each : own.sorted()) {
      each.place = moved(each.place);
      // Of a repeated key, one value would be lost.
      each.severity = Severity::error;
      diagnostics.add(std::move(each));
      root_.reset();
    }
  }

  [[nodiscard]] const std::optional<YamlNode>& root() const { return root_; }
  [[nodiscard]] SourceLocation moved(SourceLocation place) const {
    place.file = file_;
    place.line = line_;
    return place;
  }

 private:
  FileId file_;
  std::uint32_t line_;
  std::optional<YamlNode> root_;
};

// A scalar, or a list of them joined with |; false if it is neither.
bool text_of(const YamlNode& node, std::string& text) {
  if (node.kind == YamlNode::Kind::scalar) text = node.scalar;
  if (node.kind != YamlNode::Kind::sequence) return node.kind != YamlNode::Kind::mapping;
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::scalar) return false;
    if (!text.empty()) text += '|';
    text += item.scalar;
  }
  return true;
}

void take_object(const JsonLine& line, WeftReader& reader, CellReader& cells) {
  const YamlNode& root = *line.root();
  const SourceLocation place = line.moved(root.place);
  if (root.kind != YamlNode::Kind::mapping) return cells.diagnostics().error(place, "the line is not a JSON object");
  WeftRow row = reader.start();
  std::vector<std::string> texts(root.entries.size());  // the cells of the row are views into these
  for (std::size_t i = 0; i < root.entries.size(); ++i) {
    const YamlEntry& entry = root.entries[i];
    const Column* column = column_named(entry.key);
    if (column == nullptr) {
      unknown({entry.key, line.moved(entry.key_place), false}, "key", cells);
      continue;
    }
    const bool fine = text_of(entry.value, texts[i]);
    const Cell cell = {column->name, {texts[i], line.moved(entry.value.place), false}};
    if (!fine) {
      cells.error(cell, fmt::format("`{}` is {}", column->name, describe_kind(entry.value)));
    } else if (!cell.empty()) {
      column->read(row, cell);
    }
  }
  reader.finish_row(row, place);
}

std::optional<Workload> read_json_lines(const TraceInput& input, TraceBuilder& builder) {
  const std::string_view text = input.sources->text(input.file);
  WeftReader reader(builder);
  std::uint32_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    ++number;
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const JsonLine parsed(input.file, number, line, builder.cells().diagnostics());
    if (parsed.root()) take_object(parsed, reader, builder.cells());
  }
  return builder.finish(false);
}

}  // namespace

const std::vector<std::string_view>& weft_columns() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Column& column : kColumns) all.push_back(column.name);
    return all;
  }();
  return names;
}

std::optional<Workload> read_weft(const TraceInput& input, TraceBuilder& builder) {
  const std::string_view text = input.sources->text(input.file);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && text[begin] == '{';
  return json ? read_json_lines(input, builder) : read_csv(input, builder);
}

}  // namespace weft::sched
