#include "access/token/store_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include "access/secret/private_file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "oob/durable/file.h"
#include "oob/durable/private_folder.h"

namespace weft::access {
namespace {

constexpr std::size_t kMaxStoreBytes = std::size_t{256} << 20U;

}  // namespace

Result<StoreFile> StoreFile::open(std::string path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_input, "is not a file name", "path"};
  if (Status made = oob::make_private_folder(oob::folder_of(path)); !made.ok()) return made.error();
  Result<FileDescriptor> held = oob::lock_file(path + ".lock", fmt::format("process {}", ::getpid()));
  if (!held.ok()) return held.error();
  return StoreFile(std::move(path), std::move(held).value());
}

Result<std::optional<std::string>> StoreFile::read() const {
  Result<std::string> text = read_private_file(path_, Others::nothing, kMaxStoreBytes);
  if (text.ok()) return std::optional(std::move(text).value());
  if (text.error().code == ErrorCode::not_found) return std::optional<std::string>();
  return text.error();
}

Status StoreFile::write(std::string_view content) const { return oob::replace_file(path_, content); }

std::optional<YamlNode> parse_store_json(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  constexpr YamlLimits kLimits{.bytes = kMaxStoreBytes, .nodes = 20'000'000, .depth = 8};
  std::optional<YamlNode> root = parse_json(sources, file, diagnostics, kLimits);
  // A repeated key is a warning there.
  for (const Diagnostic& found : diagnostics.sorted()) {
    if (found.severity != Severity::warning) continue;
    diagnostics.error(found.place, found.message);
    return std::nullopt;
  }
  return root;
}

Error store_error(const Diagnostics& diagnostics, const Sources& sources, const std::string& path) {
  for (const Diagnostic& found : diagnostics.sorted()) {
    if (found.severity != Severity::error) continue;
    std::string message = "is damaged: " + found.message;
    if (const std::size_t more = diagnostics.error_count() - 1; more > 0)
      message += fmt::format(" (and {} more {})", more, more == 1 ? "problem" : "problems");
    message += "; restore it from a backup, or move it away to start with an empty one";
    return {ErrorCode::invalid_input, std::move(message), sources.describe(found.place)};
  }
  return {ErrorCode::invalid_input, "is damaged", path};
}

bool is_plain_name(std::string_view text, std::size_t max) {
  if (text.empty() || text.size() > max) return false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid || !is_printable(point.value)) return false;
    i += point.size;
  }
  return true;
}

}  // namespace weft::access
