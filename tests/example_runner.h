// Runs all rules over the example files, with one of them changed. Shared by rule tests and mutation tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/test_places.h"
#include "check/core/checker.h"
#include "model/load.h"

namespace weft::examples {

namespace fs = std::filesystem;

inline const fs::path kFolder = fs::path(source_dir()) / "examples";

// The cluster and the folder of configuration that belong to an example file.
struct Set {
  std::string cluster;
  std::string folder;  // "" if none
};

inline Set set_of(std::string_view file) {
  if (file.starts_with("running-nexus/")) return {"nexus8.yaml", "running-nexus"};
  if (file.starts_with("running/")) return {"pod16.yaml", "running"};
  if (file.starts_with("rendered/")) return {"pod16.yaml", "rendered"};
  return {std::string(file), ""};
}

inline const std::string& text_of(const std::string& file) {
  static std::map<std::string, std::string> texts;
  const auto found = texts.find(file);
  if (found != texts.end()) return found->second;
  const Result<std::string> text = read_file((kFolder / file).string());
  EXPECT_TRUE(text.ok()) << file;
  return texts[file] = text.ok() ? *text : std::string();
}

inline std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder / folder, missing)) {
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(kFolder).generic_string());
  }
  EXPECT_FALSE(missing) << folder;
  std::sort(files.begin(), files.end());
  return files;
}

struct Edit {
  std::string file;  // below examples/; "" if unchanged
  std::string text;
};

struct Outcome {
  bool compiled = false;
  std::string problems;            // errors and warnings about the files themselves
  std::vector<std::string> found;  // "QO001: message @ file:line:column"
};

inline Outcome check(const Set& set, const Edit& edit) {
  const auto content = [&](const std::string& file) { return file == edit.file ? edit.text : text_of(file); };
  const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text(set.cluster, content(set.cluster));
  config::ConfigSet config;
  config::ConfigSet::Tree tree;
  if (set.folder == "rendered") {
    tree.folder = "rendered/";
    tree.manifest = loaded->sources.add("rendered/manifest.json", content("rendered/manifest.json"));
  }
  if (!set.folder.empty()) {
    for (const std::string& file : files_in(set.folder)) {
      config::read_config_text(file, content(file), loaded->sources, config, config.problems, {},
                               tree.manifest != 0 ? &tree : nullptr);
    }
  }
  if (tree.manifest != 0) config.trees.push_back(std::move(tree));
  Outcome outcome;
  outcome.compiled = loaded->cluster != nullptr;
  if (loaded->diagnostics.error_count() + loaded->diagnostics.warning_count() > 0 || !outcome.compiled) {
    outcome.problems = render_all(loaded->diagnostics, loaded->sources, false) +
                       (loaded->read_error ? loaded->read_error->text() : std::string());
  }
  if (!outcome.compiled) return outcome;
  const check::CheckInput input(loaded->cluster.get(), config, loaded->sources, !set.folder.empty());
  check::CheckOptions options;
  options.today = "2026-11-15";
  for (const check::Finding& finding : check::run_checks(input, options).findings) {
    outcome.found.push_back(std::string(finding.rule->id) + ": " + finding.message + " @ " +
                            loaded->sources.describe(finding.place));
  }
  return outcome;
}

}  // namespace weft::examples
