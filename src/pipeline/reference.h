// References of a pipeline: {{parameters.NAME}}, {{steps.STEP.outputs.NAME}}, {{pipeline.name}}, {{pipeline.run}}.
// A text is parsed into literal pieces and references; values are filled in when a step is submitted, as text that is
// not searched for references again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace weft::pipeline {

struct Reference {
  enum class Kind : std::uint8_t { parameter, output, pipeline_name, run_name, token };
  Kind kind = Kind::parameter;
  std::string name;    // of the parameter or the step
  std::string output;  // "result", or the name of an output file
};

// The result of a step whose name is not that of an output file.
inline constexpr std::string_view kResult = "result";
// Names the lines of a job's output that carry output files; filled in by the runner. Not for users.
inline constexpr std::string_view kTokenReference = "{{pipeline.token}}";

// "{{steps.train.outputs.result}}"
[[nodiscard]] std::string output_reference(std::string_view step, std::string_view output);

struct TextPiece {
  std::string literal;     // used if `expression` is empty
  std::string expression;  // between {{ and }}, trimmed
};
// Error: {{ without }}, or nothing between them.
[[nodiscard]] Result<std::vector<TextPiece>> split_text(std::string_view text);
[[nodiscard]] Result<Reference> parse_reference(std::string_view expression);
// The references of a text.
[[nodiscard]] Result<std::vector<Reference>> find_references(std::string_view text);

using Resolver = std::function<Result<std::string>(const Reference&)>;
// Fills in the references of every text. The value is the same otherwise; keys of maps are not searched.
[[nodiscard]] Result<Value> fill_references(const Value& value, const Resolver& resolver);

}  // namespace weft::pipeline
