// Parses JSON (RFC 8259) into the same tree as YAML, so that every value keeps its line and column. For files of other
// programs: a duplicate key is a warning and the last one wins, as in those programs.
#pragma once

#include <optional>

#include "base/yaml.h"

namespace weft {

// Parses the file registered under `file`. Reports an error with its location and returns nullopt. Strings become
// quoted scalars; numbers, true and false become plain ones.
[[nodiscard]] std::optional<YamlNode> parse_json(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                                 const YamlLimits& limits = {});

// For JSON embedded in another file (the CNI configuration of a NetworkAttachmentDefinition): every location in the
// result is `place`.
[[nodiscard]] std::optional<YamlNode> parse_json_text(std::string_view text, const SourceLocation& place,
                                                      Diagnostics& diagnostics, const YamlLimits& limits = {});

}  // namespace weft
