#include "pipeline/reference.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "pipeline/pipeline.h"

namespace weft::pipeline {
namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";
constexpr std::string_view kOutputs = ".outputs.";

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

Result<std::string> fill_text(std::string_view text, const Resolver& resolver) {
  Result<std::vector<TextPiece>> pieces = split_text(text);
  if (!pieces.ok()) return pieces.error();
  std::string out;
  for (const TextPiece& piece : *pieces) {
    if (piece.expression.empty()) {
      out += piece.literal;
      continue;
    }
    const Result<Reference> reference = parse_reference(piece.expression);
    if (!reference.ok()) return reference.error();
    Result<std::string> value = resolver(*reference);
    if (!value.ok()) return value;
    out += *value;
  }
  if (out.size() > kMaxText) return invalid(fmt::format("a text has {} bytes with its values filled in", out.size()));
  return out;
}

}  // namespace

std::string output_reference(std::string_view step, std::string_view output) {
  return fmt::format("{{{{steps.{}.outputs.{}}}}}", step, output);
}

Result<std::vector<TextPiece>> split_text(std::string_view text) {
  std::vector<TextPiece> pieces;
  while (!text.empty()) {
    const std::size_t open = text.find(kOpen);
    if (open != 0) pieces.push_back({std::string(text.substr(0, open)), {}});
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find(kClose, open);
    if (close == std::string_view::npos) return invalid("`{{` without `}}`");
    const std::string_view inner = trim(text.substr(open + kOpen.size(), close - open - kOpen.size()));
    if (inner.empty()) return invalid("nothing between `{{` and `}}`");
    pieces.push_back({{}, std::string(inner)});
    text.remove_prefix(close + kClose.size());
  }
  return pieces;
}

Result<Reference> parse_reference(std::string_view expression) {
  using Kind = Reference::Kind;
  if (expression == "pipeline.name") return Reference{Kind::pipeline_name, {}, {}};
  if (expression == "pipeline.run") return Reference{Kind::run_name, {}, {}};
  if (expression == "pipeline.token") return Reference{Kind::token, {}, {}};
  if (expression.starts_with("parameters.")) {
    return Reference{Kind::parameter, std::string(expression.substr(std::string_view("parameters.").size())), {}};
  }
  if (expression.starts_with("steps.")) {
    const std::string_view rest = expression.substr(std::string_view("steps.").size());
    const std::size_t at = rest.rfind(kOutputs);
    if (at != std::string_view::npos && at > 0) {
      return Reference{Kind::output, std::string(rest.substr(0, at)), std::string(rest.substr(at + kOutputs.size()))};
    }
  }
  return invalid(fmt::format("unknown reference {}", in_backticks(expression)));
}

Result<std::vector<Reference>> find_references(std::string_view text) {
  const Result<std::vector<TextPiece>> pieces = split_text(text);
  if (!pieces.ok()) return pieces.error();
  std::vector<Reference> found;
  for (const TextPiece& piece : *pieces) {
    if (piece.expression.empty()) continue;
    Result<Reference> reference = parse_reference(piece.expression);
    if (!reference.ok()) return reference.error();
    found.push_back(std::move(*reference));
  }
  return found;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the file, which the reader bounds
Result<Value> fill_references(const Value& value, const Resolver& resolver) {
  if (value.is_text()) {
    Result<std::string> text = fill_text(value.text(), resolver);
    if (!text.ok()) return text.error();
    return Value(std::move(*text));
  }
  if (value.is_list()) {
    Value out = Value::list();
    for (const Value& item : value.items()) {
      Result<Value> filled = fill_references(item, resolver);
      if (!filled.ok()) return filled;
      out.add(std::move(*filled));
    }
    return out;
  }
  if (!value.is_map()) return value;
  Value out = Value::map();
  for (const Value::Entry& entry : value.entries()) {
    Result<Value> filled = fill_references(entry.value, resolver);
    if (!filled.ok()) return filled;
    out.set(entry.key, std::move(*filled));
  }
  return out;
}

}  // namespace weft::pipeline
