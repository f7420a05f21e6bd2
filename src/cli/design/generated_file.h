// Files that weft generates for people to edit. Their last line is a comment with a checksum of the lines above, by
// which an edited file is told from an unchanged one: only the latter is overwritten without --force.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::cli {

// Where the package installs the schema of cluster files: the same on every machine.
inline constexpr std::string_view kInstalledSchema = "/usr/share/weft/schemas/cluster.schema.json";

// Begins with the line in which editors with a YAML language server look for the schema of a file; "none" for no line.
[[nodiscard]] std::string with_schema(std::string_view yaml, const std::string& schema);

[[nodiscard]] std::string with_checksum(std::string_view text);

// Ok if nothing is at `path`, or an empty file, or one as with_checksum() made it; otherwise `refused`.
[[nodiscard]] Status check_overwrite(const std::string& path);

}  // namespace weft::cli
