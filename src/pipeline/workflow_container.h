// The container or script of a Workflow's template, as a batch/v1 Job for `weft job submit`. Internal to pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/yaml.h"
#include "pipeline/builder.h"

namespace weft::pipeline {

struct ContainerUse {
  const YamlNode& node;
  bool script = false;
  // Notes the references of a text and rewrites them for the pipeline.
  std::function<std::string(const std::string& text, const SourceLocation& place)> rewrite;
};

// Sets job, GPUs and engine of the step. `deadline`: seconds; 0: none.
void read_container(PipelineBuilder& builder, const ContainerUse& use, std::int64_t deadline, Step& step);

}  // namespace weft::pipeline
