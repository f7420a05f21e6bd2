// What the readers of pipeline files share: fields of a mapping, texts with references, the command that also prints
// output files, and the checks of the whole graph. Internal to pipeline.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/yaml.h"
#include "pipeline/pipeline.h"
#include "pipeline/reference.h"

namespace weft::pipeline {

class PipelineBuilder {
 public:
  explicit PipelineBuilder(Diagnostics& diagnostics)
      : diagnostics_(diagnostics), errors_before_(diagnostics.error_count()) {}

  [[nodiscard]] Pipeline& pipeline() { return pipeline_; }
  [[nodiscard]] bool failed() const { return diagnostics_.error_count() > errors_before_; }
  void error(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1) {
    diagnostics_.error(place, std::move(message), std::move(hint), length);
  }

  // Whether it is a mapping; reports keys other than these. `refused`: known to the format, and not supported.
  bool check_keys(const YamlNode& node, std::string_view what, const std::vector<std::string_view>& keys,
                  bool others_unsupported = false);
  // Items of a sequence; empty after an error, or if it is absent.
  [[nodiscard]] const std::vector<YamlNode>& items(const YamlNode* node, std::string_view what);
  // A text that is not empty; nullopt after an error, or if it is absent.
  [[nodiscard]] std::optional<std::string> text(const YamlNode* node, std::string_view what);
  [[nodiscard]] std::optional<std::int64_t> count(const YamlNode* node, std::string_view what, std::int64_t low,
                                                  std::int64_t high);
  [[nodiscard]] std::optional<Duration> time(const YamlNode* node, std::string_view what);
  // A name of a pipeline, a parameter, a step or an output: letters, digits, - and _, at most 63.
  [[nodiscard]] std::optional<std::string> name(const YamlNode* node, std::string_view what);

  bool check_output_path(std::string_view path, const SourceLocation& place);
  // Notes the references of a text that the step being read uses.
  void use_text(std::string_view text, const SourceLocation& place);
  // The step that is read now; its references are those noted since the step before. False: too many steps.
  bool add_step(Step step);

  // Checks names, needs, cycles and references; nullopt after errors.
  [[nodiscard]] std::optional<Pipeline> finish();

 private:
  struct Use {
    std::size_t step = 0;
    Reference reference;
    SourceLocation place;
  };
  void check_graph();
  void check_reference(const Use& use, const std::vector<std::vector<bool>>& before);
  // Steps in an order in which all needs come first; empty after reporting a cycle.
  [[nodiscard]] std::vector<std::size_t> order();
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view step) const;

  Diagnostics& diagnostics_;
  std::size_t errors_before_;
  Pipeline pipeline_;
  std::vector<Use> uses_;
};

// A scalar or container of a file as a value: plain integers and booleans keep their type, all others are text.
[[nodiscard]] Value to_value(const YamlNode& node);
// The name of a step's job: lower-case letters, digits and hyphens, at most 48.
[[nodiscard]] std::string job_name(std::string_view pipeline, std::string_view step);
// A command that runs `words` and then prints the output files.
[[nodiscard]] std::vector<std::string> with_outputs(const std::vector<std::string>& words,
                                                    const std::vector<OutputFile>& outputs);

// The formats; errors go to the builder.
void read_pipeline_file(const YamlNode& root, PipelineBuilder& builder, Diagnostics& diagnostics);
void read_workflow(const YamlNode& root, PipelineBuilder& builder);

}  // namespace weft::pipeline
