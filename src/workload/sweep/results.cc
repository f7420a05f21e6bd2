#include "workload/sweep/results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/value.h"
#include "workload/life/view_cells.h"

namespace weft::workload {
namespace {

using Better = SweepColumn::Better;

constexpr std::array<SweepColumn, 12> kColumns = {
    SweepColumn{"tokens_per_s", "Tokens/s", Better::higher},
    SweepColumn{"step_s", "Step", Better::lower},
    SweepColumn{"mfu_percent", "MFU", Better::higher},
    SweepColumn{"tokens_per_s_gpu", "Tokens/s per GPU", Better::higher},
    SweepColumn{"tflops_per_gpu", "TFLOP/s per GPU", Better::higher},
    SweepColumn{"hfu_percent", "HFU", Better::higher},
    SweepColumn{"gpu_utilisation_percent", "GPU utilization", Better::higher},  // JSON key (words: allow)
    SweepColumn{"memory_percent", "Memory", Better::lower},
    SweepColumn{"gpus", "GPUs", Better::lower},
    SweepColumn{"p99_s", "Step, p99", Better::lower},
    SweepColumn{"checkpoint_overhead_percent", "Checkpoints", Better::lower},
    SweepColumn{"run_time_s", "Run", Better::lower}};

std::vector<double> figures_of(const LifeResult& life) {
  return {life.tokens_per_second,
          seconds(life.step),
          life.mfu * 100,
          life.gpus > 0 ? life.tokens_per_second / life.gpus : 0,
          life.tflops_per_gpu,
          life.hfu * 100,
          life.gpu_utilization * 100,
          share_of(life.memory.total, life.memory.capacity) * 100,
          static_cast<double>(life.gpus),
          seconds(life.tail.p99),
          life.checkpoint_overhead * 100,
          seconds(life.run_time)};
}

Error bad_line(const std::string& path, std::size_t line, std::string_view why) {
  return {ErrorCode::invalid_input, std::string(why), fmt::format("{}:{}", path, line)};
}

std::string text_of(const YamlNode& node, std::string_view key) {
  const YamlNode* found = node.find(key);
  return found != nullptr && found->kind == YamlNode::Kind::scalar ? found->scalar : std::string();
}

double number_of(const YamlNode& node, std::string_view key) {
  const std::string text = text_of(node, key);
  if (text.empty()) return std::numeric_limits<double>::quiet_NaN();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == 0 ? value : std::numeric_limits<double>::quiet_NaN();
}

Result<SweepRow> row_of(const YamlNode& node, const std::string& path, std::size_t line) {
  SweepRow row;
  row.id = text_of(node, "id");
  if (node.kind != YamlNode::Kind::mapping || row.id.empty() || text_of(node, "kind") != "sweep_point") {
    return bad_line(path, line, "not a result of a sweep");
  }
  const double index = number_of(node, "index");
  if (!(index >= 0 && index < 1e15)) return bad_line(path, line, "the result has no index");
  row.index = static_cast<std::uint64_t>(index);
  if (const YamlNode* settings = node.find("settings")) {
    for (const YamlEntry& entry : settings->entries) row.settings.emplace_back(entry.key, entry.value.scalar);
  }
  row.error = text_of(node, "error");
  row.bound_by = text_of(node, "bound_by");
  row.fits = text_of(node, "fits") != "false";
  if (row.error.empty()) {
    for (const SweepColumn& column : kColumns) row.figures.push_back(number_of(node, column.key));
  }
  return row;
}

Error failed(const char* what, const std::string& path, int code = errno) {
  return {ErrorCode::unavailable, fmt::format("cannot {}: {}", what, std::generic_category().message(code)), path};
}

// An open file description lock: it excludes threads as well as processes, and is released when the file is closed.
bool lock(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  int outcome = -1;
  do {
    outcome = ::fcntl(fd, F_OFD_SETLKW, &whole);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  } while (outcome < 0 && errno == EINTR);
  return outcome == 0;
}

// Offset of the end of the last complete line; -1 with errno if the file cannot be read.
off_t end_of_lines(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return -1;
  std::array<char, 4096> buffer{};
  for (off_t end = facts.st_size; end > 0;) {
    const off_t start = std::max<off_t>(0, end - static_cast<off_t>(buffer.size()));
    const ssize_t got = ::pread(fd, buffer.data(), static_cast<std::size_t>(end - start), start);
    if (got < 0 && errno == EINTR) continue;
    if (got != end - start) return -1;
    for (ssize_t i = got; i-- > 0;) {
      if (buffer[static_cast<std::size_t>(i)] == '\n') return start + i + 1;
    }
    end = start;
  }
  return 0;
}

}  // namespace

std::span<const SweepColumn> sweep_columns() { return kColumns; }

SweepRow sweep_row(const SweepPoint& point, const Result<LifeResult>& outcome) {
  SweepRow row{point.id, point.index, point.settings, {}, {}, {}, true};
  if (!outcome.ok()) {
    row.error = outcome.error().text();
    if (row.error.empty()) row.error = "failed";
    return row;
  }
  row.figures = figures_of(*outcome);
  row.bound_by = outcome->verdict.bound_by;
  row.fits = outcome->memory.total <= outcome->memory.capacity;
  return row;
}

std::string sweep_line(const SweepRow& row) {
  Value settings(Value::Map{});
  for (const auto& [key, value] : row.settings) settings.set(key, value);
  Value line(Value::Map{});
  line.put("schema_version", 1);
  line.put("kind", "sweep_point");
  line.put("id", row.id);
  line.put("index", row.index);
  line.put("settings", std::move(settings));
  if (!row.error.empty()) line.put("error", row.error);
  for (std::size_t i = 0; i < kColumns.size() && i < row.figures.size(); ++i) {
    line.put(std::string(kColumns[i].key), std::isfinite(row.figures[i]) ? Value(row.figures[i]) : Value());
  }
  if (row.error.empty()) {
    line.put("bound_by", row.bound_by);
    line.put("fits", row.fits);
  }
  return write_json_line(line) + "\n";
}

Result<std::vector<SweepRow>> read_sweep_rows(const std::string& path, std::string_view text) {
  std::vector<SweepRow> rows;
  std::map<std::string, std::size_t> places;
  std::size_t number = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Diagnostics diagnostics;
    const std::optional<YamlNode> node = parse_json_text(line, {}, diagnostics);
    if (!node.has_value()) return bad_line(path, number, "not a line of JSON");
    Result<SweepRow> row = row_of(*node, path, number);
    if (!row.ok()) return row.error();
    const auto [place, added] = places.emplace(row->id, rows.size());
    if (added) {
      rows.push_back(std::move(*row));
    } else {
      rows[place->second] = std::move(*row);
    }
  }
  return rows;
}

Result<std::vector<SweepRow>> load_sweep_rows(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (text.ok()) return read_sweep_rows(path, *text);
  if (text.error().code == ErrorCode::not_found) return std::vector<SweepRow>();
  return text.error();
}

Status append_sweep_row(const std::string& path, const SweepRow& row) {
  const FileDescriptor file = open_descriptor(path, O_RDWR | O_CREAT | O_APPEND, 0644);
  if (!file.ok()) return failed("open", path);
  if (!lock(file.get())) return failed("lock", path);
  const off_t end = end_of_lines(file.get());
  if (end < 0) return failed("read", path);
  // Writers hold the lock: a partial line was left by one that died.
  if (::ftruncate(file.get(), end) != 0) return failed("cut", path);
  if (const Written written = write_all(file.get(), sweep_line(row)); written.error != 0)
    return failed("write", path, written.error);
  if (::fsync(file.get()) != 0) return failed("sync", path);
  return {};
}

std::vector<std::uint64_t> missing_points(const Sweep& sweep, const std::vector<SweepRow>& rows, bool again) {
  std::map<std::string, bool> done;
  for (const SweepRow& row : rows) done[row.id] = row.error.empty() || !again;
  std::vector<std::uint64_t> missing;
  for (std::uint64_t i = 0; i < sweep.size(); ++i) {
    const auto found = done.find(sweep.id(i));
    if (found == done.end() || !found->second) missing.push_back(i);
  }
  return missing;
}

}  // namespace weft::workload
