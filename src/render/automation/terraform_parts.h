// The parts of the terraform target. Files are in Terraform's JSON syntax, where "${" starts an expression even in
// plain text: user-supplied text is escaped with terraform_text.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render {

// Text that Terraform reads literally: "$${" and "%%{" escape the start of an expression.
[[nodiscard]] std::string terraform_text(std::string_view text);
// Name of a block: `prefix`, then letters, digits, '_' and '-'.
[[nodiscard]] std::string terraform_name(std::string_view prefix, std::string_view text);
// "${kind.name.attribute}"
[[nodiscard]] std::string terraform_reference(std::string_view kind, std::string_view name, std::string_view attribute);

// Whether any pool has servers that Intersight manages.
[[nodiscard]] bool terraform_has_intersight(const RenderInput& input);
// Whether such servers are behind fabric interconnects; their ports then get addresses from a pool.
[[nodiscard]] bool terraform_has_interconnects(const RenderInput& input);

void add_terraform_helm(const RenderInput& input, FileSink& sink);
void add_terraform_intersight(const RenderInput& input, FileSink& sink);
void add_terraform_file(FileSink& sink, std::string_view name, const Value& value, std::string_view source);

}  // namespace weft::render
