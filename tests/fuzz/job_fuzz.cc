// Bytes as a job file, parsed and resolved against an example cluster, then rendered in every form. Any input must
// yield a job or a list of diagnostics; a valid job renders, and its YAML can be parsed again.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "base/test_places.h"
#include "base/yaml.h"
#include "model/load.h"
#include "render/core/memory_sink.h"

namespace weft {
namespace {

const model::Loaded& pod16() {
  static const std::unique_ptr<model::Loaded> loaded = [] {
    auto text = read_file(source_dir() + "/examples/pod16.yaml");
    CHECK(text.ok(), "the example is there");
    auto out = model::load_cluster_text("pod16.yaml", text.value_or(""));
    CHECK(out->cluster != nullptr, "the example compiles");
    return out;
  }();
  return *loaded;
}

void check_rendering(const model::JobSpec& job) {
  const model::Cluster& cluster = *pod16().cluster;
  static const render::RenderPlan plan(cluster);
  const render::RenderOptions options;
  render::MemorySink sink;
  const render::RenderInput input{cluster, plan, options, {&job, 1}};
  for (const char* name : {"kubernetes/training", "slurm"}) {
    for (const render::RenderTarget* target : render::find_targets(name)) {
      if (target->applies(input)) target->render(input, sink);
    }
  }
  for (const auto& [path, file] : sink.files) {
    if (!path.ends_with(".yaml")) continue;
    Sources sources;
    Diagnostics diagnostics;
    const auto documents = parse_yaml_stream(sources, sources.add(path, file.content), diagnostics);
    CHECK(!documents.empty() && !diagnostics.has_errors(), "what is rendered can be read");
  }
}

void run_job(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("job.yaml", std::move(text));
  const auto root = parse_yaml(sources, file, diagnostics);
  CHECK(root.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  if (root) {
    std::optional<model::JobSpec> job = model::read_job(*root, diagnostics);
    CHECK(job.has_value() != diagnostics.has_errors(), "a file without a job says why");
    if (job) {
      model::resolve(*job, *pod16().cluster, diagnostics);
      if (!diagnostics.has_errors()) check_rendering(*job);
    }
  }
  (void)render_all(diagnostics, sources, true);
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::run_job(std::string(data, data + size));
  return 0;
}
