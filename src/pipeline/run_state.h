// State of one run of a pipeline: which steps have been submitted as which jobs, how they ended, and what they
// returned. Written to a file before and after each submission, so that a killed run continues without submitting a job
// twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pipeline/pipeline.h"

namespace weft::pipeline {

enum class StepState : std::uint8_t {
  waiting,     // for steps that it needs, or for its next try
  submitting,  // the submission may or may not have been accepted
  submitted,   // its job has a number and has not ended
  done,
  failed,
  canceled,
  skipped  // a step that it needs did not succeed
};
[[nodiscard]] std::string_view to_text(StepState state);
[[nodiscard]] constexpr bool is_final(StepState state) { return state >= StepState::done; }

struct StepRun {
  StepState state = StepState::waiting;
  std::int32_t tries = 0;       // that have been submitted, or are about to be
  std::uint64_t job = 0;        // of the last try; 0: none
  std::string job_state;        // as the server last showed it
  std::string reason;           // of the last change
  std::int64_t not_before = 0;  // of the next try: milliseconds since 1970
  bool cancel = false;          // asked for
  bool cancel_sent = false;
  std::map<std::string, std::string> outputs;
};

struct RunState {
  std::string name;       // of the run: nightly-3
  std::string token;      // random: part of the idempotency keys, so that no other run has the same
  std::string file;       // name of the pipeline's file, for messages
  std::string text;       // its content: the run does not change with the file
  std::string directory;  // working directory of the jobs
  std::string tenant;     // takes precedence over the jobs'; "": theirs
  std::int64_t started = 0;
  std::map<std::string, std::string> parameters;       // values given for this run
  std::map<StepEngine, std::string> sockets;           // of the servers
  std::vector<std::pair<std::string, StepRun>> steps;  // in the order of the pipeline

  [[nodiscard]] StepRun* find(std::string_view step);
  [[nodiscard]] const StepRun* find(std::string_view step) const;
  [[nodiscard]] bool ended() const;
  // The idempotency key of a try. By the step's position: a server's keys are short, names of nested steps are not.
  [[nodiscard]] std::string key_of(std::string_view step, std::int32_t one_try) const;
};

// One JSON document; parse_run_state() of it is an equal state. An error names what is wrong with it.
[[nodiscard]] std::string write_run_state(const RunState& state);
[[nodiscard]] Result<RunState> parse_run_state(std::string_view text);

}  // namespace weft::pipeline
