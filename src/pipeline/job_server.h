// What a pipeline needs of a `weft serve`: submit a job, see how it is, cancel it, read its output. The seam between
// the runner and HTTP.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace weft::pipeline {

struct JobSubmission {
  std::string text;       // a job file or a manifest
  std::string name;       // for messages
  std::string directory;  // working directory
  std::string tenant;
  std::string key;  // the same key yields the same job
};

struct JobStatus {
  std::string state;   // as `weft job show` shows it
  std::string reason;  // of the state
  std::string nodes;
  std::int64_t attempt = 0;
  std::int64_t exit = 0;
  [[nodiscard]] bool ended() const { return state == "done" || state == "failed" || state == "canceled"; }
};

// Errors `unavailable`, `timeout` and `internal`: no answer, ask again. All others are the server's answer.
class JobServer {
 public:
  JobServer() = default;
  JobServer(const JobServer&) = delete;
  JobServer& operator=(const JobServer&) = delete;
  virtual ~JobServer() = default;

  [[nodiscard]] virtual Result<std::uint64_t> submit(const JobSubmission& submission) = 0;
  [[nodiscard]] virtual Result<JobStatus> job(std::uint64_t number) = 0;
  // `conflict`: it has already ended.
  [[nodiscard]] virtual Status cancel(std::uint64_t number, const std::string& reason) = 0;
  // Output of task 0 of the attempt, at most the last 4 MiB.
  [[nodiscard]] virtual Result<std::string> output(std::uint64_t number, std::int64_t attempt) = 0;
};

}  // namespace weft::pipeline
