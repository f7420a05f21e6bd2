// Bytes as a pipeline file or a Workflow. Any input must yield a pipeline whose graph is sound, or a list of
// diagnostics with an error; and the state of a run of it must be read back as it was written.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "pipeline/pipeline.h"
#include "pipeline/reference.h"
#include "pipeline/run_state.h"
#include "pipeline/runner.h"

namespace weft::pipeline {
namespace {

void check_pipeline(const Pipeline& pipeline) {
  CHECK(!pipeline.name.empty() && !pipeline.steps.empty(), "a pipeline has a name and steps");
  CHECK(pipeline.steps.size() <= kMaxSteps, "steps are bounded");
  for (const Step& step : pipeline.steps) {
    CHECK(pipeline.find(step.name) == &step, "names are unique");
    for (const std::string& need : step.needs) CHECK(pipeline.find(need) != nullptr, "needs exist");
    CHECK(step.job.is_map(), "a step has a job");
    const Result<Value> filled = fill_references(step.job, [&](const Reference& reference) -> Result<std::string> {
      if (reference.kind == Reference::Kind::output) CHECK(pipeline.find(reference.name) != nullptr, "the step exists");
      return std::string("x");
    });
    if (filled.ok()) (void)write_json(*filled);
  }
  const RunState run = new_run(pipeline);
  const std::string text = write_run_state(run);
  const Result<RunState> again = parse_run_state(text);
  CHECK(again.ok() && write_run_state(*again) == text, "a state is read back as it was written");
  CHECK(check_run(pipeline, *again).ok(), "it belongs to the pipeline");
}

void run_pipeline(std::string text) {
  (void)parse_run_state(text);
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("pipeline", std::move(text));
  const std::optional<Pipeline> pipeline = read_pipeline(sources, file, diagnostics);
  CHECK(pipeline.has_value() != diagnostics.has_errors(), "a file that is refused says why");
  if (pipeline) check_pipeline(*pipeline);
  (void)render_all(diagnostics, sources, true);
}

}  // namespace
}  // namespace weft::pipeline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::pipeline::run_pipeline(std::string(data, data + size));
  return 0;
}
