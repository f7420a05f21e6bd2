#include "cli/sim/sweep_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>

#include "base/hash.h"
#include "base/human_format.h"
#include "base/text.h"
#include "workload/sweep/results.h"

namespace weft::cli {
namespace {

// A list of one user's arrays is cheap, but slurmctld and API servers serve many users.
constexpr Duration kFirstPeriod = milliseconds(1'000);
constexpr Duration kLastPeriod = milliseconds(10'000);
constexpr int kMaxFailedReads = 5;

// Lines that were appended to a file since the last call, in time proportional to them.
class LineCounter {
 public:
  explicit LineCounter(std::string path) : path_(std::move(path)) { (void)added(); }

  std::uint64_t added() {
    std::ifstream file(path_, std::ios::binary);
    if (!file.seekg(offset_)) return 0;
    std::uint64_t lines = 0;
    std::string block(1U << 16U, '\0');
    do {
      file.read(block.data(), static_cast<std::streamsize>(block.size()));
      const auto end = block.begin() + file.gcount();
      const auto past =
          std::find(std::make_reverse_iterator(end), block.rend(), '\n').base();  // after the last newline
      lines += static_cast<std::uint64_t>(std::count(block.begin(), past, '\n'));
      // A line that is not complete yet is read again.
      offset_ += past - block.begin();
      if (past != end) break;
    } while (file);
    return lines;
  }

 private:
  std::string path_;
  std::streamoff offset_ = 0;
};

class ArrayRun {
 public:
  ArrayRun(SweepEngine& engine, const workload::Sweep& sweep, const std::string& results, const ArrayHooks& hooks)
      : engine_(engine),
        sweep_(sweep),
        results_(results),
        hooks_(hooks),
        name_(array_name(sweep, results)),
        counter_(results) {}

  Result<ArrayOutcome> run(bool again) {
    if (Status read = find_missing(again); !read.ok()) return read.error();
    progress_.points = sweep_.size();
    progress_.done = sweep_.size() - missing_.size();
    if (missing_.empty()) return ArrayOutcome{};
    if (Status begun = begin(again); !begun.ok()) return begun.error();
    if (!array_.empty() && !wait_for_end()) {
      outcome_.interrupted = true;
      return outcome_;
    }
    return end();
  }

 private:
  Status find_missing(bool again) {
    const Result<std::vector<workload::SweepRow>> rows = workload::load_sweep_rows(results_);
    if (!rows.ok()) return rows.error();
    missing_ = workload::missing_points(sweep_, *rows, again);
    wanted_ = {missing_.begin(), missing_.end()};
    return {};
  }

  // Finds the array of an earlier call, or submits one. Neither is needed if the earlier one has ended, and what it
  // printed was all that is missing.
  Status begin(bool again) {
    const Result<std::vector<SweepTask>> tasks = engine_.list(name_);
    if (!tasks.ok()) return tasks.error();
    // With `again`, what an earlier array printed is what is to be run again.
    const std::string problem = again ? engine_.outputs().problem : collect();
    if (!problem.empty()) return Error{ErrorCode::unavailable, problem, {}};
    if (fatal_) return *fatal_;
    if (has_collected_) {
      if (Status read = find_missing(again); !read.ok()) return read.error();
      if (missing_.empty()) return {};
    }
    std::set<std::string> live;
    for (const SweepTask& task : *tasks) {
      if (task.phase != SweepTask::Phase::ended)
        live.insert(task.array);
      else
        earlier_.insert({task.array, task.index});
    }
    if (!live.empty()) {
      array_ = *live.rbegin();
      hooks_.note(fmt::format("{} of an earlier call still runs this sweep: waiting for it", engine_.describe(array_)));
      return {};
    }
    const Result<std::string> submitted = engine_.submit(name_, missing_);
    if (!submitted.ok()) {
      if (submitted.error().code != ErrorCode::timeout) return submitted.error();
      return Error{ErrorCode::unavailable,
                   fmt::format("{}; the array may have been accepted: run the same command again, which finds it then",
                               submitted.error().text()),
                   {}};
    }
    array_ = *submitted;
    hooks_.note(fmt::format("submitted {} as {}", plural(missing_.size(), "point"), engine_.describe(array_)));
    return {};
  }

  // False: interrupted.
  bool wait_for_end() {
    Duration period = kFirstPeriod;
    for (;;) {
      if (!hooks_.wait(period)) {
        hooks_.note(fmt::format("{} continues; the same command waits for it again, {} ends it",
                                engine_.describe(array_), engine_.how_to_end(array_)));
        return false;
      }
      period = std::min(kLastPeriod, Duration(period.count() * 5 / 4));
      const Result<std::vector<SweepTask>> tasks = engine_.list(name_);
      const std::string problem = tasks.ok() ? collect() : tasks.error().text();
      if (fatal_) return true;
      note_answer(problem);
      if (!tasks.ok()) continue;
      count(*tasks);
      hooks_.progress(progress_);
      // What could not be read is lost after some tries: its points are missing then.
      const bool is_complete = problem.empty() || ++failed_reads_ > kMaxFailedReads;
      if (progress_.running + progress_.waiting == 0 && is_complete) return true;
    }
  }

  Result<ArrayOutcome> end() {
    if (fatal_) return *fatal_;
    if (Status read = find_missing(false); !read.ok()) return read.error();
    outcome_.missing = missing_.size();
    for (const auto& [task, state] : ends_) {
      if (!state.empty()) ++outcome_.ends[state];
    }
    // What failed is kept, so that its cause can be found.
    if (outcome_.missing > 0 || !outcome_.ends.empty()) return outcome_;
    if (const Status finished = engine_.finish(name_); !finished.ok()) hooks_.note(finished.error().text());
    return outcome_;
  }

  // Appends what tasks printed to the results. Lines that are not results of this sweep are other output of the task.
  // Why some could not be read; "": all was.
  std::string collect() {
    TaskOutputs outputs = engine_.outputs();
    for (const std::string& text : outputs.texts) {
      for (const std::string_view line : split_lines(text)) {
        const Result<std::vector<workload::SweepRow>> rows = workload::read_sweep_rows(name_, std::string(line) + "\n");
        if (!line.starts_with('{') || !rows.ok() || rows->size() != 1) continue;
        const workload::SweepRow& row = rows->front();
        if (row.index >= sweep_.size() || row.id != sweep_.id(row.index)) continue;
        if (wanted_.erase(row.index) == 0) continue;  // a pod that ran twice, or an earlier call
        const Status written = workload::append_sweep_row(results_, row);
        has_collected_ = true;
        if (!written.ok() && !fatal_) fatal_ = written.error();
      }
    }
    return std::move(outputs.problem);
  }

  void note_answer(const std::string& problem) {
    if (problem.empty() && !problem_.empty()) hooks_.note(fmt::format("{} answers again", engine_.label()));
    if (!problem.empty() && problem_.empty())
      hooks_.note(fmt::format("{} does not answer: {}; waiting", engine_.label(), problem));
    problem_ = problem;
  }

  void count(const std::vector<SweepTask>& tasks) {
    progress_.done = std::min(progress_.points, progress_.done + counter_.added());
    progress_.running = progress_.waiting = 0;
    std::string reason;
    for (const SweepTask& task : tasks) {
      if (task.phase == SweepTask::Phase::ended) {
        if (!earlier_.contains({task.array, task.index})) ends_[{task.array, task.index}] = task.end;
      } else if (task.phase == SweepTask::Phase::waiting) {
        ++progress_.waiting;
        if (!task.reason.empty()) reason = task.reason;
      } else {
        ++progress_.running;
      }
    }
    if (progress_.running > 0 || reason.empty() || reason == reason_) return;
    hooks_.note(fmt::format("no task runs; {}'s reason: {}", engine_.label(), reason));
    reason_ = reason;
  }

  SweepEngine& engine_;
  const workload::Sweep& sweep_;
  const std::string& results_;
  const ArrayHooks& hooks_;
  std::string name_;
  std::vector<std::uint64_t> missing_;
  std::set<std::uint64_t> wanted_;  // those of them that were not collected yet
  LineCounter counter_;
  ArrayProgress progress_;
  ArrayOutcome outcome_;
  std::set<std::pair<std::string, std::uint64_t>> earlier_;  // tasks that had ended before this call
  std::map<std::pair<std::string, std::uint64_t>, std::string> ends_;
  std::string array_;  // "": none is needed
  std::string problem_;
  std::string reason_;
  bool has_collected_ = false;
  std::optional<Error> fatal_;  // results cannot be written
  int failed_reads_ = 0;
};

}  // namespace

std::string array_name(const workload::Sweep& sweep, const std::string& results) {
  std::string text = fmt::format("{}\n{}\n", sweep.id(0), results);
  for (const workload::SweepAxis& axis : sweep.axes()) {
    text += axis.key;
    for (const std::string& value : axis.values) text += fmt::format("\n{}", value);
    text += "\n\n";
  }
  return "weft-sweep-" + sha256(text).substr(0, 12);
}

Result<ArrayOutcome> run_array(SweepEngine& engine, const workload::Sweep& sweep, const std::string& results,
                               bool again, const ArrayHooks& hooks) {
  return ArrayRun(engine, sweep, results, hooks).run(again);
}

}  // namespace weft::cli
