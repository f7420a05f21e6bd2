#include "serve/api/body.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

constexpr YamlLimits kLimits{.bytes = std::size_t{8} << 20U, .nodes = 1000, .depth = 4};

Error invalid(std::string text) { return {ErrorCode::invalid_input, std::move(text), {}}; }

std::string first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& each : diagnostics.sorted()) {
    if (each.severity == Severity::error)
      return fmt::format("line {}, column {}: {}", each.place.line, each.place.column, each.message);
  }
  return "invalid JSON";
}

}  // namespace

Result<BodyFields> read_body(std::string_view body, const std::vector<std::string_view>& members) {
  BodyFields fields;
  if (trim(body).empty()) return fields;
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("body", std::string(body));
  const std::optional<YamlNode> root = parse_json(sources, file, diagnostics, kLimits);
  if (!root || diagnostics.error_count() > 0) return invalid("the body is not valid JSON: " + first_error(diagnostics));
  if (root->kind != YamlNode::Kind::mapping) return invalid("the body must be a JSON object");
  for (const YamlEntry& entry : root->entries) {
    if (std::find(members.begin(), members.end(), entry.key) == members.end()) {
      return invalid(fmt::format("unknown member {}; known: {}", in_backticks(entry.key), join(members, ", ")));
    }
    if (entry.value.kind == YamlNode::Kind::null) continue;
    if (entry.value.kind != YamlNode::Kind::scalar || !entry.value.quoted) {
      return invalid(fmt::format("{} must be a string", in_backticks(entry.key)));
    }
    fields[entry.key] = entry.value.scalar;
  }
  return fields;
}

}  // namespace weft::serve
