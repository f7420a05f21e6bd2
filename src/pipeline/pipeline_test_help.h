// Pipelines from text, for tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "pipeline/pipeline.h"

namespace weft::pipeline {

struct ReadPipeline {
  std::optional<Pipeline> pipeline;
  std::string messages;  // as a user reads them
};

inline ReadPipeline read_text(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("p.yaml", std::move(text));
  ReadPipeline out;
  out.pipeline = read_pipeline(sources, file, diagnostics);
  out.messages = render_all(diagnostics, sources, false);
  EXPECT_NE(out.pipeline.has_value(), diagnostics.has_errors());
  return out;
}

// The pipeline; a failure of the test if there is none.
inline Pipeline read_valid(std::string text) {
  ReadPipeline out = read_text(std::move(text));
  EXPECT_TRUE(out.pipeline.has_value()) << out.messages;
  return out.pipeline ? std::move(*out.pipeline) : Pipeline();
}

}  // namespace weft::pipeline
