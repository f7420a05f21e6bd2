// Bytes as a submission to an example cluster, in the format that they look like. Any input must yield a valid job or a
// list of diagnostics with an error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "base/test_places.h"
#include "model/load.h"
#include "sched/machine/job.h"
#include "sched/machine/machine.h"
#include "serve/submit/submission.h"

namespace weft::serve {
namespace {

struct Example {
  std::unique_ptr<model::Loaded> loaded;
  std::optional<sched::Machine> machine;
};

const Example& pod16() {
  static const Example example = [] {
    Result<std::string> text = read_file(source_dir() + "/examples/pod16.yaml");
    CHECK(text.ok(), "the example is there");
    Example out;
    out.loaded = model::load_cluster_text("pod16.yaml", *text);
    CHECK(out.loaded->cluster != nullptr, "the example compiles");
    Result<sched::Machine> machine = sched::Machine::of(*out.loaded->cluster);
    CHECK(machine.ok(), "the example has servers");
    out.machine = std::move(machine).value();
    return out;
  }();
  return example;
}

void check_job(const control::JobSpec& spec) {
  CHECK(sched::problem_of(spec.shape).empty(), "a job that was read is right in itself");
  CHECK(!spec.command.empty() && !spec.command.front().empty(), "a job has a program");
  CHECK(!spec.shape.name.empty() && spec.directory.starts_with("/"), "a job has a name and a directory");
  CHECK(spec.output.empty() || spec.output.starts_with("/"), "the log has an absolute path");
  CHECK(spec.environment.size() <= kMaxVariables, "variables are bounded");
  for (const std::string& word : spec.command) CHECK(word.find('\0') == std::string::npos, "arguments have no NUL");
  for (const auto& [name, value] : spec.environment) {
    CHECK(!name.empty() && name.find('=') == std::string::npos, "variables have names");
    CHECK(value.find('\0') == std::string::npos, "values have no NUL");
  }
}

void run_submission(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("submission", std::move(text));
  const Submitter submitter{1000, 1000, "ada", "/home/ada", {}};
  const std::optional<control::JobSpec> spec =
      read_submission(sources, file, *pod16().loaded->cluster, *pod16().machine, submitter, diagnostics);
  CHECK(spec.has_value() != diagnostics.has_errors(), "a file that is refused says why");
  if (spec) check_job(*spec);
  (void)render_all(diagnostics, sources, true);
}

}  // namespace
}  // namespace weft::serve

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::serve::run_submission(std::string(data, data + size));
  return 0;
}
