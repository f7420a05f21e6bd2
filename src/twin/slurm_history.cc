#include "twin/slurm_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/host_range.h"
#include "base/text.h"
#include "base/utf8.h"
#include "control/checkpoint_interval.h"
#include "sched/traces/reader.h"

namespace weft::twin {
namespace {

using sched::Cell;
using sched::Moment;

constexpr std::size_t kMaxRows = 2'000'000;
constexpr Duration kRequeueSlack = sched::seconds(60);     // the end of an attempt and its requeue are noted apart
constexpr Duration kRequeueWait = sched::seconds(86'400);  // later, the number belongs to another job
constexpr std::int32_t kEndless = 1'000'000;
constexpr double kInterruptions = 3.79;  // per 1,000 node-days, as ControllerOptions has it

enum class State { completed, running, pending, requeued, preempted, node_fail, failed, canceled };

struct StateName {
  std::string_view name;
  State state;
};
// Slurm's names of job states, sacct(1). What ended by its time limit had done its work.
constexpr std::array<StateName, 24> kStates = {{
    {"COMPLETED", State::completed},  {"COMPLETING", State::running},   {"RUNNING", State::running},
    {"SUSPENDED", State::running},    {"RESIZING", State::running},     {"STOPPED", State::running},
    {"SIGNALING", State::running},    {"STAGE_OUT", State::running},    {"CONFIGURING", State::running},
    {"PENDING", State::pending},      {"BOOT_FAIL", State::pending},    {"REVOKED", State::pending},
    {"REQUEUED", State::requeued},    {"REQUEUE", State::requeued},     {"REQUEUE_HOLD", State::requeued},
    {"PREEMPTED", State::preempted},  {"NODE_FAIL", State::node_fail},  {"FAILED", State::failed},
    {"LAUNCH_FAILED", State::failed}, {"OUT_OF_MEMORY", State::failed}, {"SPECIAL_EXIT", State::failed},
    {"TIMEOUT", State::completed},    {"DEADLINE", State::completed},   {"CANCELLED", State::canceled},
}};

struct Columns {
  int id, submit, start, end, state, nodes, tres, user, name, failed_node;
};

// One row: an attempt, or a wait that ended before one.
struct Row {
  std::string id;
  std::string user;
  std::string name;
  Moment submit{};
  Moment start = sched::kNever;
  Moment end = sched::kNever;
  State state = State::pending;
  std::vector<sched::NodeId> nodes;
  std::int32_t gpus = 0;  // per node
  std::optional<std::size_t> failed_node;
};

// "None", "Unknown", "None assigned": how sacct prints what there is not.
bool is_none(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "None assigned" || text == "N/A";
}

// gres/gpu of a list such as "billing=64,cpu=64,gres/gpu:h100=32,gres/gpu=32,node=4".
std::optional<std::int64_t> gpus_of(std::string_view tres) {
  std::int64_t typed = 0;
  for (const std::string_view part : split(tres, ',')) {
    if (!part.starts_with("gres/gpu")) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::optional<std::int64_t> count = sched::parse_decimal(part.substr(equals + 1), 0);
    if (!count || *count < 0 || *count > sched::kMaxTasks) return std::nullopt;
    if (part.substr(0, equals) == "gres/gpu") return count;
    typed += *count;
  }
  return typed;
}

class SacctReader {
 public:
  SacctReader(const Sources& sources, FileId file, const sched::Machine& machine, char separator,
              Diagnostics& diagnostics)
      : table_(file, sources, diagnostics, separator),
        cells_(diagnostics),
        machine_(machine),
        diagnostics_(diagnostics),
        file_(file) {}

  std::optional<History> read() {
    if (!table_.open() || !find_columns()) return std::nullopt;
    std::size_t count = 0;
    while (table_.next()) {
      if (++count > kMaxRows) {
        diagnostics_.error(table_.start(), fmt::format("more than {} rows", kMaxRows));
        break;
      }
      read_row();
    }
    if (!diagnostics_.has_errors() && rows_.empty()) {
      diagnostics_.error({file_, 1, 1}, "there is no job with GPUs on nodes of the cluster",
                         fmt::format("{} rows without GPUs, {} on other nodes", without_gpus_, elsewhere_));
    }
    if (diagnostics_.has_errors()) return std::nullopt;
    return make_history();
  }

 private:
  bool find_columns() {
    at_ = {table_.need("JobID"),   table_.need("Submit"),    table_.need("Start"),     table_.need("End"),
           table_.need("State"),   table_.need("NodeList"),  table_.need("AllocTRES"), table_.find("User"),
           table_.find("JobName"), table_.find("FailedNode")};
    return std::min({at_.id, at_.submit, at_.start, at_.end, at_.state, at_.nodes, at_.tres}) >= 0;
  }

  void read_row() {
    Row row;
    row.id = table_.cell(at_.id).field.str();
    if (row.id.find('.') != std::string::npos) return;  // a step: .batch, .extern, .0
    if (row.id.empty()) return cells_.error(table_.cell(at_.id), "the row has no job number");
    if (!read_state(row)) return;
    if (!read_moment(at_.submit, row.submit) || !read_moment(at_.start, row.start) || !read_moment(at_.end, row.end))
      return;
    if (row.submit == sched::kNever) return cells_.error(table_.cell(at_.submit), "the job has no time of submission");
    if (row.start != sched::kNever && row.end < row.start)
      return cells_.error(table_.cell(at_.end), "the job ends before it starts");
    if (row.state == State::running) row.end = sched::kNever;
    row.user = table_.cell(at_.user).field.str();
    row.name = table_.cell(at_.name).field.str();
    if (row.state == State::pending || row.start == sched::kNever) {
      ++waiting_;
      return;
    }
    if (read_nodes(row)) rows_.push_back(std::move(row));
  }

  bool read_state(Row& row) {
    const Cell cell = table_.cell(at_.state);
    const std::string_view word = cell.text().substr(0, cell.text().find(' '));  // CANCELLED by 1000
    const auto found =
        std::find_if(kStates.begin(), kStates.end(), [&](const StateName& each) { return each.name == word; });
    if (found == kStates.end()) {
      cells_.error(cell, fmt::format("unknown job state {}", in_backticks(cell.text())));
      return false;
    }
    row.state = found->state;
    return true;
  }

  bool read_moment(int column, Moment& value) {
    const Cell cell = table_.cell(column);
    value = sched::kNever;
    if (is_none(cell.text())) return true;
    std::int64_t time = 0;
    if (!cells_.time(cell, time)) return false;
    value = Moment(time);
    return true;
  }

  bool read_nodes(Row& row) {
    const Cell tres = table_.cell(at_.tres);
    const std::optional<std::int64_t> gpus = gpus_of(tres.text());
    if (!gpus) {
      cells_.error(tres, fmt::format("{} has no valid number of GPUs", in_backticks(tres.text())));
      return false;
    }
    if (*gpus == 0) {
      ++without_gpus_;
      return false;
    }
    const Cell list = table_.cell(at_.nodes);
    const Result<std::vector<std::string>> names = expand_hosts(list.text());
    if (!names.ok() || names->empty()) {
      cells_.error(list, fmt::format("{} is not a list of nodes", in_backticks(list.text())));
      return false;
    }
    for (const std::string& name : *names) {
      const std::optional<sched::NodeId> node = machine_.find(name);
      if (!node) {
        ++elsewhere_;
        return false;
      }
      row.nodes.push_back(*node);
    }
    const auto count = static_cast<std::int64_t>(row.nodes.size());
    uneven_ += *gpus % count != 0 ? 1U : 0U;
    row.gpus = static_cast<std::int32_t>(
        std::min<std::int64_t>((*gpus + count - 1) / count, machine_.node(row.nodes.front()).gpus));
    const std::string failed = table_.cell(at_.failed_node).field.str();
    const auto found = std::find(names->begin(), names->end(), failed);
    if (found != names->end()) row.failed_node = static_cast<std::size_t>(found - names->begin());
    return row.gpus > 0;
  }

  // Rows of one number are attempts of one job if it was requeued. Its time of submission is then that of the requeue,
  // sacct(1). Slurm begins again with small numbers after a reset: what was not requeued is another job.
  [[nodiscard]] static bool continues(const Row& before, const Row& row) {
    if (before.user != row.user || before.name != row.name || before.end == sched::kNever) return false;
    if (before.state == State::completed || row.nodes.size() != before.nodes.size()) return false;
    return row.submit + kRequeueSlack >= before.end && row.submit - before.end <= kRequeueWait;
  }

  History make_history() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.submit != b.submit ? a.submit < b.submit : a.start < b.start;
    });
    History history;
    history.source = "Slurm's accounting";
    history.has_checkpoints = false;
    history.from = rows_.front().submit;
    std::map<std::string, std::size_t> last;  // job of a number
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const Row& row = rows_[r];
      history.until = std::max({history.until, row.start, row.end == sched::kNever ? row.start : row.end});
      const auto found = last.find(row.id);
      if (found != last.end() && continues(rows_[last_row_[found->second]], row)) {
        last_row_[found->second] = r;
        add_attempt(history.jobs[found->second], row);
        continue;
      }
      last[row.id] = history.jobs.size();
      last_row_.push_back(r);
      history.jobs.push_back(job_of(row));
      add_attempt(history.jobs.back(), row);
    }
    for (std::size_t j = 0; j < history.jobs.size(); ++j) finish_job(history.jobs[j], rows_[last_row_[j]]);
    add_notes(history);
    return history;
  }

  static HistoryJob job_of(const Row& row) {
    HistoryJob job;
    job.submitted = row.submit;
    sched::Job& shape = job.spec.shape;
    shape.name = row.name.empty() ? row.id : row.id + "-" + row.name;
    std::replace_if(
        shape.name.begin(), shape.name.end(), [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; },
        '-');
    shape.user = row.user;
    shape.tasks = static_cast<std::int32_t>(row.nodes.size());
    shape.task.gpus = row.gpus;
    job.spec.checkpoint.volumes = {"/checkpoints"};
    job.spec.checkpoint.interval =
        control::checkpoint_interval(job.spec.checkpoint.write_time, kInterruptions, row.nodes.size());
    job.spec.restart.max_failures = kEndless;
    return job;
  }

  static void add_attempt(HistoryJob& job, const Row& row) {
    HistoryAttempt& attempt = job.attempts.emplace_back();
    attempt.start = attempt.running = row.start;
    attempt.ended = row.end;
    attempt.restored = job.attempts.size() > 1;
    attempt.interrupted = row.state == State::node_fail || row.state == State::failed;
    for (const sched::NodeId node : row.nodes) {
      HistoryPart& part = attempt.parts.emplace_back();
      part.node = node;
      part.milli = std::int64_t{row.gpus} * sched::kWholeGpu;
      part.running = true;
      part.ended = row.end;
      part.code = attempt.interrupted ? 1 : 0;
      if (row.state == State::node_fail) part.end = control::PartEnd::rebooted;
    }
    if (attempt.interrupted && row.failed_node) attempt.failed = row.failed_node;
  }

  static void finish_job(HistoryJob& job, const Row& last) {
    if (last.end == sched::kNever) return;
    job.ended = last.end;
    switch (last.state) {
      case State::completed:
        job.end = control::JobState::done;
        return;
      case State::canceled:
        job.end = control::JobState::canceled;
        return;
      case State::node_fail:
      case State::failed: {
        // It was not started again: nor is it in the replay. What failed is then taken for its process.
        job.end = control::JobState::failed;
        HistoryAttempt& attempt = job.attempts.back();
        for (HistoryPart& part : attempt.parts) part.end = control::PartEnd::exited;
        const auto failures = std::count_if(job.attempts.begin(), job.attempts.end(),
                                            [](const HistoryAttempt& each) { return each.interrupted; });
        job.spec.restart.max_failures = static_cast<std::int32_t>(failures) - 1;
        job.spec.restart.on_success_only = failures == 1;
        return;
      }
      case State::running:
      case State::pending:
      case State::requeued:
      case State::preempted:
        job.ended = sched::kNever;  // it waits
        return;
    }
  }

  void add_notes(History& history) const {
    std::vector<std::string>& notes = history.notes;
    notes.emplace_back(
        "Slurm's accounting does not know checkpoints: they are assumed at the interval that weft serve would choose, "
        "at no cost, and an interruption loses what was computed since. What was productive is therefore not "
        "recorded.");
    notes.emplace_back("Priorities and QOS are not in the recording: the jobs compete as equals.");
    const std::pair<std::size_t, const char*> counts[] = {
        {without_gpus_, "without GPUs: left out"},
        {elsewhere_, "on nodes that the cluster lacks: left out"},
        {waiting_, "that did not start: left out"},
        {uneven_, "whose GPUs do not divide evenly among its nodes: rounded up"}};
    for (const auto& [count, what] : counts) {
      if (count > 0) notes.push_back(fmt::format("{} row{} {}.", count, count == 1 ? "" : "s", what));
    }
  }

  sched::TraceTable table_;
  sched::CellReader cells_;
  const sched::Machine& machine_;
  Diagnostics& diagnostics_;
  FileId file_;
  Columns at_{};
  std::vector<Row> rows_;
  std::vector<std::size_t> last_row_;  // of each job
  std::size_t without_gpus_ = 0;
  std::size_t elsewhere_ = 0;
  std::size_t waiting_ = 0;
  std::size_t uneven_ = 0;
};

}  // namespace

bool looks_like_sacct(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.find("JobID") != std::string_view::npos && line.find_first_of("|,") != std::string_view::npos;
}

std::optional<History> read_sacct(const Sources& sources, FileId file, const sched::Machine& machine,
                                  Diagnostics& diagnostics) {
  const std::string_view text = sources.text(file);
  const std::string_view line = text.substr(0, text.find('\n'));
  const char separator = line.find('|') != std::string_view::npos ? '|' : ',';
  return SacctReader(sources, file, machine, separator, diagnostics).read();
}

}  // namespace weft::twin
