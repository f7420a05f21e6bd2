// Pipeline: a DAG of steps, each a job on Kubernetes or Slurm, as read from a weft pipeline file or from an Argo-style
// Workflow. Immutable after reading; how far a run of it has come is in run_state.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/quantity.h"
#include "base/source.h"
#include "base/value.h"

namespace weft::pipeline {

// What runs a step: an engine of `weft serve`.
enum class StepEngine : std::uint8_t { kubernetes, slurm, local };
[[nodiscard]] std::string_view to_text(StepEngine engine);
[[nodiscard]] std::optional<StepEngine> find_engine(std::string_view name);

// A small file that the step writes; later steps use its content.
struct OutputFile {
  std::string name;
  std::string path;  // in the file system of task 0
};

struct Step {
  std::string name;
  SourceLocation place;
  std::vector<std::string> needs;  // steps that must be done before
  StepEngine engine = StepEngine::kubernetes;
  bool engine_given = false;  // by the file, not by the number of GPUs
  std::int64_t gpus = 0;      // per node
  std::int32_t retries = 0;   // after the first try
  Duration retry_delay = milliseconds(10'000);
  std::vector<OutputFile> outputs;
  // The job to submit: a weft job file or a batch/v1 Job. Its texts may contain references (reference.h).
  Value job;
  bool dollars_expand = false;  // in its texts, $(NAME) is a variable and $$ is $, as in Kubernetes
  bool whole_result = false;    // `outputs.result` is all of its output, not the last line
  bool result_used = false;     // by another step
};

// What happens to steps that do not need a step that failed; those that need it are skipped.
enum class FailurePolicy : std::uint8_t {
  proceed,  // they go on
  finish,   // those that have started go on, no others start
  stop      // they are canceled
};

struct Pipeline {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  // with their defaults
  FailurePolicy on_failure = FailurePolicy::proceed;
  std::int64_t parallelism = 0;  // steps at a time; 0: no limit
  std::vector<Step> steps;

  [[nodiscard]] const Step* find(std::string_view step) const;
};

inline constexpr std::size_t kMaxPipelineBytes = 1U << 20U;
inline constexpr std::size_t kMaxSteps = 1000;
inline constexpr std::size_t kMaxText = 64U << 10U;    // bytes of a text, with values filled in
inline constexpr std::size_t kMaxOutput = 32U << 10U;  // bytes of an output

// Reads a weft pipeline file, or a Workflow (apiVersion argoproj.io/v1alpha1). Reports every error, with its location;
// nullopt if there is one. What is not supported is an error.
[[nodiscard]] std::optional<Pipeline> read_pipeline(const Sources& sources, FileId file, Diagnostics& diagnostics);

}  // namespace weft::pipeline
