// Tolerant parser for JSON from BMCs: bytes become a Value within limits, and a member that is absent or of an
// unexpected type counts as not reported. Callers check for the members they require. No Redfish knowledge beyond the
// form of resource paths.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace weft::oob {

// Redfish resources nest about ten deep; the deepest of DMTF's mockups (DSP2043) has 13 levels.
inline constexpr std::size_t kMaxJsonDepth = 40;
// A page of a thousand log entries with thirty members each needs less than a quarter of it.
inline constexpr std::size_t kMaxJsonNodes = 200'000;
// Maximum length of one string for display.
inline constexpr std::size_t kMaxTextBytes = 256;

struct JsonLimits {
  std::size_t nodes = kMaxJsonNodes;
  std::size_t depth = kMaxJsonDepth;
};
// Parses RFC 8259 text; invalid_input if it is not JSON, too deep or too large. The first of duplicate keys is found.
[[nodiscard]] Result<Value> read_json_reply(std::string_view text, const JsonLimits& limits = {});

// The member at the end of a path of keys; null if there is none.
[[nodiscard]] const Value* member(const Value& value, std::initializer_list<std::string_view> keys);
// The same for a path written with slashes: "Oem/Weft/Syslog/Servers".
[[nodiscard]] const Value* member_at(const Value& value, std::string_view path);

// The string value of a member, unchanged; empty if absent or of another type.
[[nodiscard]] std::string raw_text(const Value& value, std::initializer_list<std::string_view> keys);
// The same for display: printable, trimmed, at most kMaxTextBytes.
[[nodiscard]] std::string clean_text(const Value& value, std::initializer_list<std::string_view> keys);
[[nodiscard]] std::string clean(std::string_view text);
[[nodiscard]] std::optional<double> number(const Value& value, std::initializer_list<std::string_view> keys);
[[nodiscard]] std::optional<bool> truth(const Value& value, std::initializer_list<std::string_view> keys);
// Items of a list; empty if absent or not a list.
[[nodiscard]] const Value::List& list(const Value& value, std::initializer_list<std::string_view> keys);
// The strings in a list, printable; other items are skipped.
[[nodiscard]] std::vector<std::string> texts(const Value& value, std::initializer_list<std::string_view> keys);

// Whether a path received from a BMC may be requested: below /redfish/, no host, no "..", no spaces or control
// characters, at most 512 bytes. (DSP0266, section "URI": resources are below /redfish/v1/.)
[[nodiscard]] bool is_trusted_path(std::string_view path);
// The trusted path in a member, "" if there is none; a fragment ("#/Fans/0") is removed. If the member is a map, its
// @odata.id.
[[nodiscard]] std::string path_of(const Value& value, std::initializer_list<std::string_view> keys);

}  // namespace weft::oob
