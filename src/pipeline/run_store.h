// Folder of pipeline runs: one folder per run with its state, a lock that the process which continues the run holds,
// and requests to cancel, which other processes leave there. Every write is atomic and durable.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "pipeline/run_state.h"

namespace weft::pipeline {

// Where a run is kept while it is continued.
class RunKeeper {
 public:
  RunKeeper() = default;
  RunKeeper(const RunKeeper&) = delete;
  RunKeeper& operator=(const RunKeeper&) = delete;
  virtual ~RunKeeper() = default;

  [[nodiscard]] virtual Status save(const RunState& state) = 0;
  // Steps that are to be canceled; "*": all.
  [[nodiscard]] virtual Result<std::set<std::string>> cancel_requests() = 0;
};

class RunStore {
 public:
  explicit RunStore(std::string folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::string& folder() const { return folder_; }
  // Names of the runs, in alphabetical order. A folder that does not exist has none; one that cannot be read is an
  // error.
  [[nodiscard]] Result<std::vector<std::string>> list() const;
  [[nodiscard]] Result<RunState> load(const std::string& run) const;
  // Creates NAME-N with the first free N; sets its name and token.
  [[nodiscard]] Status create(RunState& state, const std::string& pipeline) const;
  // Adds steps to cancel.
  [[nodiscard]] Status request_cancel(const std::string& run, const std::set<std::string>& steps) const;
  [[nodiscard]] Result<std::set<std::string>> cancel_requests(const std::string& run) const;
  [[nodiscard]] Status save(const RunState& state) const;
  // The lock of the run, until it is closed; `conflict` if another process continues it.
  [[nodiscard]] Result<FileDescriptor> lock(const std::string& run) const;

 private:
  [[nodiscard]] std::string path(const std::string& run, const char* file) const;

  std::string folder_;
};

// A run of a store.
class StoredRun final : public RunKeeper {
 public:
  StoredRun(const RunStore& store, std::string run) : store_(store), run_(std::move(run)) {}
  [[nodiscard]] Status save(const RunState& state) override { return store_.save(state); }
  [[nodiscard]] Result<std::set<std::string>> cancel_requests() override { return store_.cancel_requests(run_); }

 private:
  const RunStore& store_;
  std::string run_;
};

}  // namespace weft::pipeline
