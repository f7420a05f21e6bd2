#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

// The 18 fields of version 2.2 (Feitelson, Parallel Workloads Archive); -1 is "unknown".
struct Field {
  enum Column : std::size_t {
    number,
    submitted,
    waited,
    ran,
    allocated,
    cpu_time,
    used_memory,
    processors,
    limit,
    memory,
    status,
    user,
    group,
    executable,
    queue,
    partition,
    preceding,
    think_time,
  };
};
constexpr std::array<std::string_view, 18> kNames = {"job number",
                                                     "submit time",
                                                     "wait time",
                                                     "run time",
                                                     "allocated processors",
                                                     "average CPU time",
                                                     "used memory",
                                                     "requested processors",
                                                     "requested time",
                                                     "requested memory",
                                                     "status",
                                                     "user",
                                                     "group",
                                                     "executable",
                                                     "queue",
                                                     "partition",
                                                     "preceding job",
                                                     "think time"};
constexpr std::int64_t kPartial[] = {
    2, 3, 4};  // partial executions of a job that was swapped out; the whole job has its own line

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class SwfReader {
 public:
  SwfReader(const TraceInput& input, TraceBuilder& builder)
      : file_(input.file), text_(input.sources->text(input.file)), builder_(&builder) {}

  std::optional<Workload> read() {
    std::uint32_t line = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      take_line(text_.substr(at, end - at), ++line);
      at = end + 1;
    }
    finish_notes();
    return builder_->finish(false);
  }

 private:
  void take_line(std::string_view line, std::uint32_t number) {
    std::size_t at = 0;
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size()) return;
    if (line[at] == ';') return take_comment(line.substr(at + 1));
    std::size_t count = 0;
    while (at < line.size()) {
      std::size_t end = at;
      while (end < line.size() && !is_blank(line[end])) ++end;
      const auto column = static_cast<std::uint16_t>(std::min<std::size_t>(at + 1, 65535));
      const SourceLocation place = {file_, column, number};
      if (count < cells_.size()) cells_[count] = {kNames[count], {line.substr(at, end - at), place, false}};
      ++count;
      for (at = end; at < line.size() && is_blank(line[at]); ++at) {
      }
    }
    if (count != kNames.size()) {
      const SourceLocation place = {file_, 1, number};
      return builder_->cells().diagnostics().error(
          place, fmt::format("the line has {} fields; a job has {}", count, kNames.size()));
    }
    take_job();
  }

  // "; MaxProcs: 128"
  void take_comment(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    std::string_view key = text.substr(0, colon);
    std::string_view value = text.substr(colon + 1);
    const auto trim = [](std::string_view& view) {
      while (!view.empty() && is_blank(view.front())) view.remove_prefix(1);
      while (!view.empty() && is_blank(view.back())) view.remove_suffix(1);
    };
    trim(key);
    trim(value);
    const std::optional<std::int64_t> count = parse_decimal(value, 0);
    if (!count || *count < 0) return;
    if (key == "MaxNodes") max_nodes_ = *count;
    if (key == "MaxProcs") max_processors_ = *count;
    if (key == "UnixStartTime" && *count <= kMaxSeconds) builder_->workload.origin = *count;
  }

  [[nodiscard]] bool known(Field::Column field) const { return cells_[field].text() != "-1"; }
  // A non-negative integer, or -1 for "unknown".
  bool whole(Field::Column field, std::int64_t most, std::int64_t& value) {
    return builder_->cells().whole(cells_[field], -1, most, value);
  }

  void take_job() {
    CellReader& cells = builder_->cells();
    Job job;
    std::int64_t state = -1;
    std::int64_t count = -1;
    Duration submit{};
    job.name = cells_[Field::number].field.str();
    whole(Field::status, 100, state);
    whole(Field::processors, kMaxTasks, count);
    if (count <= 0) whole(Field::allocated, kMaxTasks, count);
    if (cells.seconds(cells_[Field::submitted], submit)) job.submitted = Moment(submit.count());
    if (known(Field::ran)) cells.seconds(cells_[Field::ran], job.run_time);
    if (known(Field::limit) && cells.seconds(cells_[Field::limit], job.limit) && job.limit.count() == 0)
      job.limit = kUnlimited;
    if (known(Field::user)) job.user = cells_[Field::user].field.str();
    if (known(Field::group)) job.tenant = cells_[Field::group].field.str();
    std::int64_t kilobytes = -1;
    whole(Field::memory, std::int64_t{1} << 40, kilobytes);
    if (cells.take_failure()) return;
    if (std::find(std::begin(kPartial), std::end(kPartial), state) != std::end(kPartial)) {
      return builder_->skip("they are partial executions of a job that has its own row");
    }
    if (!known(Field::ran)) return builder_->skip("they never ran");
    if (count <= 0) return builder_->skip("they request no processor");
    set_request(job, static_cast<std::int32_t>(count), kilobytes);
    builder_->add(std::move(job), cells_[0].field.place);
  }

  void set_request(Job& job, std::int32_t count, std::int64_t kilobytes) {
    const TraceOptions& options = builder_->options();
    const bool cores = options.node_cores > 0;
    const Split split = split_gpus(count, cores ? options.node_cores : options.node_gpus);
    job.tasks = split.tasks;
    (cores ? job.task.cpu : job.task.gpus) = cores ? split.gpus * 1000 : split.gpus;
    if (kilobytes <= 0) return;
    const std::int64_t mib = (kilobytes * split.gpus + 1023) / 1024;  // the field is per processor
    job.task.memory_mib = static_cast<std::int32_t>(std::min(mib, kMaxMilli));
  }

  void finish_notes() {
    builder_->note(builder_->options().node_cores > 0 ? "a processor is a CPU core" : "a processor is a GPU");
    if (max_processors_ > 0 || max_nodes_ > 0) {
      builder_->note(fmt::format("the header gives {} processors and {} nodes", max_processors_, max_nodes_));
    }
  }

  FileId file_;
  std::string_view text_;
  TraceBuilder* builder_;
  std::array<Cell, kNames.size()> cells_{};
  std::int64_t max_nodes_ = 0;
  std::int64_t max_processors_ = 0;
};

}  // namespace

bool looks_like_swf(std::string_view line) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && is_blank(line[at])) ++at;
    const std::size_t begin = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    if (at == begin) break;
    if (!parse_decimal(line.substr(begin, at - begin), 0)) return false;
    ++count;
  }
  return count == kNames.size();
}

std::optional<Workload> read_swf(const TraceInput& input, TraceBuilder& builder) {
  return SwfReader(input, builder).read();
}

}  // namespace weft::sched
