#include "world/slurm/job_table.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace weft::world {
namespace {

struct Column {
  std::string_view name;  // of --Format in squeue(1)
  std::size_t width;      // bytes, without the separator
};
enum ColumnIndex : std::size_t {
  column_id,
  column_submitted,
  column_state,
  column_user,
  column_node_count,
  column_priority,
  column_exit_code,
  column_restarts,
  column_reason,
  column_nodes,
  column_required,
  column_comment
};
constexpr std::size_t kCount = 12;
using Columns = std::array<Column, kCount>;

Columns make_columns(const JobTableWidths& widths) {
  return {{{"JobID", 12},
           {"SubmitTime", 12},
           {"State", 16},
           {"UserID", 12},
           {"NumNodes", 8},
           {"PriorityLong", 12},
           {"exit_code", 8},
           {"RestartCnt", 8},
           {"Reason", 48},
           {"NodeList", widths.nodes},
           {"ReqNodes", widths.nodes},
           {"Comment", widths.comment}}};
}

std::size_t record_size(const Columns& columns) {
  std::size_t size = 1;  // the line break
  for (const Column& column : columns) size += column.width + 1;
  return size;
}

Error invalid(const std::string& message) {
  return {ErrorCode::unavailable, "invalid answer of squeue: " + message, {}};
}

struct TableRecord {
  std::string_view fields[kCount];  // without the spaces at the end
  bool full[kCount] = {};           // may have been cut off
};

// False: not a record.
bool split_record(std::string_view text, const Columns& columns, TableRecord& record) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string_view field = text.substr(at, columns[i].width);
    at += columns[i].width + 1;
    if (text[at - 1] != '|') return false;
    const std::size_t last = field.find_last_not_of(' ');
    record.fields[i] = last == std::string_view::npos ? std::string_view() : field.substr(0, last + 1);
    record.full[i] = record.fields[i].size() == columns[i].width;
  }
  return text.back() == '\n';
}

bool read_number(std::string_view text, std::uint64_t limit, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= limit;
}

bool is_cut_off(const TableRecord& record) {
  return record.full[column_nodes] || record.full[column_required] || record.full[column_comment];
}

// False: a field is not valid.
bool read_job(const TableRecord& record, SlurmJob& job) {
  constexpr std::uint64_t kMax32 = 0xFFFF'FFFF;
  std::uint64_t id = 0;
  std::uint64_t submitted = 0;
  std::uint64_t user = 0;
  std::uint64_t nodes = 0;
  std::uint64_t priority = 0;
  std::uint64_t exit = 0;
  std::uint64_t restarts = 0;
  const bool valid = read_number(record.fields[column_id], kMax32, id) &&
                     read_number(record.fields[column_submitted], 253'402'300'799, submitted) &&
                     read_number(record.fields[column_user], kMax32, user) &&
                     read_number(record.fields[column_node_count], kMax32, nodes) &&
                     read_number(record.fields[column_priority], kMax32, priority) &&
                     read_number(record.fields[column_exit_code], kMax32, exit) &&
                     read_number(record.fields[column_restarts], kMax32, restarts);
  if (!valid || id == 0 || submitted == 0 || record.fields[column_state].empty()) return false;
  job.id = static_cast<std::uint32_t>(id);
  job.submitted = static_cast<std::int64_t>(submitted);
  job.state = parse_slurm_state(record.fields[column_state]);
  job.held = priority == 0;
  job.comment = record.fields[column_comment];
  job.reason = record.fields[column_reason];
  job.nodes = record.fields[column_nodes];
  job.required_nodes = record.fields[column_required];
  job.node_count = static_cast<std::uint32_t>(nodes);
  job.exit_status = static_cast<std::int32_t>(std::min<std::uint64_t>(exit, 0xFFFF));
  job.restarts = static_cast<std::uint32_t>(restarts);
  job.user = static_cast<std::uint32_t>(user);
  return true;
}

}  // namespace

std::vector<std::string> job_table_command(const JobTableWidths& widths) {
  std::string format;
  for (const Column& column : make_columns(widths))
    format += fmt::format("{}{}:{}|", format.empty() ? "" : ",", column.name, column.width);
  return {"squeue", "--noheader", "--array", "--states=all", "--Format=" + format};
}

Result<std::vector<SlurmJob>> parse_job_table(std::string_view text, std::string_view comment,
                                              const JobTableWidths& widths) {
  const Columns columns = make_columns(widths);
  const std::size_t size = record_size(columns);
  std::vector<SlurmJob> jobs;
  if (text.size() % size != 0) return invalid("its size is not that of whole records");
  for (; !text.empty(); text.remove_prefix(size)) {
    TableRecord record;
    if (!split_record(text.substr(0, size), columns, record)) return invalid("it is not a table");
    if (!record.fields[column_comment].starts_with(comment)) continue;
    if (is_cut_off(record)) return Error{ErrorCode::invalid_input, "a field of squeue is too long", {}};
    SlurmJob job;
    if (!read_job(record, job)) return invalid("a field of a job is not valid");
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace weft::world
