#include "cli/sim/sweep_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/hash.h"
#include "base/human_format.h"
#include "workload/sweep/results.h"

namespace weft::cli {
namespace {

// squeue of one user's arrays is cheap, but slurmctld serves many users.
constexpr Duration kFirstPeriod = milliseconds(1'000);
constexpr Duration kLastPeriod = milliseconds(10'000);

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
  ArrayRun(world::JobArrays& engine, const workload::Sweep& sweep, workload::SlurmSweep plan,
           const std::string& results, const ArrayHooks& hooks)
      : engine_(engine), sweep_(sweep), plan_(std::move(plan)), results_(results), hooks_(hooks), counter_(results) {}

  Result<ArrayOutcome> run(bool again) {
    Result<std::vector<std::uint64_t>> missing = missing_points(again);
    if (!missing.ok()) return missing.error();
    plan_.missing = std::move(*missing);
    progress_.points = sweep_.size();
    progress_.done = sweep_.size() - plan_.missing.size();
    if (plan_.missing.empty()) return ArrayOutcome{};
    if (Status begun = begin(); !begun.ok()) return begun.error();
    if (!wait_for_end()) {
      outcome_.interrupted = true;
      return outcome_;
    }
    missing = missing_points(false);
    if (!missing.ok()) return missing.error();
    outcome_.missing = missing->size();
    for (const auto& [task, state] : ends_) {
      if (state != "COMPLETED") ++outcome_.ends[state];
    }
    return outcome_;
  }

 private:
  Result<std::vector<std::uint64_t>> missing_points(bool again) const {
    const Result<std::vector<workload::SweepRow>> rows = workload::load_sweep_rows(results_);
    if (!rows.ok()) return rows.error();
    return workload::missing_points(sweep_, *rows, again);
  }

  // Finds the array of an earlier call, or submits one.
  Status begin() {
    const Result<std::vector<world::ArrayTask>> tasks = engine_.list(plan_.name);
    if (!tasks.ok()) return tasks.error();
    std::set<std::uint32_t> live;
    for (const world::ArrayTask& task : *tasks) {
      if (task.is_live())
        live.insert(task.job);
      else
        earlier_.insert({task.job, task.index});
    }
    if (!live.empty()) {
      job_ = *live.rbegin();
      hooks_.note(fmt::format("Slurm job {} of an earlier call still runs this sweep: waiting for it", job_));
      return {};
    }
    const Result<std::uint32_t> submitted = engine_.submit(workload::slurm_sweep_script(plan_));
    if (!submitted.ok()) {
      if (submitted.error().code != ErrorCode::timeout) return submitted.error();
      return Error{ErrorCode::unavailable,
                   fmt::format("{}; the array may have been accepted: run the same command again, which finds it then",
                               submitted.error().text()),
                   {}};
    }
    job_ = *submitted;
    hooks_.note(fmt::format("submitted {} as Slurm job {}", plural(plan_.missing.size(), "point"), job_));
    return {};
  }

  // False: interrupted.
  bool wait_for_end() {
    Duration period = kFirstPeriod;
    for (;;) {
      if (!hooks_.wait(period)) {
        hooks_.note(fmt::format("Slurm job {} continues; the same command waits for it again, `scancel {}` ends it",
                                job_, job_));
        return false;
      }
      period = std::min(kLastPeriod, Duration(period.count() * 5 / 4));
      const Result<std::vector<world::ArrayTask>> tasks = engine_.list(plan_.name);
      note_answer(tasks.ok() ? std::string() : tasks.error().text());
      if (!tasks.ok()) continue;
      count(*tasks);
      hooks_.progress(progress_);
      if (progress_.running + progress_.waiting == 0) return true;
    }
  }

  void note_answer(const std::string& problem) {
    if (problem.empty() && !problem_.empty()) hooks_.note("Slurm answers again");
    if (!problem.empty() && problem_.empty()) hooks_.note(fmt::format("Slurm does not answer: {}; waiting", problem));
    problem_ = problem;
  }

  void count(const std::vector<world::ArrayTask>& tasks) {
    progress_.done = std::min(progress_.points, progress_.done + counter_.added());
    progress_.running = progress_.waiting = 0;
    std::string reason;
    for (const world::ArrayTask& task : tasks) {
      if (!task.is_live()) {
        if (!earlier_.contains({task.job, task.index})) ends_[{task.job, task.index}] = task.state;
      } else if (task.state == "PENDING") {
        ++progress_.waiting;
        reason = task.reason;
      } else {
        ++progress_.running;
      }
    }
    if (progress_.running > 0 || progress_.waiting == 0 || reason == reason_) return;
    hooks_.note(fmt::format("no task runs; Slurm's reason: {}", reason));
    reason_ = reason;
  }

  world::JobArrays& engine_;
  const workload::Sweep& sweep_;
  workload::SlurmSweep plan_;
  const std::string& results_;
  const ArrayHooks& hooks_;
  LineCounter counter_;
  ArrayProgress progress_;
  ArrayOutcome outcome_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> earlier_;  // tasks that had ended before this call
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> ends_;
  std::uint32_t job_ = 0;
  std::string problem_;
  std::string reason_;
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

Result<ArrayOutcome> run_array(world::JobArrays& engine, const workload::Sweep& sweep, workload::SlurmSweep plan,
                               const std::string& results, bool again, const ArrayHooks& hooks) {
  plan.name = array_name(sweep, results);
  plan.points = sweep.size();
  return ArrayRun(engine, sweep, std::move(plan), results, hooks).run(again);
}

}  // namespace weft::cli
