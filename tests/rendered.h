// A cluster file rendered for a test: an example of the repository, with edits, into memory or into a folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/test_places.h"
#include "base/yaml.h"
#include "model/load.h"
#include "render/core/memory_sink.h"

namespace weft::testing_rendered {

using Edits = std::vector<std::pair<std::string, std::string>>;

inline std::string source_path(const std::string& relative) { return source_dir() + "/" + relative; }
inline std::string test_data_path(const std::string& relative) { return test_data_dir() + "/" + relative; }

struct Rendering {
  std::unique_ptr<model::Loaded> loaded;
  std::unique_ptr<render::RenderPlan> plan;
  render::RenderOptions options;
  std::vector<model::JobSpec> jobs;
  render::MemorySink sink;

  [[nodiscard]] const model::Cluster& cluster() const { return *loaded->cluster; }
  [[nodiscard]] render::RenderInput input() const { return {*loaded->cluster, *plan, options, jobs}; }
  // Renders a target or a group; does nothing if it does not apply.
  void render(std::string_view name) {
    const auto targets = render::find_targets(name);
    ASSERT_FALSE(targets.empty()) << name;
    for (const render::RenderTarget* target : targets) {
      if (target->applies(input())) target->render(input(), sink);
    }
  }
  void add_job(const std::string& text) {
    const FileId file = loaded->sources.add("job.yaml", text);
    const auto root = parse_yaml(loaded->sources, file, loaded->diagnostics);
    ASSERT_TRUE(root.has_value()) << render_all(loaded->diagnostics, loaded->sources, false);
    auto job = model::read_job(*root, loaded->diagnostics);
    ASSERT_TRUE(job.has_value()) << render_all(loaded->diagnostics, loaded->sources, false);
    model::resolve(*job, cluster(), loaded->diagnostics);
    ASSERT_FALSE(loaded->diagnostics.has_errors()) << render_all(loaded->diagnostics, loaded->sources, false);
    jobs.push_back(std::move(*job));
  }
  void write_to(const std::filesystem::path& folder) const {
    for (const auto& [path, file] : sink.files) {
      std::filesystem::create_directories((folder / path).parent_path());
      ASSERT_TRUE(write_file((folder / path).string(), file.content).ok());
    }
  }
};

// A cluster from text.
inline std::unique_ptr<Rendering> load_rendering(const std::string& text) {
  auto rendering = std::make_unique<Rendering>();
  rendering->loaded = model::load_cluster_text("cluster.yaml", text);
  EXPECT_NE(rendering->loaded->cluster, nullptr)
      << render_all(rendering->loaded->diagnostics, rendering->loaded->sources, false);
  if (rendering->loaded->cluster == nullptr) return nullptr;
  rendering->plan = std::make_unique<render::RenderPlan>(rendering->cluster());
  return rendering;
}

// examples/NAME with each first text, which must occur, replaced by the second.
inline std::unique_ptr<Rendering> load_example(const std::string& name, const Edits& edits = {}) {
  auto text = read_file(source_path("examples/" + name));
  EXPECT_TRUE(text.ok());
  std::string edited = text.value_or("");
  for (const auto& [from, to] : edits) {
    const std::size_t at = edited.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) edited.replace(at, from.size(), to);
  }
  return load_rendering(edited);
}

}  // namespace weft::testing_rendered
