// The parts of the terraform target. Files are in Terraform's JSON syntax, in which "${" begins an expression also in
// plain text: what comes from a user's file goes through terraform_text.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render {

// Text that Terraform reads as itself: "$${" and "%%{" for what would begin an expression.
[[nodiscard]] std::string terraform_text(std::string_view text);
// The name of a block: letters, digits, '_' and '-', with `prefix` first.
[[nodiscard]] std::string terraform_name(std::string_view prefix, std::string_view text);
// "${kind.name.attribute}"
[[nodiscard]] std::string terraform_reference(std::string_view kind, std::string_view name, std::string_view attribute);

// Whether any pool has servers that Intersight manages.
[[nodiscard]] bool terraform_has_intersight(const RenderInput& input);
// Whether such servers stand behind fabric interconnects, which gives their ports addresses out of a pool.
[[nodiscard]] bool terraform_has_interconnects(const RenderInput& input);

void add_terraform_helm(const RenderInput& input, FileSink& sink);
void add_terraform_intersight(const RenderInput& input, FileSink& sink);
void add_terraform_file(FileSink& sink, std::string_view name, const Value& value, std::string_view source);

}  // namespace weft::render
