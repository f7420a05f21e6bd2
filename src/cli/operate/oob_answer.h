// What the API answers about devices: the JSON document that a command of `weft oob` printed on the server, printed
// here in the format of --output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/value.h"
#include "cli/framework/context.h"

namespace weft::cli {

// Sections, rows and notes of a document in JSON, with the keys as headings: the server's commands print one row per
// device. Text of several lines, such as a diff, goes to `texts` if there is one.
[[nodiscard]] Document document_of_json(const Value& json, std::vector<std::string>* texts = nullptr);

// Prints a document: JSON as it is, other formats from its rows; a text as it is. Nothing if it is null.
[[nodiscard]] Exit deliver_json(Context& context, const Value& json, Exit outcome);

// The exit code that "ok", "findings", "partial", "refused" or "unavailable" stands for.
[[nodiscard]] Exit exit_of_result(std::string_view result);

// The sentences of a plan's blast radius that `notes` does not have: devices, dependents, servers behind switches, and
// the jobs there.
[[nodiscard]] std::vector<std::string> describe_blast_radius(std::string_view verb, const Value& radius,
                                                             const std::vector<std::string>& notes);

// The lines of `now` that are not in `before`, of an operation that keeps only its last lines.
[[nodiscard]] std::vector<std::string> new_lines(const std::vector<std::string>& before,
                                                 const std::vector<std::string>& now);

}  // namespace weft::cli
