// JSON (RFC 8259) read into the same tree as YAML, so that every value keeps its line and column. For files of other
// programs: a key given twice is a warning and the last one counts, as those programs read it.
#pragma once

#include <optional>

#include "base/yaml.h"

namespace weft {

// Parses the file registered under `file`. On error, reports it with its place and gives nothing. Strings come as
// quoted scalars, numbers, true and false as plain ones.
[[nodiscard]] std::optional<YamlNode> parse_json(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                                 const YamlLimits& limits = {});

// A JSON text that stands inside another file (the CNI configuration of a NetworkAttachmentDefinition): every place in
// the result is `place`.
[[nodiscard]] std::optional<YamlNode> parse_json_text(std::string_view text, const SourceLocation& place,
                                                      Diagnostics& diagnostics, const YamlLimits& limits = {});

}  // namespace weft
