#include "access/policy/user_name.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::access {
namespace {

// Shown as nothing or as an ordinary space: two names that differ in it look the same.
bool is_invisible(std::uint32_t code) {
  return code == 0xA0 || code == 0xAD || code == 0x34F || code == 0x61C || code == 0x115F || code == 0x1160 ||
         code == 0x1680 || code == 0x180E || (code >= 0x2000 && code <= 0x200F) || (code >= 0x202F && code <= 0x202F) ||
         (code >= 0x205F && code <= 0x206F) || code == 0x3000 || code == 0x3164 || (code >= 0xFE00 && code <= 0xFE0F) ||
         code == 0xFFA0 || (code >= 0xE0000 && code <= 0xE0FFF);
}

Error refuse_name(std::string_view name, std::string_view why) {
  return {ErrorCode::refused, fmt::format("{} is not a valid name: {}", in_backticks(name), why), {}};
}

Status check_text(std::string_view name, std::string_view reserved) {
  if (name.empty()) return refuse_name(name, "it is empty");
  if (name.size() > kMaxNameBytes) return refuse_name(name, fmt::format("it exceeds {} bytes", kMaxNameBytes));
  for (std::size_t i = 0; i < name.size();) {
    const CodePoint point = decode_utf8(name, i);
    if (!point.valid) return refuse_name(name, "it is not UTF-8");
    if (!is_printable(point.value) || is_invisible(point.value))
      return refuse_name(name, fmt::format("it contains the character U+{:04X}", point.value));
    if (point.value < 0x80 && reserved.find(name[i]) != std::string_view::npos)
      return refuse_name(name, fmt::format("it contains the character {}", name[i]));
    i += point.size;
  }
  if (name.front() == ' ' || name.back() == ' ' || contains(name, "  "))
    return refuse_name(name, "it has spaces at an end or two in a row");
  if (name == "*") return refuse_name(name, "the character * stands for all of them elsewhere");
  return {};
}

}  // namespace

Status check_user_name(std::string_view name, std::string_view server_user) {
  if (Status fine = check_text(name, ":/\\,\"'`<>"); !fine.ok()) return fine;
  if (name.front() == '-' || name.front() == '.') return refuse_name(name, "it starts with - or .");
  if (equals_ignoring_case(name, "root") || (!server_user.empty() && name == server_user))
    return refuse_name(name, "it is reserved for the account of this machine");
  return {};
}

Status check_group_name(std::string_view name) { return check_text(name, "\\\"'`<>"); }

}  // namespace weft::access
