// Runs the missing points of a sweep as a job array of an engine, and waits for it. The results file is what counts: an
// array of an earlier call is found by its name and waited for, and points without a result are submitted again by the
// next call. Nothing is concluded from a list that failed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "workload/sweep/sweep.h"

namespace weft::cli {

struct SweepTask {
  enum class Phase : std::uint8_t { waiting, running, ended };
  std::string array;  // that it belongs to, as the engine names it
  std::uint64_t index = 0;
  Phase phase = Phase::waiting;
  std::string end;     // how it ended, as the engine names it; "": as it should
  std::string reason;  // why it waits
};

struct TaskOutputs {
  std::vector<std::string> texts;
  std::string problem;  // why some could not be read; the next call tries again
};

// Where the tasks of an array run.
class SweepEngine {
 public:
  SweepEngine() = default;
  SweepEngine(const SweepEngine&) = delete;
  SweepEngine& operator=(const SweepEngine&) = delete;
  SweepEngine(SweepEngine&&) = delete;
  SweepEngine& operator=(SweepEngine&&) = delete;
  virtual ~SweepEngine() = default;

  [[nodiscard]] virtual std::string_view label() const = 0;                          // "Slurm"
  [[nodiscard]] virtual std::string describe(const std::string& array) const = 0;    // "Slurm job 17"
  [[nodiscard]] virtual std::string how_to_end(const std::string& array) const = 0;  // "`scancel 17`"

  // Tasks of the arrays of this name, those that ended a short time ago too. An error says nothing about them.
  [[nodiscard]] virtual Result<std::vector<SweepTask>> list(const std::string& name) = 0;
  // Runs these points, and returns the array. After `timeout` it may exist.
  [[nodiscard]] virtual Result<std::string> submit(const std::string& name,
                                                   const std::vector<std::uint64_t>& missing) = 0;
  // What those tasks of the last list printed that ended as they should, each once. Empty where tasks write to the
  // results file themselves.
  [[nodiscard]] virtual TaskOutputs outputs() = 0;
  // Every task of the arrays of this name has ended, and every point has its result.
  [[nodiscard]] virtual Status finish(const std::string& name) = 0;
};

struct ArrayProgress {
  std::uint64_t done = 0;  // points with a result
  std::uint64_t points = 0;
  std::uint64_t running = 0;  // tasks
  std::uint64_t waiting = 0;
};

struct ArrayHooks {
  std::function<void(const std::string&)> note;        // what the user should know
  std::function<void(const ArrayProgress&)> progress;  // after every list
  std::function<bool(Duration)> wait;                  // false: the user interrupts
};

struct ArrayOutcome {
  bool interrupted = false;
  std::uint64_t missing = 0;                  // points without a result although no task runs
  std::map<std::string, std::uint64_t> ends;  // tasks by final state, without those that ended as they should
};

// Name of the arrays of this sweep with this results file.
[[nodiscard]] std::string array_name(const workload::Sweep& sweep, const std::string& results);

// With `again`, points that failed are run again.
[[nodiscard]] Result<ArrayOutcome> run_array(SweepEngine& engine, const workload::Sweep& sweep,
                                             const std::string& results, bool again, const ArrayHooks& hooks);

}  // namespace weft::cli
