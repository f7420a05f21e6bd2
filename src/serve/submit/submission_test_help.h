// A submission to an example cluster, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/test_places.h"
#include "model/load.h"
#include "serve/submit/submission.h"

namespace weft::serve {

struct ExampleCluster {
  std::unique_ptr<model::Loaded> loaded;
  std::optional<sched::Machine> machine;
};

inline ExampleCluster load_example(std::string text) {
  ExampleCluster out;
  out.loaded = model::load_cluster_text("cluster.yaml", std::move(text));
  CHECK(out.loaded->cluster != nullptr, "the example compiles");
  Result<sched::Machine> machine = sched::Machine::of(*out.loaded->cluster);
  CHECK(machine.ok(), "the example has servers");
  out.machine = std::move(machine).value();
  return out;
}

inline const ExampleCluster& pod16() {
  static const ExampleCluster cluster = [] {
    const Result<std::string> text = read_file(source_dir() + "/examples/pod16.yaml");
    CHECK(text.ok(), "the example is there");
    return load_example(*text);
  }();
  return cluster;
}

struct Submitted {
  std::optional<control::JobSpec> spec;
  std::string messages;  // as a user reads them
  std::size_t errors = 0;
  std::size_t warnings = 0;

  // The job; a failure of the test if there is none.
  [[nodiscard]] const control::JobSpec& job() const {
    static const control::JobSpec none;
    if (spec) return *spec;
    ADD_FAILURE() << messages;
    return none;
  }
  [[nodiscard]] std::string variable(std::string_view name) const {
    for (const auto& [key, value] : job().environment) {
      if (key == name) return value;
    }
    return "(unset)";
  }
};

inline Submitted submit(std::string text, std::string name = "job.txt", std::string tenant = {},
                        const ExampleCluster& cluster = pod16(), ContainerRuntime containers = ContainerRuntime::none) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(std::move(name), std::move(text));
  const Submitter submitter{1000, 100, "ada", "/home/ada/run", std::move(tenant), containers, {}};
  Submitted out;
  out.spec = read_submission(sources, file, *cluster.loaded->cluster, *cluster.machine, submitter, diagnostics);
  out.messages = render_all(diagnostics, sources, false);
  out.errors = diagnostics.error_count();
  out.warnings = diagnostics.warning_count();
  EXPECT_EQ(out.spec.has_value(), out.errors == 0) << out.messages;
  if (out.spec) {
    EXPECT_EQ(sched::problem_of(out.spec->shape), "");
  }
  return out;
}

// To an engine that runs jobs in containers.
inline Submitted submit_to_containers(std::string text) {
  return submit(std::move(text), "job.txt", {}, pod16(), ContainerRuntime::kubernetes);
}

// A file that is refused, and where: "job.txt:3:9: error: ... part".
struct RefusedFile {
  const char* what;
  std::string text;
  std::string place;  // "3:9"
  std::string part;   // of the message
};

inline std::ostream& operator<<(std::ostream& out, const RefusedFile& file) { return out << file.what; }

inline void expect_refused(const RefusedFile& file) {
  const Submitted out = submit(file.text);
  ASSERT_FALSE(out.spec.has_value()) << file.text;
  const std::size_t start = out.messages.find("job.txt:" + file.place + ": error: ");
  ASSERT_NE(start, std::string::npos) << file.place << "\n" << out.messages;
  EXPECT_NE(out.messages.find(file.part), std::string::npos) << file.part << "\n" << out.messages;
}

}  // namespace weft::serve
